"""The filter of paper 1: leave out factorizations that fit much worse than a chosen run's."""

import numpy as np
import streamlit as st

from bnmf_core.compare.quality import FACTOR, within_error
from pages.frame.lens import Lens


def ask(look: Lens) -> tuple[np.ndarray, str]:
    """Mask (m,) of retained members, and a sentence on the others ("" without any)."""
    members = look.analysis.members
    everyone = np.ones(len(members), dtype=bool)
    if len(look.styles) < 2:
        return everyone, ""
    with st.expander("Leave out poor fits"):
        run_ids = list(look.styles)
        samplers = [run.id for run in look.analysis.runs if run.spec.algorithm == "gibbs"]
        filtered = st.toggle(
            "Only factorizations whose error is comparable with those of a chosen run",
            key="filter_poor",
        )
        reference = st.selectbox(
            "Compared with",
            run_ids,
            index=run_ids.index(samplers[0]) if samplers else 0,
            format_func=look.run_names.get,
            key="filter_reference",
            disabled=not filtered,
        )
        factor = st.number_input(
            "Largest error, as a multiple of that run's largest",
            0.1,
            1000.0,
            FACTOR,
            key="filter_factor",
            disabled=not filtered,
            help="Random restarts filtered at 10 times the largest error of a Gibbs chain are the "
            "“filtered random restarts” of paper 1.",
        )
    if not filtered:
        return everyone, ""
    largest = float(members.loc[members["run"] == reference, "error"].max())
    mask = within_error(members, largest, factor)
    words = f"{(~mask).sum()} of {len(mask)} factorizations left out: error above {factor:g}"
    return mask, f"{words} times the largest of {look.run_names[reference]}"
