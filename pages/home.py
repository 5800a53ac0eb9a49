"""Home: what this is, and one click to a real example."""

import streamlit as st

from bnmf_core.nouns.errors import BNMFError
from bnmf_core.runs.examples import EXAMPLES
from pages.frame import guard, link, panel, view, watch
from pages.frame.services import dataset_names, run_label, runner, store
from pages.frame.words import plain

guard.enter("home")


def start(example_key: str) -> None:
    """Queue an example's runs and remember them."""
    example = EXAMPLES[example_key]
    try:
        run_ids = runner().start(example.dataset(), example.specs)
    except BNMFError as error:
        st.session_state["home_error"] = str(error)
        return
    st.session_state["home_watch"] = run_ids


watched = [i for i in st.session_state.get("home_watch", []) if i in {r.id for r in store().runs()}]
if watched:
    runs = [store().run(run_id) for run_id in watched]
    if any(run.active for run in runs):
        st.subheader("Making factorizations", anchor=False)
        watch.runs_until_done(watched)
        st.caption("You can leave this page or close the tab; the runs go on.")
        st.stop()
    del st.session_state["home_watch"]
    if made := [run.id for run in runs if run.done > 0 and run.status == "complete"]:
        link.put("runs", made)
        panel.forget()
        link.go("modes", runs=",".join(made))
    for run in runs:
        view.problem(f"{run_label(run)}: {run.status}. {run.message}")

if message := st.session_state.pop("home_error", None):
    view.problem(message)

first, *others = EXAMPLES.values()
with st.container(border=True):
    st.subheader(plain(first.question), anchor=False)
    st.markdown(plain(first.told))
    st.button(
        f"Show me the modes of {plain(first.label)}",
        type="primary",
        icon=":material/play_arrow:",
        key=f"start_{first.key}",
        on_click=start,
        args=(first.key,),
    )

st.subheader("Other questions", anchor=False)
for column, example in zip(st.columns(len(others)), others, strict=True):
    with column.container(border=True, height="stretch"):
        st.markdown(f"**{plain(example.label)}**")
        st.markdown(plain(example.question))
        st.caption(plain(example.told))
        st.button("Start", key=f"start_{example.key}", on_click=start, args=(example.key,))

left, right = st.columns(2)
with left:
    st.subheader("Your own matrix", anchor=False)
    st.markdown(
        "A table (CSV, TSV, XLSX, Parquet, GCT), a matrix (NPY, NPZ, Matrix Market, MATLAB, H5AD, "
        "10x), a zip of images or of texts, up to 256 MB. You see how it is read before it is."
    )
    link.to("data")
if recent := store().runs()[:4]:
    with right:
        st.subheader("Recent runs", anchor=False)
        names = dataset_names()
        for run in recent:
            data = names.get(run.dataset, "deleted data")
            link.to("modes", f"{run_label(run)} · {data} · {run.status}", runs=run.id)
        link.to("runs")
