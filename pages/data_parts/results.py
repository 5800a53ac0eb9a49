"""Factorizations that other programs made, brought in as runs of the dataset that is shown."""

from typing import Any

import streamlit as st

from bnmf_core.data.child import Child
from bnmf_core.data.foreign import NamedMatrix, pair
from bnmf_core.data.load import LIMIT_BYTES
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.runs.foreign import bring
from pages.data_parts import waiting
from pages.frame import link, view
from pages.frame.services import dataset_names, store
from pages.frame.words import plain

_READERS = "results_readers"


def draw() -> None:
    """Ask for files, pair their matrices, keep them as runs."""
    st.caption(
        "Results of other programs, to be looked at like runs of this one: two matrices (A and W, "
        "as CSV, NPY or NPZ), what cNMF, SigProfilerExtractor or scikit-learn left, many of them "
        "in a zip, or NetCDF. Which matrix is which is told by names and lengths."
    )
    names = dataset_names()
    if not names:
        st.info("First bring the data that they belong to.")
        return
    dataset_id = st.selectbox(
        "They are factorizations of",
        list(names),
        format_func=names.get,
        key="results_data",
    )
    files = st.file_uploader("Files", key="results", accept_multiple_files=True)
    name = st.text_input("What the runs are called", key="results_name")
    if st.button("Bring them in", key="results_go", disabled=not files, type="primary"):
        _forget()
        readers = [Child(file.getvalue(), file.name, LIMIT_BYTES) for file in files]
        st.session_state[_READERS] = (dataset_id, name, readers)
    held = st.session_state.get(_READERS)
    if held is None or not all(waiting.ended(one, "Looking at the results") for one in held[2]):
        return
    _keep(*held)


def _keep(dataset_id: str, name: str, readers: list[Any]) -> None:
    try:
        matrices: list[NamedMatrix] = []
        for reader in readers:
            matrices += reader.matrices()
        dataset = store().dataset(dataset_id)
        found = pair(matrices, dataset)
        run_ids = bring(store(), dataset, found, name.strip())
    except BNMFError as error:
        view.problem(error)
        return
    finally:
        _forget()
    many = f"{len(found):,} factorizations are" if len(found) > 1 else "One factorization is"
    runs = f"{len(run_ids)} runs, one for each rank" if len(run_ids) > 1 else "a run"
    st.success(f"{plain(many)} kept as {plain(runs)}.")
    notes = [store().run(run_id).message for run_id in run_ids]
    st.caption(plain(" ".join(notes)))
    link.to("modes", "Look at them", runs=run_ids[-1])


def _forget() -> None:
    _, _, readers = st.session_state.pop(_READERS, ("", "", []))
    for reader in readers:
        reader.stop()
