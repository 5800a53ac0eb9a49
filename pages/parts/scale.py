"""A warning on data in which a single feature or observation dominates the fit."""

import streamlit as st

from bnmf_core.analysis.described import dominant_lines
from pages.frame.services import store
from pages.parts import proposed


@st.cache_data(max_entries=64, show_spinner=False)
def sentence(dataset_id: str) -> str:
    """The warning, or ""; it contains unescaped names."""
    return dominant_lines(store().dataset(dataset_id)) if proposed.of(dataset_id).by_squares else ""
