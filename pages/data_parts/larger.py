"""Data larger than memory: a store on the server, a preview block, and a subsample."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd
import streamlit as st

from bnmf_core import Dataset
from bnmf_core.blocks.allowed import allowed_folders, allowed_path
from bnmf_core.blocks.offered import Preview, preview, stores_in
from bnmf_core.blocks.source import Source
from bnmf_core.blocks.stores import open_source
from bnmf_core.blocks.whole import SAMPLE
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_names, distinct_labels, percent
from pages.data_parts import conversation
from pages.frame import link, view
from pages.frame.options import pick_one
from pages.frame.words import labelled, plain, size

# Observations in memory: least and most, and bytes of the most and of the default.
FEWEST, MOST, MOST_BYTES, FIRST_BYTES = 100, 100_000, 4e9, 5e8
SIDES = {"rows": "rows", "columns": "columns"}
_TAKEN = "blocks_taken"
HELP = "A random sample of observations, shown in charts of observations."


def draw() -> None:
    """Select a store, preview one block, and add it on a click."""
    folders = allowed_folders()
    if not folders:
        st.caption(
            "No folder is configured on this server. The operator lists folders in the "
            "environment variable BNMF_FOLDERS, such as /data/cells."
        )
        return
    if st.session_state.pop(_TAKEN, False):  # the data stand below
        st.session_state["blocks_store"], st.session_state["blocks_path"] = None, ""
    st.caption("Data on the server are read in blocks and stay there.")
    names = _names(tuple(folders))
    left, middle, right = st.columns([2, 2, 1])
    with left:
        chosen = st.selectbox(
            "Stores on this server",
            list(names),
            index=None,
            format_func=labelled(names),
            placeholder="NPY, NPZ, H5AD, Zarr or Parquet" if names else "There are none",
            key="blocks_store",
        )
    with middle:
        typed = st.text_input("Or a path there", key="blocks_path", placeholder="cells/counts.zarr")
    with right:
        side = str(pick_one("Observations are in", SIDES, "rows", "blocks_side"))
    if text := typed.strip() or chosen:
        with view.report_errors(ends=False):
            _opened(text, side, folders)


@st.cache_data(ttl=30.0, max_entries=8, show_spinner=False)
def _names(folders: tuple[Path, ...]) -> dict[str, str]:
    """Stores in the folders: path → relative path."""
    found = stores_in(folders)
    first = {path: next(f for f in folders if Path(path).is_relative_to(f)) for path in found}
    short = {path: str(Path(path).relative_to(first[path])) for path in found}
    return distinct_labels(short, {path: path for path in found})


def _opened(text: str, side: str, folders: Sequence[Path]) -> None:
    path = allowed_path(text, folders)
    source = open_source(path, side)
    try:
        found = _preview(str(path), side, source.stamp(), source)
    except MemoryError as error:
        raise DataError(
            "One block of this store does not fit into memory; write it in smaller chunks."
        ) from error
    _shown(found)
    most = int(min(found.N, MOST, max(MOST_BYTES // source.bytes_each, FEWEST)))
    first = int(min(SAMPLE, most, max(FIRST_BYTES // source.bytes_each, FEWEST)))
    with st.container(horizontal=True, vertical_alignment="bottom"):
        sample = st.number_input(
            "Observations in memory",
            min(FEWEST, most),
            most,
            first,
            key=f"blocks_sample_{path}_{side}",
            help=HELP,
            width=220,
        )
        pressed = st.button("Use these data", type="primary", key="blocks_use")
    if pressed:
        _take(path, side, int(sample))


@st.cache_data(max_entries=16, show_spinner="Reading one block…")
def _preview(path: str, side: str, stamp: str, _source: Source) -> Preview:
    return preview(_source, Path(path))


def _shown(found: Preview) -> None:
    blocks = f"{found.count:,} block{'s' * (found.count != 1)}"
    facts = (
        f"{found.D:,} features × {found.N:,} observations",
        blocks,
        f"{percent(found.share)} of the first block above 0",
        f"{size(found.size)} on the disk",
    )
    st.markdown(plain(" · ".join(facts)))
    rows, columns = found.corner.shape
    corner = pd.DataFrame(
        found.corner,
        index=clean_names(found.observations or [""] * rows, "observation"),
        columns=clean_names(found.features or [""] * columns, "feature"),
    )
    view.table(corner, "The first observations and features", hide_index=False)


def _take(path: Path, side: str, sample: int) -> None:
    with st.spinner("Reading every block once, for the sample…", show_time=True):
        dataset_id = conversation.keep(Dataset.from_blocks(path, observations=side, sample=sample))
    st.session_state[_TAKEN] = True
    link.put_next("data", dataset_id)
