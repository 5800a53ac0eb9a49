"""What was found, in sentences, and the masses behind them as they come in."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import answer, belief, evidence, islands, stein, variational
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.compare.unseen import Unseen
from bnmf_core.figures.belief import belief_chart
from bnmf_core.figures.discovery import discovery_curve
from bnmf_core.posterior.stein import ksd
from pages.frame import view, watch
from pages.frame.lens import Lens
from pages.frame.words import plain

# A bootstrap of a tenth of a second, the same each time that the page is drawn.
unseen = st.cache_data(answer.unseen, max_entries=32, show_spinner=False)


@dataclass(frozen=True, eq=False)
class Findings:
    """What is known so far of the modes that are looked at."""

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
    def unseen(self) -> Unseen | None:
        """What restarts say of modes that none has found."""
        return unseen(self.look.modes.labels, self.look.analysis.optima)

    @cached_property
    def weights(self) -> dict[str, list[str]]:
        """Title → what Stein and mixture weights say of every mode, in words, where they are."""
        look = self.look
        return {
            title: _of_modes(weights(look.analysis.key, look.analysis), look)
            for title, stage, weights in (
                ("Stein weight", stein.STAGE, _stein_weights),
                ("mixture weight", variational.STAGE, _mixture_weights),
            )
            if stage.ready(look.analysis)
        }

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per mode."""
        return answer.mode_table(
            self.look.analysis, self.look.metric, self.look.modes, self.evidence
        )


def _of_modes(weights: np.ndarray | str, look: Lens) -> list[str]:
    if isinstance(weights, str):
        return [weights] * look.modes.count
    of_mode = np.bincount(look.modes.labels, weights, minlength=look.modes.count)
    return list(map(answer.percent, of_mode))


@st.cache_data(max_entries=32, show_spinner=False)
def _stein_weights(key: str, _analysis: Comparison) -> np.ndarray | str:
    """Stein weights of the members of the comparison with this key, or why there are none."""
    part = stein.STAGE.of(_analysis).part("interior", "suggested")
    if isinstance(part, str):
        return "none"
    return "means nothing" if part.too_far(ksd(part.K, part.weights)) else part.weights


@st.cache_data(max_entries=32, show_spinner=False)
def _mixture_weights(key: str, _analysis: Comparison) -> np.ndarray | str:
    """Weights in the runs' mixtures, on average over the runs, or that there are none."""
    weights = variational.STAGE.of(_analysis).weights(_analysis.members)
    return "none" if weights is None else weights


def say(found: Findings) -> None:
    """The answer, and how far what is missing of it has come."""
    look = found.look
    told = answer.sentences(
        look.analysis,
        look.metric,
        found.table,
        look.modes,
        found.evidence,
        found.islands,
        found.unseen,
    )
    with st.container(border=True):
        st.markdown("\n".join(f"- {plain(sentence)}" for sentence in told))
        st.caption(
            "Found by, below the best and posterior mass are three different things: how wide a "
            "mode's basin is, how good its best factorization is, and how probable it is."
        )
        for stage, waiting_for in (
            (evidence.STAGE, "Posterior mass of the modes"),
            (stein.STAGE, "Stein weights beside them"),
            (belief.STAGE, "How masses hang on the noise model"),
        ):
            if not watch.beside(look.analysis, stage, waiting_for):
                break


def show_belief(found: Findings) -> None:
    """How the masses hang on the noise model, where there is more than one to tell apart."""
    weighed = found.evidence
    if weighed is None or len(weighed.beliefs) < 2:
        return
    labels = found.look.modes.labels
    masses = {belief: weighed.of_modes(labels, belief) for belief in weighed.beliefs}
    table = pd.concat(
        [rows.assign(mode=rows.index + 1, power=belief) for belief, rows in masses.items()]
    )
    view.chart(
        belief_chart(masses),
        "At 1 the noise model is taken at its word; at 0.01 a hundred entries of X count as one. A "
        "mode that wins everywhere does not hang on it; bars hold 90 %.",
        name="belief",
        origin=found.look.origin,
        table=table,
    )


def show_discovery(found: Findings) -> None:
    """How many modes the first restarts would have found, and more would."""
    told = found.unseen
    if told is None or told.restarts < 2:
        return
    view.chart(
        discovery_curve(told),
        "A curve that has become flat says that more restarts hardly find anything new. Left of "
        f"the line {told.restarts} restarts, on average over their order; right of it what more "
        "would find.",
        name="discovery",
        origin=found.look.origin,
        table=told.curve,
    )
