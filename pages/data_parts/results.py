"""Import of other programs' factorizations as runs of the dataset."""

from contextlib import suppress
from typing import Any

import streamlit as st

from bnmf_core.core.errors import BNMFError
from bnmf_core.data.foreign import NamedMatrix, example, pair
from bnmf_core.data.isolation import ReaderProcess
from bnmf_core.runs.foreign import bring
from pages.data_parts import waiting
from pages.frame import link, view
from pages.frame.services import dataset_names, store
from pages.frame.words import plain

_READERS = "results_readers"
# Most features and observations together for which a sample file is offered.
LARGEST_EXAMPLE = 20_000


def draw() -> None:
    """Upload files, pair their matrices, and store them as runs."""
    st.caption(
        "Two matrices A (features × components) and W (components × observations), or draws of "
        "both (chains × draws × features × components)."
    )
    names = dataset_names()
    if not names:
        st.caption("First upload the data that they belong to.")
        return
    dataset_id = st.selectbox(
        "They are factorizations of",
        list(names),
        format_func=names.get,
        key="results_data",
    )
    entries = {entry.id: entry for entry in store().dataset_entries()}
    if entries[dataset_id].D + entries[dataset_id].N <= LARGEST_EXAMPLE:
        with suppress(BNMFError):  # other parts of the page report damaged data
            st.download_button(
                "Download a sample file",
                _example(dataset_id),
                "draws.npz",
                key="results_example",
                icon=":material/download:",
                help="Draws for these data in the format above: 2 chains of 8 draws with 2 "
                "components. The numbers are random.",
            )
    files = st.file_uploader(
        "Files",
        key="results",
        accept_multiple_files=True,
        help="CSV, NPY, NPZ or a zip of many; the output of scikit-learn, cNMF or "
        "SigProfilerExtractor; draws as NPZ or NetCDF (ArviZ group “posterior”).",
    )
    name = st.text_input(
        "Name of the runs", key="results_name", placeholder="The program and the file"
    )
    if st.button("Import", key="results_go", disabled=not files, type="primary"):
        _forget()
        readers = [ReaderProcess(file.getvalue(), file.name, "matrices") for file in files]
        st.session_state[_READERS] = (dataset_id, name, readers)
    held = st.session_state.get(_READERS)
    if held is None or not all(waiting.ended(r, "Looking at the results") for r in held[2]):
        return
    _keep(*held)


@st.cache_data(max_entries=4, show_spinner=False)
def _example(dataset_id: str) -> bytes:
    return example(store().dataset(dataset_id))


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
    chains = len({(part.source, part.name, part.chain) for part in found if part.chain is not None})
    drawn = f" in {chains} chain{'s' * (chains > 1)}" if chains else ""
    many = f"{len(found):,} factorizations" if len(found) > 1 else "1 factorization"
    runs = f"{len(run_ids)} runs" if len(run_ids) > 1 else "a run"
    st.success(plain(f"Imported {many}{drawn} as {runs}."))
    notes = [store().run(run_id).message for run_id in run_ids]
    st.caption(plain(" ".join(notes)))
    link.to("overview", "Look at them", runs=run_ids[-1])


def _forget() -> None:
    _, _, readers = st.session_state.pop(_READERS, ("", "", []))
    for reader in readers:
        reader.stop()
