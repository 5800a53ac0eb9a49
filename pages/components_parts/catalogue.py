"""Components compared with a user's catalogue."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.compare.catalogue import (
    as_angle,
    as_cosine,
    cosines,
    describe_entry,
    describe_nearest,
    nearest_entries,
)
from bnmf_core.core.names import numbered
from bnmf_core.data.catalogue import Catalogue, match_catalogue, read_catalogue
from bnmf_core.figures.catalogue import catalogue_map
from pages.components_parts import brought, known
from pages.frame import view
from pages.frame.lens import Lens
from pages.frame.words import plain

TITLE = "Compare with a catalogue"
FORMAT = (
    "A table as COSMIC's, separated by tabs or commas: the first column names the features "
    "(“Type”), each other column is an entry. Rows are matched by name, in any order; channels of "
    "substitutions in any spelling. Entries may stand in rows, too. Spectra are "
    "interpolated where wavelengths differ, and compared by spectral angle."
)


def show(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    """A fold with an upload; it shows the similarity of entries and components by mode."""
    fold = st.expander(TITLE, key="catalogue_fold", on_change="rerun")
    if view.is_open(fold):
        with fold:
            _unfolded(look, rows, names)


def _unfolded(look: Lens, rows: np.ndarray, names: list[str]) -> None:
    with view.report_errors(ends=False):
        catalogue = brought.ask("Catalogue", "catalogue_file", FORMAT, _read)
        if catalogue is not None:
            _compared(look, rows, brought.modes_of(look, rows, names), catalogue)


@st.cache_data(max_entries=4, show_spinner="Reading the catalogue …")
def _read(content: bytes, name: str) -> Catalogue:
    return read_catalogue(content, name)


def _compared(look: Lens, rows: np.ndarray, modes: list[str], catalogue: Catalogue) -> None:
    matched = match_catalogue(catalogue, look.analysis.dataset.features)
    A = look.aligned(rows)
    found, called = cosines(A, matched.values), look.notes.components(A[0])
    components = numbered(called)
    shown_as = as_cosine if look.analysis.dataset.axis is None else as_angle
    reading = describe_nearest(found, matched.entries, modes, components, shown_as)
    view.chart(
        catalogue_map(found, matched.entries, modes, called),
        f"{reading} {matched.summary}",
        name="catalogue",
        origin=look.origin,
        table=lambda: _every(found, matched.entries, modes, components),
    )
    nearest = nearest_entries(found, matched.entries, modes)
    values = nearest[modes].to_numpy()
    sentences = [
        describe_entry(row, entry, modes, shown_as)
        for row, entry in zip(values, nearest["entry"], strict=True)
    ]
    listed = pd.DataFrame(
        {"component": [components[r] for r in nearest["component"]], "nearest entries": sentences}
    )
    view.table(listed, "Nearest entries of each component")
    shown = nearest.assign(component=listed["component"])
    st.download_button(
        "Nearest entries (CSV)",
        lambda: view.csv(shown),
        "catalogue.csv",
        "text/csv",
        key="catalogue_csv",
        help=plain("Cosine similarity of each component to its nearest entries in every mode."),
        on_click="ignore",
    )
    known.show(look, int(rows[0]), matched, called)


def _every(
    found: np.ndarray, entries: tuple[str, ...], modes: list[str], components: list[str]
) -> pd.DataFrame:
    """A row for each component in each mode, and a column for each entry."""
    flat = pd.DataFrame(found.transpose(1, 0, 2).reshape(-1, len(entries)), columns=list(entries))
    flat.insert(0, "mode", modes * len(components))
    flat.insert(0, "component", [name for name in components for _ in modes])
    return flat
