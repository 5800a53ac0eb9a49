"""Bases as images, bars or a table of strong features, depending on the data."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.bands import entry_bands
from bnmf_core.analysis.posterior import Posterior
from bnmf_core.core.names import clean_name
from bnmf_core.figures import gallery
from bnmf_core.figures.bases import differences, minus_first, named_table, picture
from pages.frame.lens import Lens
from pages.frame.view import chart
from pages.frame.words import plain

# Longest note below a picture; the naming form has the whole note.
LONGEST_NOTE = 240
# Most images, columns of bars, and cells in a row on half of the page.
MOST_IMAGES_BESIDE, MOST_BARS_BESIDE, MOST_CELLS_BESIDE = 5, 3, 24


def show(
    look: Lens,
    rows: np.ndarray,
    names: list[str],
    name: str,
    difference: bool = False,
    posterior: Posterior | None = None,
) -> None:
    """Draw aligned bases of the given rows of the analysis' members.

    ``name`` : of the chart. ``difference`` : beside or below it, each of them minus the first.
    ``posterior`` : whose draws within a mode give bars their bands, if known.
    """
    A, dataset = look.aligned(rows), look.analysis.dataset
    called = look.notes.components(A[0])
    bands = entry_bands(posterior, look.modes.labels, rows, A)

    def table(A: np.ndarray = A) -> pd.DataFrame:
        return named_table(dataset.features, A, names, called)

    beside = difference and _room_beside(look, A)
    places = st.columns(2, gap="small") if beside else (st.container(), st.container())
    width = gallery.HALF_WIDTH if beside else gallery.ROW_WIDTH
    with places[0]:
        figure, reading = picture(dataset, A, names, width, called, bands)
        chart(figure, reading, name=name, origin=look.origin, table=table)
        notes(look, rows, A[0])
    if difference:
        with places[1]:
            figure, reading = differences(dataset, A, names, width, called)
            chart(
                figure,
                reading,
                name=f"{name}_difference",
                origin=look.origin,
                table=lambda: table(minus_first(dataset, A)),
            )


def notes(look: Lens, rows: np.ndarray, A: np.ndarray) -> None:
    """Users' notes on the components of the first basis A (D, R), and on these modes."""
    of_modes = look.notes.of_modes(look.analysis, look.modes)
    shown = dict.fromkeys(look.modes.labels[rows].tolist())
    noted = [("component", r, note) for r, note in enumerate(look.notes.of_components(A))]
    noted += [("mode", k, of_modes[k]) for k in shown]
    lines = [
        f"- **{plain(f'{what} {k + 1}')}**: {plain(clean_name(note.caption, LONGEST_NOTE))}"
        for what, k, note in noted
        if note and note.text
    ]
    if lines:
        st.caption("\n".join(lines))


def _room_beside(look: Lens, A: np.ndarray) -> bool:
    """Whether two pictures of these bases fit side by side."""
    K, _, R = A.shape
    if look.analysis.dataset.image_shape is not None:
        return R <= MOST_IMAGES_BESIDE
    if look.analysis.dataset.D <= gallery.MOST_BARS:
        return K <= MOST_BARS_BESIDE
    return K * R <= MOST_CELLS_BESIDE
