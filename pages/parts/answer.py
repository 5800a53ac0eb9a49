"""What is known so far of the modes that are looked at, and what is still being computed."""

from functools import cached_property
from typing import Any

import streamlit as st

from bnmf_core.analysis import answer, belief, conclusions, evidence, findings, stein, tiles
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


class Answer(findings.Answer):
    """The answer of what is looked at."""

    @classmethod
    def of(cls, look: Lens) -> "Answer":
        """At the threshold in use."""
        return cls(look.analysis, look.metric, look.modes, look.passing, look.notes)

    @cached_property
    def unseen(self) -> Unseen | None:
        """What restarts say of modes that none has found, kept from one redraw to the next."""
        return unseen(self.modes.labels, self.comparison.optima)

    def wait(self) -> None:
        """The progress of the first stage that is not there yet.

        While other runs are being made, what takes long waits for them.
        """
        if self.passing:
            st.caption("What modes weigh is computed when the other runs have ended.")
            return
        later = {tiles.STAGE: "Tiles and cells"} | LATER if self.comparison.of_tiles else LATER
        for stage, waiting_for in later.items():
            if not watch.beside(self.comparison, stage, waiting_for):
                break
