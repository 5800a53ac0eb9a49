"""Analyse: one button that starts an analysis, with its plan and cost above it."""

import streamlit as st

from bnmf_core.core.errors import BNMFError
from pages.frame import choosing, guard, hints, link, panel, view
from pages.frame.services import store
from pages.frame.words import plain
from pages.parts import scale
from pages.run_parts import noise, promise, request, where

guard.enter("run")
left, right = st.columns([3, 1])
with left:
    dataset_id = choosing.dataset("Data")
dataset = store().dataset(dataset_id)
with right:
    rank = request.rank(dataset, dataset_id)
    kind = request.kind(dataset)
with left:
    plan = request.plan(kind)
hints.show("run")
above = st.container()
with st.expander("Advanced: algorithms, model, settings, seed, budget, where it runs"):
    wanted = request.everything(dataset, dataset_id, rank, kind, plan)
    scheduler, local_otherwise = where.choose()
try:
    if not wanted.specs:
        st.info("Choose at least one algorithm, under Advanced.")
    costs = promise.costs(dataset, dataset_id, wanted.specs)
except BNMFError as error:
    costs = None
    with above:
        view.problem(error)
with above:
    if costs is not None and wanted.specs:
        promise.show(dataset, dataset_id, wanted)
        if doubt := scale.sentence(dataset_id):
            st.caption(plain(doubt))
    ready = costs is not None and bool(wanted.specs)
    icon = ":material/play_arrow:"
    if st.button("Analyse", type="primary", icon=icon, disabled=not ready, key="go"):
        with view.report_errors():
            run_ids = where.start(dataset_id, wanted.specs, scheduler, local_otherwise, wanted.name)
        link.put("runs", run_ids)
        panel.forget()
        link.go("boolean" if kind == "tiles" else "overview", runs=",".join(run_ids))
    if kind == "parts" and wanted.specs:
        noise.show(dataset, dataset_id, wanted.specs[0].model)
