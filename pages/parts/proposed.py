"""The model that is proposed for data, found once."""

import streamlit as st

from bnmf_core.analysis.proposal import Proposal, proposal
from bnmf_core.likelihoods import MODELS
from pages.frame.services import store


@st.cache_data(max_entries=64, show_spinner="Looking at the noise…")
def of(dataset_id: str) -> Proposal:
    """Of stored data; less than a second the first time."""
    return proposal(store().dataset(dataset_id))


def by_squares(dataset_id: str) -> bool:
    """Whether the model that is proposed is fitted by least squares, as the usual one is."""
    model = MODELS[of(dataset_id).model]
    return not model.loss(model.Settings()).explains
