"""What is known so far of the modes that are looked at, and what is still being computed."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pandas as pd
import streamlit as st

from bnmf_core.analysis import answer, belief, conclusions, evidence, islands, stein
from bnmf_core.analysis.conclusions import Conclusions
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.stage import Stage
from bnmf_core.compare.unseen import Unseen
from pages.frame import watch
from pages.frame.lens import Lens

# A bootstrap of a tenth of a second, the same each time that the page is drawn.
unseen = st.cache_data(answer.unseen, max_entries=32, show_spinner=False)
# What is computed after the modes, one after the other, and what is waited for meanwhile.
LATER: dict[Stage[Any], str] = {
    conclusions.STAGE: "Whether conclusions hang on the choice",
    evidence.STAGE: "Posterior mass of the modes",
    stein.STAGE: "Stein weights beside them",
    belief.STAGE: "How masses hang on the noise model",
}


@dataclass(frozen=True, eq=False)
class Answer:
    """What the stages of an analysis say of the modes at the threshold in use."""

    look: Lens

    @cached_property
    def evidence(self) -> Evidence | None:
        """The masses; None while they are being computed."""
        analysis = self.look.analysis
        for stage in (belief.STAGE, evidence.STAGE):
            if stage.ready(analysis):
                return stage.of(analysis)
        return None

    @cached_property
    def islands(self) -> Islands | None:
        """The paths between modes; None while they are being looked for."""
        analysis = self.look.analysis
        return islands.STAGE.of(analysis) if islands.STAGE.ready(analysis) else None

    @cached_property
    def conclusions(self) -> Conclusions | None:
        """What labels say; None while they are being asked."""
        analysis = self.look.analysis
        return conclusions.STAGE.of(analysis) if conclusions.STAGE.ready(analysis) else None

    @cached_property
    def unseen(self) -> Unseen | None:
        """What restarts say of modes that none has found."""
        return unseen(self.look.modes.labels, self.look.analysis.optima)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per mode."""
        look = self.look
        return answer.mode_table(look.analysis, look.metric, look.modes, self.evidence)

    @cached_property
    def told(self) -> dict[str, list[str]]:
        """The answer in sentences, by what it is about."""
        look = self.look
        return answer.sentences(
            look.analysis,
            look.metric,
            self.table,
            look.modes,
            self.evidence,
            self.islands,
            self.unseen,
        )

    def wait(self) -> None:
        """The progress of the first stage that is not there yet."""
        for stage, waiting_for in LATER.items():
            if not watch.beside(self.look.analysis, stage, waiting_for):
                break
