"""The model that is proposed for data, found once."""

import streamlit as st

from bnmf_core.analysis.proposal import Proposal, proposal
from pages.frame.services import store


@st.cache_data(max_entries=64, show_spinner="Looking at the noise…")
def of(dataset_id: str) -> Proposal:
    """Of stored data; less than a second the first time."""
    return proposal(store().dataset(dataset_id))
