"""Run: which algorithms, which model, what will it cost?"""

from dataclasses import replace

import streamlit as st

from pages.frame import choosing, guard, link, view
from pages.frame.services import store
from pages.run_parts import asked, where

guard.enter("run")
dataset_id = choosing.dataset("Dataset")
dataset = store().dataset(dataset_id)
st.caption(f"{dataset.D:,} features × {dataset.N:,} observations")

wanted = asked.sizes(dataset, dataset_id)
chosen = asked.algorithms()
model, model_settings = asked.model()
wanted = replace(wanted, model=model, model_settings=model_settings)
specs = [asked.spec_of(key, wanted, dataset) for key in chosen]
scheduler, local_otherwise = where.choose()
if not chosen:
    st.info("Choose at least one algorithm.")
ready = [spec for spec in specs if spec is not None]
refused = not chosen or len(ready) < len(chosen)
if st.button("Start", type="primary", icon=":material/play_arrow:", disabled=refused, key="go"):
    with view.told():
        where.start(dataset_id, ready, scheduler, local_otherwise)
    link.go("runs")
