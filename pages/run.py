"""Run: which algorithms, which model, what will it cost?"""

import streamlit as st

from bnmf_core import RunSpec
from bnmf_core.data.samples import SAMPLES
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.probability import MODELS
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.estimate import estimate
from pages.frame import choosing, guard, link, view
from pages.frame.services import store
from pages.frame.words import duration, plain, shown, size
from pages.parts import forms
from pages.run_parts import where

guard.enter("run")
dataset_id = choosing.dataset("Dataset")
dataset = store().dataset(dataset_id)
st.caption(f"{dataset.D:,} features × {dataset.N:,} observations")

columns = st.columns(4)
suggested = {sample.label: sample.suggested_rank for sample in SAMPLES.values()}.get(
    dataset.name, 5
)
largest = min(dataset.D, dataset.N)
rank = columns[0].number_input(
    "Rank R",
    1,
    largest,
    min(suggested, largest),
    key=f"rank_{dataset_id}",
    help="Number of components. The spectrum on the Data page helps to choose it.",
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
chosen = st.pills(
    "Algorithms",
    list(ALGORITHMS),
    selection_mode="multi",
    default=["q_transform", "gibbs"],
    format_func=shown({key: algorithm.label for key, algorithm in ALGORITHMS.items()}),
    key="algorithms",
)
model_key = st.selectbox(
    "Model",
    list(MODELS),
    format_func=lambda key: MODELS[key].label,
    key="model",
    help="Says how probable a factorization is.",
)
st.caption(plain(MODELS[model_key].summary))
with st.expander("Settings of the model"):
    model_settings = forms.settings_form(MODELS[model_key].Settings, f"model_{model_key}")

specs = []
for key in chosen:
    algorithm = ALGORITHMS[key]
    with st.expander(f"Settings of {plain(algorithm.label)}"):
        st.caption(plain(f"{algorithm.summary} ({algorithm.reference})"))
        settings = forms.settings_form(algorithm.Settings, f"settings_{key}")
    numbers = int(particles), int(seed), settings, model_settings, holdout / 100
    spec = RunSpec(key, int(rank), model_key, *numbers)
    try:
        cost = estimate(dataset, spec, store())
    except BNMFError as error:
        view.problem(error)
        continue
    specs.append(spec)
    st.caption(
        f"**{plain(algorithm.label)}**: {duration(cost.seconds)} or so, up to "
        f"{size(cost.memory)} of memory, {size(cost.bytes_kept)} kept on disk."
    )
scheduler, local_otherwise = where.choose()
if not chosen:
    st.info("Choose at least one algorithm.")
ready = bool(specs) and len(specs) == len(chosen)
if st.button("Start", type="primary", icon=":material/play_arrow:", disabled=not ready, key="go"):
    with view.told():
        where.start(dataset_id, specs, scheduler, local_otherwise)
    link.go("runs")
