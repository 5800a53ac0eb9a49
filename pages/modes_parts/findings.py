"""What was found, in sentences, and the pictures behind it as they come in."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import answer, stein, variational
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.figures.belief import belief_chart
from bnmf_core.figures.discovery import discovery_curve
from bnmf_core.posterior.stein import ksd
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts.answer import Answer


def weights(look: Lens) -> dict[str, list[str]]:
    """Title → what Stein and mixture weights say of every mode, in words, where they are."""
    return {
        title: _of_modes(weights(look.analysis.key, look.analysis), look)
        for title, stage, weights in (
            ("Stein weight", stein.STAGE, _stein_weights),
            ("mixture weight", variational.STAGE, _mixture_weights),
        )
        if stage.ready(look.analysis)
    }


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


def say(found: Answer) -> None:
    """The answer, and how far what is missing of it has come."""
    told = [sentences for sentences in found.told.values() if sentences]
    st.markdown("\n".join(f"- **{plain(first)}**" for first, *_ in told))
    if details := [" ".join(further) for _, *further in told if further]:
        with st.expander("What this rests on"):
            st.markdown("\n".join(f"- {plain(sentence)}" for sentence in details))
    found.wait()


def show_belief(look: Lens, found: Answer) -> None:
    """How the masses hang on the noise model, where there is more than one to tell apart."""
    weighed = found.evidence
    if weighed is None or len(weighed.beliefs) < 2:
        return
    labels = look.modes.labels
    masses = {belief: weighed.of_modes(labels, belief) for belief in weighed.beliefs}
    table = pd.concat(
        [rows.assign(mode=rows.index + 1, power=belief) for belief, rows in masses.items()]
    )
    view.chart(
        belief_chart(masses),
        "At 1 the noise model is taken at its word; at 0.1 ten entries of X count as one, at 0.01 "
        "a hundred. A mode that wins everywhere does not hang on it; bars hold 90 %. Modes below "
        "1 % everywhere are not drawn.",
        name="belief",
        origin=look.origin,
        table=table,
    )


def show_discovery(look: Lens, found: Answer) -> None:
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
        origin=look.origin,
        table=told.curve,
    )
