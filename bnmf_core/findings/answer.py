"""The findings of an analysis: at most nine, each with its doubt and its page."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.analysis import (
    chains,
    conclusions,
    evidence,
    islands,
    likelihood_power,
    mode_table,
    posterior,
    ranks,
    resampling,
)
from bnmf_core.analysis.chains import Verdicts
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.conclusions import Conclusions
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.named import NOTHING_NAMED, Named
from bnmf_core.analysis.posterior import Posterior
from bnmf_core.analysis.resampling import Resampling
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.unseen import Unseen
from bnmf_core.core import html
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.findings import modes
from bnmf_core.findings.facts import Fact, plain, say
from bnmf_core.findings.sources import FINDINGS

MOST = 9
# Findings that are dropped first if there are too many.
GIVE_WAY = ("fit", "labels")


@dataclass(frozen=True)
class Finding:
    """A finding.

    key : its subject. facts : the finding, then its doubts. page : key of the page that shows it.
    names : of the modes.
    """

    key: str
    facts: Sequence[Fact]
    page: str
    names: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """The finding in a sentence."""
        return say(self.facts[0], self.names)

    @property
    def doubt(self) -> str:
        """The doubts in sentences; "" without any."""
        return say(self.facts[1:], self.names)

    def plain(self) -> dict[str, Any]:
        """As plain values: key, said, doubt, page, and the facts in numbers."""
        facts = [plain(one) for one in self.facts]
        return {
            "key": self.key,
            "said": self.sentence,
            "doubt": self.doubt,
            "page": self.page,
            "facts": facts,
        }


@dataclass(frozen=True, eq=False)
class Answer:
    """The results of a comparison that have been computed so far.

    comparison : with a stored structure. metric : key of the distance. modes : at a threshold.
    passing : whether other runs of the launch are active, so that the advice is to wait.
    named : user-given names of components and modes.
    """

    comparison: Comparison
    metric: str
    modes: Modes
    passing: bool = False
    named: Named = NOTHING_NAMED

    @cached_property
    def evidence(self) -> Evidence | None:
        """The masses, also at lower likelihood powers if computed; None without any."""
        with_powers = likelihood_power.STAGE.perhaps(self.comparison)
        return with_powers or evidence.STAGE.perhaps(self.comparison)

    @cached_property
    def islands(self) -> Islands | None:
        """The paths between modes."""
        return islands.STAGE.perhaps(self.comparison)

    @cached_property
    def conclusions(self) -> Conclusions | None:
        """Conclusions from labels."""
        return conclusions.STAGE.perhaps(self.comparison)

    @cached_property
    def weighty(self) -> np.ndarray | None:
        """(S,) which explanations of :attr:`conclusions` may have mass; None if unknown."""
        unknown = self.table["mass"].isna().all() or mode_table.good_left(self.table)
        if self.conclusions is None or not self.conclusions.rows or unknown:
            return None
        held = mode_table.largest_mass(self.table) >= mode_table.LITTLE
        chosen: np.ndarray = held[self.modes.labels[list(self.conclusions.rows)]]
        return chosen if chosen.any() else None

    @cached_property
    def unseen(self) -> Unseen | None:
        """Estimates of undiscovered modes; None without restarts."""
        return mode_table.unseen(self.modes.labels, self.comparison.optima)

    @cached_property
    def rank_study(self) -> RankStudy | None:
        """The newest comparison of numbers of components for these data."""
        found = self.comparison
        return ranks.newest(found.root, found.runs[0].dataset, found.fit.loss)

    @cached_property
    def _pieces(self) -> pd.DataFrame:
        return mode_table.mode_table(self.comparison, self.metric, self.modes, self.evidence)

    @cached_property
    def one_family(self) -> bool:
        """Whether modes are parts of one family, each as good as the best.

        Their shares of the mass then depend on the threshold.
        """
        labels, paths = self.modes.labels, self.islands
        joined = paths is not None and paths.one_family(labels, self.comparison.optima)
        return joined and bool(self._pieces["as_good_as_best"].all())

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per mode, see :func:`~bnmf_core.analysis.mode_table.mode_table`.

        Parts of one family share their mass.
        """
        return mode_table.as_one(self._pieces) if self.one_family else self._pieces

    @cached_property
    def mode_names(self) -> list[str]:
        """Name of every mode: its number and its user-given name."""
        return self.named.modes(self.comparison, self.modes)

    @cached_property
    def facts(self) -> dict[str, list[Fact]]:
        """Facts about the modes, see :func:`bnmf_core.findings.modes.facts`."""
        return modes.facts(
            self.comparison,
            self.metric,
            self.table,
            self.modes,
            self.evidence,
            self.islands,
            self.unseen,
            self.verdicts,
        )

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """Convergence of the chains of the runs; None until computed."""
        return chains.STAGE.perhaps(self.comparison)

    @cached_property
    def posterior(self) -> Posterior | None:
        """Draws within every mode with mass; None until computed."""
        return posterior.STAGE.perhaps(self.comparison)

    @cached_property
    def resampling(self) -> Resampling | None:
        """Rotation of components under resampling; None until computed."""
        return resampling.STAGE.perhaps(self.comparison)

    @cached_property
    def withheld(self) -> list[dict[str, str]]:
        """Statements withheld because draws have not settled: said, reason."""
        found = []
        if self.verdicts is not None:
            found += [
                {"said": f"Where the {one.label} draws lie", "reason": one.sentence}
                for one in self.verdicts.unsettled
            ]
        if self.posterior is not None and self.posterior.modes and not self.posterior.settled:
            found.append(
                {"said": "How far draws lie from the best fit", "reason": self.posterior.reason}
            )
        return found

    @cached_property
    def findings(self) -> list[Finding]:
        """At most ``MOST`` findings, most general first; see ``GIVE_WAY``."""
        sources = sorted(FINDINGS.values(), key=lambda source: not source.first)
        found = [
            Finding(source.key, facts, page, self.mode_names)
            for source in sources
            for page, facts in source.find(self)
            if facts
        ]
        for key in GIVE_WAY:
            last = [i for i, finding in enumerate(found) if finding.key == key][-1:]
            if len(found) > MOST and last:
                del found[last[0]]
        return found[:MOST]

    def _repr_html_(self) -> str:
        rows = {finding.sentence: finding.doubt or "—" for finding in self.findings}
        return html.table(f"{self.modes.count} modes of {self.comparison.dataset.name}", rows)
