"""The kernel of the Stein discrepancy: its form and its length scales."""

import streamlit as st

from bnmf_core.analysis import stein as stein_stage
from bnmf_core.analysis.stein import SteinPart
from bnmf_core.core.errors import BNMFError
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain

OWN = "own"


def ask(look: Lens) -> tuple[str, SteinPart]:
    """Select form and length scales of the kernel; end the page if it has none."""
    form = st.sidebar.selectbox(
        "Discrepancy",
        list(stein_stage.FORMS),
        format_func=stein_stage.FORMS.get,
        key="stein_form",
        help="In log coordinates (the interior form) it is 0 for the posterior itself when "
        "entries must be ≥ 0; in A and W as they are (the published form) it is not.",
    )
    labels = stein_stage.LENGTHS | {OWN: "your own"}
    choice = st.sidebar.selectbox(
        "Length scales",
        list(labels),
        format_func=labels.get,
        key="stein_lengths",
        help="The distance at which two factorizations count as different.",
    )
    if choice == OWN:
        choice = _ask_lengths(look, form)
    try:
        part = _part(look.analysis, look.analysis.cache_key, form, choice)
    except BNMFError as error:
        part = str(error)
    if isinstance(part, str):
        view.problem(part)
        st.stop()
    (st.caption if part.sentence.startswith("Both") else st.warning)(plain(part.sentence))
    return form, part


def _ask_lengths(look: Lens, form: str) -> tuple[float, float]:
    usual = _part(look.analysis, look.analysis.cache_key, form, "suggested")
    if isinstance(usual, str):
        return (1.0, 1.0)
    lengths = []
    for name, median in zip("AW", usual.lengths, strict=True):
        lengths.append(
            st.sidebar.number_input(
                f"Length scale of {plain(name)}",
                min_value=1e-12,
                max_value=1e12,
                value=median,
                step=median / 4,
                format="%.4g",
                key=f"stein_length_{form}_{name}",
                help=f"The median distance is {median:.4g}, in the unit of the form's coordinates.",
            )
        )
    return tuple(lengths)


@st.cache_resource(max_entries=16, show_spinner="Weighing the factorizations …")
def _part(
    _analysis, cache_key: str, form: str, choice: str | tuple[float, float]
) -> SteinPart | str:
    return stein_stage.STAGE.of(_analysis).part(form, choice)
