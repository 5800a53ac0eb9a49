"""What a run is asked to do: sizes, model, algorithms with their settings and costs."""

from collections.abc import Mapping
from dataclasses import replace

import streamlit as st

from bnmf_core import Dataset, RunSpec
from bnmf_core.data.samples import SAMPLES
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.probability import MODELS
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.estimate import estimate
from pages.frame import link, view
from pages.frame.services import store
from pages.frame.words import duration, plain, shown, size
from pages.parts import forms

USUAL = ["q_transform", "gibbs"]
USUAL_RANK = 5


def sizes(dataset: Dataset, dataset_id: str) -> RunSpec:
    """Rank, number of factorizations, seed and part held out, in one row."""
    columns = st.columns(4)
    ranks = {sample.label: sample.suggested_rank for sample in SAMPLES.values()}
    largest = min(dataset.D, dataset.N)
    rank = columns[0].number_input(
        "Rank R",
        1,
        largest,
        min(max(1, link.get("rank") or ranks.get(dataset.name, USUAL_RANK)), largest),
        key=f"rank_{dataset_id}",
        help="Number of components. The page Rank compares several.",
    )
    particles = columns[1].number_input(
        "Factorizations", 1, 100_000, 60, key="particles", help="How many each algorithm makes."
    )
    seed = columns[2].number_input("Seed", 0, 2**31, 0, key="seed", help="Same seed, same result.")
    holdout = columns[3].number_input(
        "Hold out (%)",
        0,
        50,
        0,
        key="holdout",
        help="Observations that no factorization sees; Downstream then scores on those only.",
    )
    return RunSpec("", int(rank), particles=int(particles), seed=int(seed), holdout=holdout / 100)


def algorithms() -> list[str]:
    """Keys of the algorithms that run side by side."""
    return st.pills(
        "Algorithms",
        list(ALGORITHMS),
        selection_mode="multi",
        default=USUAL,
        format_func=shown({key: algorithm.label for key, algorithm in ALGORITHMS.items()}),
        key="algorithms",
    )


def model() -> tuple[str, Mapping[str, object]]:
    """The model's key and its settings."""
    key = st.selectbox(
        "Model",
        list(MODELS),
        format_func=lambda key: MODELS[key].label,
        key="model",
        help="Says how probable a factorization is.",
    )
    st.caption(plain(MODELS[key].summary))
    with st.expander("Settings of the model"):
        return key, forms.settings_form(MODELS[key].Settings, f"model_{key}")


def spec_of(key: str, asked: RunSpec, dataset: Dataset) -> RunSpec | None:
    """The settings of one algorithm, and what it will cost; None where it cannot be run so."""
    algorithm = ALGORITHMS[key]
    with st.expander(f"Settings of {plain(algorithm.label)}"):
        st.caption(plain(f"{algorithm.summary} ({algorithm.reference})"))
        settings = forms.settings_form(algorithm.Settings, f"settings_{key}")
    spec = replace(asked, algorithm=key, settings=settings)
    try:
        cost = estimate(dataset, spec, store())
    except BNMFError as error:
        view.problem(error)
        return None
    st.caption(
        f"**{plain(algorithm.label)}**: {duration(cost.seconds)} or so, up to "
        f"{size(cost.memory)} of memory, {size(cost.bytes_kept)} kept on disk."
    )
    return spec
