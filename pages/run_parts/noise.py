"""Which model is proposed, why, and the picture of the noise that says so."""

import streamlit as st

from bnmf_core import Dataset
from bnmf_core.data.kinds import Kind
from bnmf_core.likelihoods import MODELS
from pages.frame.words import plain
from pages.parts import proposed, variance


def show(dataset: Dataset, dataset_id: str, model: str) -> None:
    """The sentence, the model in use where that is another one, and the picture of counts."""
    found = proposed.of(dataset_id)
    used = "" if model == found.model else f" In use: “{MODELS[model].label}”."
    # Of other numbers there is nothing to say why, but for few entries that look like mistakes.
    plainly = found.numbers.kind is Kind.OTHER and not found.numbers.advice
    said = found.suited if plainly else found.sentence
    st.markdown(plain(f"{said}{used}"))
    if found.variation is not None:
        variance.chart(found.variation, dataset.name)
