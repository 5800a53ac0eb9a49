"""The answer first: at most nine findings, each a sentence, its doubt, and the page that shows it.

Every finding is a list of facts from one function, which is empty where there is nothing true to
say.
"""

from collections.abc import Callable, Sequence
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
)
from bnmf_core.analysis.chains import Verdicts
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.conclusions import Conclusions
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.named import NOTHING_NAMED, Named
from bnmf_core.analysis.posterior import Posterior
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.unseen import Unseen
from bnmf_core.core.registry import Registry
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.findings import components, labels, modes
from bnmf_core.findings.facts import Fact, fact, plain, say
from bnmf_core.findings.ranks import of_rank

MOST = 9
# What gives way first where there is more to say.
GIVE_WAY = ("fit", "labels")
# Labels whose conclusions are told.
LABELS = 2
# A chance above this that the next restart finds something new is worth more restarts.
NEW = 0.05


@dataclass(frozen=True)
class Finding:
    """What was found.

    key : what it is about. facts : the finding, and then what it does not know or depends on.
    page : the key of the page whose picture it rests on. names : what modes are called.
    """

    key: str
    facts: Sequence[Fact]
    page: str
    names: Sequence[str] = ()

    @property
    def said(self) -> str:
        """The finding in a sentence."""
        return say(self.facts[0], self.names)

    @property
    def doubt(self) -> str:
        """What it does not know or depends on, "" for nothing."""
        return say(self.facts[1:], self.names)

    def plain(self) -> dict[str, Any]:
        """As plain values: key, said, doubt, page, and the facts in numbers."""
        facts = [plain(one) for one in self.facts]
        return {
            "key": self.key,
            "said": self.said,
            "doubt": self.doubt,
            "page": self.page,
            "facts": facts,
        }


@dataclass(frozen=True)
class Source:
    """Where a plug-in's finding comes from.

    key, label : of the finding, and what it is about, in words. find : the facts of a comparison,
    none where there is nothing to say. page : the key of the page that shows it.
    """

    key: str
    label: str
    find: Callable[[Comparison], Sequence[Fact]]
    page: str


# They come first; those of this file are in :attr:`Answer.findings`.
FINDINGS: Registry[Source] = Registry("finding", Source, (), "bnmf.findings")


@dataclass(frozen=True, eq=False)
class Answer:
    """What the stages of a comparison say of its modes; what is not computed yet is left out.

    comparison : whose structure is stored. metric : key of the distance. modes : at some threshold.
    passing : other runs of the same launch are being made, so what to do next is to wait.
    named : what people have called components and modes of these data.
    """

    comparison: Comparison
    metric: str
    modes: Modes
    passing: bool = False
    named: Named = NOTHING_NAMED

    @cached_property
    def evidence(self) -> Evidence | None:
        """The masses, at lower likelihood powers too where they are there; None without any."""
        with_powers = likelihood_power.STAGE.perhaps(self.comparison)
        return with_powers or evidence.STAGE.perhaps(self.comparison)

    @cached_property
    def islands(self) -> Islands | None:
        """The paths between modes."""
        return islands.STAGE.perhaps(self.comparison)

    @cached_property
    def conclusions(self) -> Conclusions | None:
        """What labels say."""
        return conclusions.STAGE.perhaps(self.comparison)

    @cached_property
    def weighty(self) -> np.ndarray | None:
        """(S,) which explanations of :attr:`conclusions` have mass; None while it is unknown."""
        mass = self.table["mass"].fillna(0.0).to_numpy()
        if self.conclusions is None or not self.conclusions.rows or not mass.any():
            return None
        held = mass[self.table["joined"].to_numpy(dtype=int)] >= conclusions.LIGHT
        chosen: np.ndarray = held[self.modes.labels[list(self.conclusions.rows)]]
        return chosen if chosen.any() else None

    @cached_property
    def unseen(self) -> Unseen | None:
        """What restarts say of modes that none has found; None without restarts."""
        return mode_table.unseen(self.modes.labels, self.comparison.optima)

    @cached_property
    def rank_study(self) -> RankStudy | None:
        """The newest comparison of numbers of components for these data."""
        return ranks.newest(self.comparison.root, self.comparison.runs[0].dataset)

    @cached_property
    def table(self) -> pd.DataFrame:
        """A row per mode, see :func:`~bnmf_core.analysis.mode_table.mode_table`."""
        return mode_table.mode_table(self.comparison, self.metric, self.modes, self.evidence)

    @cached_property
    def mode_names(self) -> list[str]:
        """What every mode is called: its number, and the name it was given."""
        return self.named.modes(self.comparison, self.modes)

    @cached_property
    def facts(self) -> dict[str, list[Fact]]:
        """What is known of the modes, see :func:`bnmf_core.findings.modes.facts`."""
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
        """Whether the chains of the runs have settled; None while that is computed."""
        return chains.STAGE.perhaps(self.comparison)

    @cached_property
    def posterior(self) -> Posterior | None:
        """Draws within every mode that has mass; None while they are made."""
        return posterior.STAGE.perhaps(self.comparison)

    @property
    def chains(self) -> list[Fact]:
        """Whether the chains of the runs have settled; nothing where there are none."""
        if self.verdicts is None or self.verdicts.settled is None:
            return []
        verdicts = sorted(self.verdicts.by_run.values(), key=lambda verdict: verdict.settled)
        found = [fact("reason", said=verdict.sentence) for verdict in verdicts]
        if not self.verdicts.settled:
            found.append(fact("unsettled"))
        elif any(verdict.modes > 1 for verdict in verdicts):
            found.append(fact("staying"))
        return found

    @property
    def uncertainty(self) -> list[Fact]:
        """How far the posterior turns each component of the most probable mode.

        Nothing where its chains have not settled: see :attr:`withheld`.
        """
        found = self.posterior
        if found is None or not found.modes or not found.modes[0].settled:
            return []
        return components.uncertainty(self.comparison, self.modes, found, self.named)

    @cached_property
    def withheld(self) -> list[dict[str, str]]:
        """What would rest on draws that have not settled, and why it is not said: said, reason."""
        found = []
        if self.verdicts is not None:
            found += [
                {"said": f"Where the {one.label} draws lie", "reason": one.sentence}
                for one in self.verdicts.unsettled
            ]
        if self.posterior is not None and self.posterior.modes and not self.posterior.settled:
            found.append(
                {"said": "How far the posterior turns components", "reason": self.posterior.reason}
            )
        return found

    @cached_property
    def findings(self) -> list[Finding]:
        """The most general first, ``MOST`` of them at most; see ``GIVE_WAY``."""
        known, comparison = self.facts, self.comparison
        # Without optima nobody can compare what would be concluded; that is said of the masses.
        explained = self.conclusions if comparison.optima.any() else None
        told = [] if explained is None else labels.facts(explained, self.weighty)[:LABELS]
        study = self.rank_study
        next_step = [] if self.passing else what_next(comparison, self.unseen, self.table, study)
        possible: list[tuple[str, str, Sequence[Fact]]] = [
            *((one.key, one.page, one.find(comparison)) for one in FINDINGS.values()),
            ("found", "overview", known["found"] + known["separate"]),
            ("probable", "overview", known["probable"]),
            ("uncertainty", "components", self.uncertainty),
            ("chains", "traces", self.chains),
            ("missing", "overview", known["missing"]),
            (
                "components",
                "components",
                components.shared(comparison, self.modes, self.table, self.named),
            ),
            *(("labels", "downstream", some) for some in told),
            ("rank", "rank", [] if study is None else of_rank(study, comparison.rank)),
            ("fit", "quality", fit(comparison)),
            ("next", _page_of(next_step), next_step),
        ]
        found = [
            Finding(key, facts, page, self.mode_names) for key, page, facts in possible if facts
        ]
        for key in GIVE_WAY:
            last = [i for i, finding in enumerate(found) if finding.key == key][-1:]
            if len(found) > MOST and last:
                del found[last[0]]
        return found[:MOST]


def fit(comparison: Comparison) -> list[Fact]:
    """How well the optima fit, and whether they have converged."""
    errors = comparison.members["error"].to_numpy()[comparison.optima]
    if not errors.size:
        return []
    low, high = float(errors.min()), float(errors.max())
    key = "errors.alike" if f"{low:.3g}" == f"{high:.3g}" else "errors.range"
    return [fact(key, low=low, high=high), convergence(comparison)]


def convergence(comparison: Comparison) -> Fact:
    """How many members have converged."""
    members = comparison.members[comparison.members["movement"].notna()]
    done, count = int(members["converged"].sum()), len(members)
    if not count:
        return fact("converged.unknown")
    return fact(
        f"converged.{'all' if done == count else 'some' if done else 'none'}",
        done=done,
        count=count,
        left=count - done,
        resolution=comparison.resolution,
        most=members.loc[~members["converged"], "movement"].max(),
    )


def what_next(
    comparison: Comparison,
    unseen: Unseen | None,
    table: pd.DataFrame,
    study: RankStudy | None = None,
) -> list[Fact]:
    """The one thing to do that would tell most; nothing where nothing is missing."""
    if unseen is None or not comparison.optima.any():
        advised = comparison.advised
        return [fact("run_advised", advised=advised)] if advised or comparison.optima.any() else []
    weighed = table["weighed"] > 0
    left = weighed & ~table["stays"]
    if study is None and weighed.sum() > 1 and left.sum() > 0.5 * weighed.sum():
        return [fact("compare_ranks", rank=comparison.rank)]
    if unseen.new_probability > NEW:
        chance = unseen.new_probability
        return [fact("more_restarts", restarts=unseen.restarts, probability=chance)]
    if comparison.dataset.labels and not comparison.holdout:
        return [fact("cross_validate")]
    return []


def _page_of(step: Sequence[Fact]) -> str:
    """Where one does what is to be done next."""
    return "rank" if step and step[0].key == "compare_ranks" else "run"
