"""The proposed model for data, cached."""

import streamlit as st

from bnmf_core.analysis.proposal import Proposal, proposal
from pages.frame.services import store


@st.cache_data(max_entries=64, show_spinner="Looking at the noise…")
def of(dataset_id: str) -> Proposal:
    """The proposal for stored data; takes less than a second."""
    return proposal(store().dataset(dataset_id))
