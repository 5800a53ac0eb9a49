"""The proposed model, the reason, and the picture of the noise."""

import streamlit as st

from bnmf_core import Dataset
from bnmf_core.data.kinds import Kind
from bnmf_core.likelihoods import MODELS
from pages.frame.words import plain
from pages.parts import proposed, variance


def show(dataset: Dataset, dataset_id: str, model: str) -> None:
    """The sentence, the selected model if it differs, and the picture of counts."""
    found = proposed.of(dataset_id)
    used = "" if model == found.model else f" In use: “{MODELS[model].label}”."
    # Other numbers have no reason to show, except entries that look like errors.
    plainly = found.numbers.kind is Kind.OTHER and not found.numbers.advice
    sentence = found.suited if plainly else found.sentence
    st.markdown(plain(f"{sentence}{used}"))
    if found.variation is not None:
        variance.chart(found.variation, dataset.name)
