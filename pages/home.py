"""Home: what this is, and one click to a real example."""

import streamlit as st

from bnmf_core.nouns.errors import BNMFError
from bnmf_core.runs.examples import EXAMPLES
from pages.frame import guard, link, watch
from pages.frame.services import run_label, runner, store
from pages.frame.view import header, plain

guard.enter("home")
header(
    "What does your factorization hide?",
    "Non-negative matrix factorization explains a matrix as parts times weights, **X ≈ A W**. "
    "Often many different parts explain it equally well, and one run shows you one of them. "
    "Here you see how many there are, how different they are, and whether it matters.",
)


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
        for name, value in (("runs", made), ("threshold", None), ("focus", "")):
            link.put(name, value)
        st.switch_page("pages/modes.py")
    for run in runs:
        st.error(f"{plain(run_label(run))}: {run.status}. {plain(run.message)}")

if message := st.session_state.pop("home_error", None):
    st.error(plain(message))

first, *others = EXAMPLES.values()
with st.container(border=True):
    st.subheader(first.question, anchor=False)
    st.markdown(
        "400 photographs of 40 people. 60 factorizations from different starting points, and a "
        "posterior chain of 60 draws beside them, in under half a minute."
    )
    st.button(
        "Show me the modes of 400 faces", type="primary", icon=":material/play_arrow:",
        key="start_faces", on_click=start, args=(first.key,),
    )  # fmt: skip

st.subheader("Other questions", anchor=False)
for column, example in zip(st.columns(len(others)), others, strict=True):
    with column.container(border=True, height="stretch"):
        st.markdown(f"**{example.label}**")
        st.markdown(example.question)
        st.button("Start", key=f"start_{example.key}", on_click=start, args=(example.key,))

left, right = st.columns(2)
with left:
    st.subheader("Your own matrix", anchor=False)
    st.markdown("CSV, TSV, NPY, NPZ or Matrix Market, up to 256 MB.")
    st.page_link("pages/data.py", label="Bring in data", icon=":material/upload_file:")
if recent := store().runs()[:4]:
    with right:
        st.subheader("Recent runs", anchor=False)
        names = store().datasets()
        for run in recent:
            words = f"{run_label(run)} · {names.get(run.dataset, '')} · {run.status}"
            st.page_link("pages/modes.py", label=plain(words), query_params={"runs": run.id})
        st.page_link("pages/runs.py", label="All runs", icon=":material/list_alt:")
