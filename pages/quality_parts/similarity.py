"""Similarity of factorizations under the kernel, and diversity of each run."""

import numpy as np
import streamlit as st

from bnmf_core.analysis.stein import SteinPart
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.figures.quality import (
    pair_violins,
    pairs_by_similarity,
    pairs_within,
    similarity_histogram,
)
from pages.frame.lens import Lens
from pages.frame.options import pick_one
from pages.frame.view import chart

SIMILARITIES = {
    "both": "Kernel similarity",
    "A": "Kernel similarity of the bases A",
    "W": "Kernel similarity of the weights W",
}


def show(look: Lens, part: SteinPart, mask: np.ndarray, where: str) -> None:
    """Whether the kernel distinguishes factorizations, and the diversity of each run."""
    frobenius = {key: DISTANCES[key].label for key in ("frobenius_A", "frobenius_W")}
    labels = SIMILARITIES | frobenius
    quantity = pick_one("How different are they?", labels, "both", "stein_quantity")
    if quantity in frobenius:
        matrix, axis = look.matrix(quantity), DISTANCES[quantity].unit
    else:
        of = {"both": part.similarity.mean(axis=0), "A": part.similarity[0]}
        matrix, axis = of.get(quantity, part.similarity[1]), "0: unlike, 1: the same"
    counted = pairs_by_similarity(matrix, mask)
    columns = st.columns(2)
    with columns[0]:
        chart(
            similarity_histogram(counted, labels[quantity], axis),
            "All pairs. Similarities all near 1: the kernel does not distinguish the "
            "factorizations. All near 0: the kernel relates none of them.",
            name="similarity",
            origin=where,
            table=counted,
        )
    pairs = pairs_within(
        np.asarray(matrix)[np.ix_(mask, mask)], look.analysis.members["run"].to_numpy()[mask]
    )
    with columns[1]:
        chart(
            pair_violins(pairs, look.styles, f"{labels[quantity]} within each run", axis),
            "Pairs of factorizations of the same run, as the weights see them. In log coordinates "
            "entries that are 0 make optima unlike which are alike otherwise.",
            name="similarity_runs",
            origin=where,
            table=pairs,
        )
