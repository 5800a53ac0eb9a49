"""Home: what this is, and one click to a real example."""

import streamlit as st

from bnmf_core.lazy import lazy
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.runs.examples import EXAMPLES
from pages.frame import guard, hints, link, view
from pages.frame.services import dataset_names, launch_label, make_ready, runner, store
from pages.frame.words import plain

panel = lazy("pages.frame.panel")

guard.enter("home")
hints.show("home")


def start(example_key: str) -> None:
    """Start an example; the page that it ends on opens by itself."""
    example = EXAMPLES[example_key]
    dataset = example.dataset()
    try:
        run_ids = runner().start(dataset, example.runs(dataset), launch_name=example.label)
    except BNMFError as error:
        st.session_state["home_error"] = str(error)
        return
    link.put("runs", run_ids)
    panel.forget()
    st.session_state["home_started"] = run_ids


if started := st.session_state.pop("home_started", None):
    link.go("overview", runs=",".join(started))

if message := st.session_state.pop("home_error", None):
    view.problem(message)

first, *others = EXAMPLES.values()
with st.container(border=True):
    st.header(plain(first.question), anchor=False)
    st.markdown(plain(first.told))
    st.button(
        f"Analyse {plain(first.label)}",
        type="primary",
        icon=":material/play_arrow:",
        key=f"start_{first.key}",
        on_click=start,
        args=(first.key,),
    )

st.header("Other questions", anchor=False)
for column, example in zip(st.columns(len(others)), others, strict=True):
    with column.container(border=True, height="stretch"):
        with st.container(height="stretch"):  # so that buttons stand in one line
            st.markdown(f"**{plain(example.label)}**")
            st.markdown(plain(example.question))
            st.caption(plain(example.told))
        st.button("Start", key=f"start_{example.key}", on_click=start, args=(example.key,))

left, right = st.columns(2)
with left:
    st.header("Your own matrix", anchor=False)
    st.markdown(
        "A table (CSV, TSV, XLSX, Parquet, GCT), a matrix (NPY, NPZ, Matrix Market, MATLAB, H5AD, "
        "10x), a zip of images or of texts, up to 256 MB. You see how it is read before it is."
    )
    link.to("data", source="upload")
if recent := store().launches()[:4]:
    with right:
        st.header("Recent", anchor=False)
        names = dataset_names()
        for launch in recent:
            words = launch_label(launch, names.get(launch.dataset, "deleted data"))
            if launch.shown:
                link.to("overview", f"{words} · {launch.status}", runs=",".join(launch.shown))
        link.to("runs")
make_ready()
