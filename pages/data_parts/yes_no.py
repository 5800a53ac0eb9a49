"""Binarization of numbers at a threshold, with a preview."""

from collections.abc import Callable

import numpy as np
import streamlit as st

from bnmf_core.analysis.described import binary_facts
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.data import repair
from bnmf_core.numerics.matrix import only_yes_and_no, stored
from pages.frame import view
from pages.frame.words import plain

# Where so many entries are 0, what counts is whether there is anything.
MANY_ZEROS = 0.1


def ask(dataset: Dataset, change: Callable[[Callable[[Dataset], Dataset], Dataset], None]) -> None:
    """Offer binarization of data that are not binary; ``change`` stores the new data."""
    values = stored(dataset.X)
    if only_yes_and_no(values):
        return
    with st.expander("Make a binary matrix"):
        zeros = 1.0 - np.count_nonzero(values) / (dataset.D * dataset.N)
        columns = st.columns([2, 1], vertical_alignment="bottom")
        above = columns[0].number_input(
            "Threshold: entries above it become 1",
            0.0,
            float(values.max()),
            0.0 if zeros > MANY_ZEROS else float(np.median(values)),
            format="%.6g",
            key="yes_above",
            help="All other entries become 0; missing entries stay missing. The result is a new "
            "dataset, and Analyse can search for tiles in it.",
        )
        try:
            made = repair.as_yes_no(dataset, float(above))
        except SettingsError as error:
            view.problem(error)
            return
        st.caption(plain(binary_facts(made)))
        if columns[1].button("Apply", key="yes_go"):
            change(lambda data: repair.as_yes_no(data, float(above)), dataset)
