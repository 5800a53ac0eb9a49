"""What is known so far of the modes that are looked at, and what is still being computed."""

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

# A bootstrap of a tenth of a second, the same each time that the page is drawn.
unseen = st.cache_data(mode_table.unseen, max_entries=32, show_spinner=False)
# What is computed after the modes, one after the other, and what is waited for meanwhile.
LATER: dict[Stage[Any], str] = {
    chains.STAGE: "Whether chains have settled",
    conclusions.STAGE: "Whether conclusions depend on the choice",
    evidence.STAGE: "Posterior mass of the modes",
    posterior.STAGE: "Draws within each mode",
    stein.STAGE: "Stein weights beside them",
    likelihood_power.STAGE: "How masses depend on the noise model",
    stacking.STAGE: "Stacking weights from hidden entries",
}

# What sentences, the table of modes and facts of components are made of, beside the modes.
BEHIND: tuple[Stage[Any], ...] = (
    evidence.STAGE,
    likelihood_power.STAGE,
    islands.STAGE,
    chains.STAGE,
    posterior.STAGE,
    resampling.STAGE,
)


class Answer(answer.Answer):
    """The answer of what is looked at."""

    @classmethod
    def of(cls, look: Lens) -> "Answer":
        """At the threshold in use."""
        return cls(look.analysis, look.metric, look.modes, look.passing, look.notes)

    @cached_property
    def evidence(self) -> Evidence | None:
        """The masses, as they were there when this answer was first asked."""
        stages = likelihood_power.STAGE, evidence.STAGE
        stage = next((one for one in stages if one.key in self._ready), None)
        return None if stage is None else stage.of(self.comparison)

    @cached_property
    def islands(self) -> Islands | None:
        """The paths between modes, as :attr:`evidence`."""
        ready = islands.STAGE.key in self._ready
        return islands.STAGE.of(self.comparison) if ready else None

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per mode, kept from one redraw to the next."""
        return self._kept("table", lambda: super(Answer, self).table)

    @cached_property
    def facts(self) -> dict[str, list[Fact]]:
        """What is known of the modes, kept from one redraw to the next."""
        return self._kept("facts", lambda: super(Answer, self).facts)

    @cached_property
    def component_facts(self) -> ComponentFacts:
        """How far components are determined, kept from one redraw to the next."""
        return self._kept("components", lambda: component_facts(self))

    def facts_of(self, row: int) -> ComponentFacts:
        """The same beside a member."""
        return self._kept(f"components {row}", lambda: component_facts(self, row))

    @cached_property
    def spreads(self) -> Spreads | None:
        """How far components turn, kept from one redraw to the next."""
        return self._kept("spreads", lambda: spreads(self))

    def regrouped(self, row: int) -> Regrouped:
        """Which observations change group beside a member, kept from one redraw to the next."""
        return self._kept(f"regrouped {row}", lambda: regrouped(self, row))

    def _kept(self, what: str, make: Callable[[], Any]) -> Any:
        modes = (self.comparison.cache_key, self.metric, self.modes.threshold)
        return _made(what, *modes, self._ready, make)

    @cached_property
    def _ready(self) -> list[str]:
        """Stages that are there; looked up once, since one may be done while a page is drawn."""
        return [stage.key for stage in BEHIND if stage.ready(self.comparison)]

    @cached_property
    def unseen(self) -> Unseen | None:
        """What restarts say of modes that none has found, kept from one redraw to the next."""
        return unseen(self.modes.labels, self.comparison.optima)

    def wait(self) -> None:
        """The progress of the first stage that is not there yet.

        While other runs are being made, what takes long waits for them.
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
    """What is said of modes of the comparison that is kept under this, with these stages there."""
    return _make()
