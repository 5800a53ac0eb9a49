"""Run: which algorithms, which model, what will it cost?"""

import streamlit as st

from bnmf_core import RunSpec
from bnmf_core.data.samples import SAMPLES
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.probability import MODELS
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.estimate import estimate
from pages.frame import forms, guard, link
from pages.frame.services import store
from pages.frame.view import duration, header, plain, size
from pages.parts import where

guard.enter("run")
header("Run", "Choose how to factorize. Several algorithms run side by side on the same data.")
names = store().datasets()
if not names:
    st.info("There are no data yet.")
    st.page_link("pages/data.py", label="Bring in data", icon=":material/table_chart:")
    st.stop()
if link.get("data") not in names:
    link.put("data", next(iter(names)))
st.selectbox("Dataset", list(names), format_func=names.get, key=link.key("data"))
link.share("data")
dataset = store().dataset(link.get("data"))
st.caption(f"{dataset.D:,} features × {dataset.N:,} observations")

columns = st.columns(4)
suggested = {sample.label: sample.suggested_rank for sample in SAMPLES.values()}.get(
    dataset.name, 5
)
largest = min(dataset.D, dataset.N)
rank = columns[0].number_input(
    "Rank R", 1, largest, min(suggested, largest), key=f"rank_{dataset.hash}",
    help="Number of components. The spectrum on the Data page helps to choose it.",
)  # fmt: skip
particles = columns[1].number_input(
    "Factorizations", 1, 100_000, 60, key="particles", help="How many each algorithm makes."
)
seed = columns[2].number_input("Seed", 0, 2**31, 0, key="seed", help="Same seed, same result.")
holdout = columns[3].number_input(
    "Hold out (%)", 0, 50, 0, key="holdout",
    help="Observations that no factorization sees; Downstream then scores on those only.",
)  # fmt: skip
chosen = st.pills(
    "Algorithms", list(ALGORITHMS), selection_mode="multi", default=["q_transform", "gibbs"],
    format_func=lambda key: ALGORITHMS[key].label, key="algorithms",
)  # fmt: skip
model_key = st.selectbox(
    "Model", list(MODELS), format_func=lambda key: MODELS[key].label, key="model",
    help="Says how probable a factorization is.",
)  # fmt: skip
st.caption(MODELS[model_key].summary)
with st.expander("Settings of the model"):
    model_settings = forms.settings_form(MODELS[model_key].Settings, f"model_{model_key}")

specs = []
for key in chosen:
    algorithm = ALGORITHMS[key]
    with st.expander(f"Settings of {algorithm.label}"):
        st.caption(f"{algorithm.summary} ({algorithm.reference})")
        settings = forms.settings_form(algorithm.Settings, f"settings_{key}")
    spec = RunSpec(key, int(rank), model_key, int(particles), int(seed), settings,
                   model_settings, holdout / 100)  # fmt: skip
    try:
        cost = estimate(dataset, spec, store())
    except BNMFError as error:
        st.error(plain(str(error)))
        continue
    specs.append(spec)
    st.caption(
        f"**{algorithm.label}**: {duration(cost.seconds)} or so, up to {size(cost.memory)} of "
        f"memory, {size(cost.bytes_kept)} kept on disk."
    )
scheduler, local_otherwise = where.choose()
if not chosen:
    st.info("Choose at least one algorithm.")
ready = bool(specs) and len(specs) == len(chosen)
if st.button("Start", type="primary", icon=":material/play_arrow:", disabled=not ready, key="go"):
    try:
        where.start(link.get("data"), specs, scheduler, local_otherwise)
    except BNMFError as error:
        st.error(plain(str(error)))
    else:
        st.switch_page("pages/runs.py")
