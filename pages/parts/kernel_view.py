"""The kernel of the Posterior page: its form, its length scales, how alike it finds things."""

import numpy as np
import streamlit as st

from bnmf_core.analysis import stein as stein_stage
from bnmf_core.analysis.stein import SteinPart
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.figures.diversity import pair_violins, pairs_within
from bnmf_core.figures.stein_weights import similarity_histogram
from bnmf_core.nouns.errors import BNMFError
from pages.frame.lens import Lens
from pages.frame.view import chart, plain

OWN = "own"
SIMILARITIES = {
    "both": "Kernel similarity",
    "A": "Kernel similarity of the bases A",
    "W": "Kernel similarity of the weights W",
}


def ask_kernel(look: Lens) -> tuple[str, SteinPart]:
    """The form, and its kernels at the length scales asked for; stops where there are none."""
    left, right = st.columns(2)
    form = left.selectbox(
        "Discrepancy", list(stein_stage.FORMS), format_func=stein_stage.FORMS.get,
        key="stein_form",
        help="Only the interior form is 0 for the posterior itself when entries must be ≥ 0.",
    )  # fmt: skip
    labels = stein_stage.LENGTHS | {OWN: "your own"}
    choice = right.selectbox(
        "Length scales", list(labels), format_func=labels.get, key="stein_lengths",
        help="How far apart two factorizations must be to count as different.",
    )  # fmt: skip
    if choice == OWN:
        choice = _ask_lengths(look, form)
    try:
        part = _part(look.analysis, look.analysis.key, form, choice)
    except BNMFError as error:
        part = str(error)
    if isinstance(part, str):
        st.error(plain(part))
        st.stop()
    (st.caption if part.sentence.startswith("Both") else st.warning)(part.sentence)
    return form, part


def _ask_lengths(look: Lens, form: str) -> tuple[float, float]:
    usual = _part(look.analysis, look.analysis.key, form, "suggested")
    if isinstance(usual, str):
        return (1.0, 1.0)
    asked = []
    for column, name, median in zip(st.columns(2), "AW", usual.lengths, strict=True):
        asked.append(
            column.number_input(
                f"Length scale of {name}",
                min_value=1e-12,
                max_value=1e12,
                value=median,
                step=median / 4,
                format="%.4g",
                key=f"stein_length_{form}_{name}",
                help=f"The median distance is {median:.4g}, in the unit of the form's coordinates.",
            )
        )
    return tuple(asked)


@st.cache_resource(max_entries=16, show_spinner="Weighing the factorizations …")
def _part(_analysis, key: str, form: str, choice: str | tuple[float, float]) -> SteinPart | str:
    return stein_stage.read(_analysis, form, choice)


def similarity(look: Lens, part: SteinPart, kept: np.ndarray, where: str) -> None:
    """Whether the kernel tells factorizations apart, and how different those of each run are."""
    frobenius = {key: DISTANCES[key].label for key in ("frobenius_A", "frobenius_W")}
    labels = SIMILARITIES | frobenius
    quantity = st.segmented_control(
        "How different are they?", list(labels), default="both", required=True,
        format_func=labels.get, key="stein_quantity",
    )  # fmt: skip
    if quantity in frobenius:
        matrix, axis = look.analysis.distances(quantity), DISTANCES[quantity].unit
    else:
        of = {"both": part.similarity.mean(axis=0), "A": part.similarity[0]}
        matrix, axis = of.get(quantity, part.similarity[1]), "0: unlike, 1: the same"
    columns = st.columns(2)
    with columns[0]:
        similarity_chart = similarity_histogram(matrix, kept, labels[quantity], axis)
        reading = "All pairs. For a similarity: all near 1, the kernel takes all for the same; all "
        chart(
            similarity_chart, reading + "near 0, none has to do with another.",
            name="similarity", origin=where,
        )  # fmt: skip
    pairs = pairs_within(
        np.asarray(matrix)[np.ix_(kept, kept)], look.analysis.members["run"].to_numpy()[kept]
    )
    with columns[1]:
        chart(
            pair_violins(pairs, look.styles, f"{labels[quantity]} within each run", axis),
            "Pairs of factorizations of the same run. A run whose pairs are all alike has seen "
            "one place only.",
            name="similarity_runs", origin=where, table=pairs,
        )  # fmt: skip
