"""A word on data in which a single feature dominates the fit."""

import streamlit as st

from bnmf_core.analysis.described import dominant_feature
from pages.frame.services import store
from pages.frame.words import plain


def show(dataset_id: str) -> None:
    """The sentence, where there is such a feature."""
    if said := _said(dataset_id):
        st.caption(plain(said))


@st.cache_data(max_entries=64, show_spinner=False)
def _said(dataset_id: str) -> str:
    return dominant_feature(store().dataset(dataset_id))
