"""The findings so far on the selected modes, and the stages still being computed."""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from bnmf_core.analysis import (
    chains,
    conclusions,
    evidence,
    islands,
    likelihood_power,
    mode_table,
    posterior,
    resampling,
    stacking,
    stein,
)
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.stage import Stage
from bnmf_core.boolean.analysis import tiles
from bnmf_core.compare.unseen import Unseen
from bnmf_core.findings import answer
from bnmf_core.findings.components import ComponentFacts, component_facts
from bnmf_core.findings.facts import Fact
from bnmf_core.findings.regrouped import Regrouped, regrouped
from bnmf_core.findings.spreads import Spreads, spreads
from pages.frame import watch
from pages.frame.lens import Lens

# A bootstrap that takes 0.1 s, cached between redraws.
unseen = st.cache_data(mode_table.unseen, max_entries=32, show_spinner=False)
# Stages after the modes, in order, with the text of their progress bars.
LATER: dict[Stage[Any], str] = {
    chains.STAGE: "Whether chains have settled",
    conclusions.STAGE: "Whether conclusions depend on the choice",
    evidence.STAGE: "Posterior mass of the modes",
    posterior.STAGE: "Draws within each mode",
    stein.STAGE: "Stein weights beside them",
    likelihood_power.STAGE: "How masses depend on the noise model",
    stacking.STAGE: "Stacking weights from held-out entries",
}

# Stages behind sentences, the table of modes and facts of components.
BEHIND: tuple[Stage[Any], ...] = (
    evidence.STAGE,
    likelihood_power.STAGE,
    islands.STAGE,
    chains.STAGE,
    posterior.STAGE,
    resampling.STAGE,
)


class Answer(answer.Answer):
    """The answer for the selection."""

    @classmethod
    def of(cls, look: Lens) -> "Answer":
        """The answer at the current threshold."""
        return cls(look.analysis, look.metric, look.modes, look.passing, look.notes)

    @cached_property
    def evidence(self) -> Evidence | None:
        """The masses, as available at the first use of this answer."""
        stages = likelihood_power.STAGE, evidence.STAGE
        stage = next((candidate for candidate in stages if candidate.key in self._ready), None)
        return None if stage is None else stage.of(self.comparison)

    @cached_property
    def islands(self) -> Islands | None:
        """The paths between modes, as :attr:`evidence`."""
        ready = islands.STAGE.key in self._ready
        return islands.STAGE.of(self.comparison) if ready else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per mode, cached between redraws."""
        return self._cached("table", lambda: super(Answer, self).table)

    @cached_property
    def facts(self) -> dict[str, list[Fact]]:
        """Facts on the modes, cached between redraws."""
        return self._cached("facts", lambda: super(Answer, self).facts)

    @cached_property
    def component_facts(self) -> ComponentFacts:
        """Determinacy of components, cached between redraws."""
        return self._cached("components", lambda: component_facts(self))

    def facts_of(self, row: int) -> ComponentFacts:
        """The same for a member."""
        return self._cached(f"components {row}", lambda: component_facts(self, row))

    @cached_property
    def spreads(self) -> Spreads | None:
        """Rotation of components, cached between redraws."""
        return self._cached("spreads", lambda: spreads(self))

    def regrouped(self, row: int) -> Regrouped:
        """Observations that change group relative to a member, cached between redraws."""
        return self._cached(f"regrouped {row}", lambda: regrouped(self, row))

    def _cached(self, what: str, make: Callable[[], Any]) -> Any:
        modes = (self.comparison.cache_key, self.metric, self.modes.threshold)
        return _made(what, *modes, self._ready, make)

    @cached_property
    def _ready(self) -> list[str]:
        """Finished stages; fixed once, since one may finish while a page is drawn."""
        return [stage.key for stage in BEHIND if stage.ready(self.comparison)]

    @cached_property
    def unseen(self) -> Unseen | None:
        """Estimate of unseen modes from restarts, cached between redraws."""
        return unseen(self.modes.labels, self.comparison.optima)

    def wait(self) -> None:
        """Show progress of the first unfinished stage.

        While other runs are active, slow stages wait for them.
        """
        if self.passing:
            st.caption("Posterior masses are computed when the other runs have ended.")
            return
        later = {tiles.STAGE: "Tiles and cells"} | LATER if self.comparison.of_tiles else LATER
        for stage, waiting_for in later.items():
            if not watch.beside(self.comparison, stage, waiting_for):
                break


@st.cache_data(max_entries=128, show_spinner=False)
def _made(
    what: str,
    cache_key: str,
    metric: str,
    threshold: float,
    ready: list[str],
    _make: Callable[[], Any],
) -> Any:
    """Cached result of ``_make``, by comparison, modes and finished stages."""
    return _make()
