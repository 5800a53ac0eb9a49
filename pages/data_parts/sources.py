"""Sources of data: samples, files, generators, downloads."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from bnmf_core import Dataset
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.settings import build
from bnmf_core.data.samples import REMOTE, SAMPLES, load_remote, load_sample
from bnmf_core.data.synthetic import GENERATORS
from pages.frame import link
from pages.frame.services import store
from pages.frame.words import plain
from pages.parts import forms


def samples() -> None:
    """Shipped data sets."""
    with st.container(horizontal=True):
        for entry in SAMPLES.values():
            st.button(
                plain(entry.label),
                key=f"use_{entry.key}",
                help=plain(entry.summary),
                on_click=_take,
                args=(lambda key=entry.key: load_sample(key),),
            )


def generate() -> None:
    """Generators of matrices with known factorizations."""
    key = st.selectbox(
        "Kind", list(GENERATORS), format_func=lambda key: GENERATORS[key].label, key="generator"
    )
    st.caption(plain(GENERATORS[key].summary))
    with st.form("generate"):
        values = forms.settings_form(GENERATORS[key].Settings, f"generate_{key}")
        seed = st.number_input("Seed", 0, 2**31, 0, key="generate_seed")
        if st.form_submit_button("Generate"):
            _take(lambda: _generate(key, values, int(seed)))


def download() -> None:
    """Public data sets from the internet."""
    st.caption("Well-known data that scikit-learn fetches from the internet.")
    for entry in REMOTE.values():
        left, right = st.columns([4, 1], vertical_alignment="center")
        left.markdown(f"**{plain(entry.label)}**: {plain(entry.summary)}")
        if right.button("Download", key=f"fetch_{entry.key}"):
            with st.spinner(f"Downloading {plain(entry.label)}…", show_time=True):
                _take(lambda key=entry.key: load_remote(key))


def _take(make: Callable[[], Dataset]) -> None:
    """Make a dataset and show it; if that fails, show the error and keep the old one."""
    try:
        dataset_id = store().add_dataset(make())
    except BNMFError as error:
        st.session_state["data_error"] = str(error)
        return
    link.put("data", dataset_id)


def _generate(key: str, values: dict[str, Any], seed: int) -> Dataset:
    """Run a generator with checked settings."""
    generator = GENERATORS[key]
    settings = build(generator.Settings, values, generator.label)
    return generator.make(settings, np.random.default_rng(seed))
