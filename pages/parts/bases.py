"""Bases as images, bars or a table of strong features, whichever the data ask for."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bnmf_core.compare.alignment import NO_COUNTERPART, without_counterpart
from bnmf_core.figures import gallery
from pages.frame.lens import Lens
from pages.frame.view import chart

# Images, columns of bars, and cells in a row that can be read in half of the page.
MOST_IMAGES_BESIDE, MOST_BARS_BESIDE, MOST_CELLS_BESIDE = 5, 3, 24


def show(
    look: Lens, rows: np.ndarray, names: list[str], name: str, difference: bool = False
) -> None:
    """Draw aligned bases of the given rows of the analysis' members.

    ``name`` : of the chart. ``difference`` : beside or below it, each of them minus the first.
    """
    A = look.aligned(rows)
    table = pd.concat(
        [
            pd.DataFrame(A[k], columns=[f"component {r + 1}" for r in range(A.shape[2])]).assign(
                factorization=names[k], feature=look.analysis.dataset.features
            )
            for k in range(len(names))
        ]
    )
    beside = difference and _room_beside(look, A)
    places = st.columns(2, gap="small") if beside else (st.container(), st.container())
    width = gallery.HALF_WIDTH if beside else gallery.ROW_WIDTH
    with places[0]:
        figure, reading = _picture(look, A, names, width)
        chart(figure, reading, name=name, origin=look.origin, table=table)
    if difference:
        with places[1]:
            figure, reading = _differences(look, A, names, width)
            chart(figure, reading, name=f"{name}_difference", origin=look.origin)


def _room_beside(look: Lens, A: np.ndarray) -> bool:
    """Whether two pictures of these bases can be read side by side."""
    K, _, R = A.shape
    if look.analysis.dataset.image_shape is not None:
        return R <= MOST_IMAGES_BESIDE
    if look.analysis.dataset.D <= gallery.MOST_BARS:
        return K <= MOST_BARS_BESIDE
    return K * R <= MOST_CELLS_BESIDE


def _picture(look: Lens, A: np.ndarray, names: list[str], width: int) -> tuple[go.Figure, str]:
    dataset, alone = look.analysis.dataset, without_counterpart(A)
    order = "Components are put in the order of the first factorization. "
    note = order
    if alone.any():
        note += (
            f"An orange frame: no counterpart in the first, more than {NO_COUNTERPART:.0f}° away. "
        )
    if dataset.image_shape is not None:
        figure = gallery.basis_images(A, dataset.image_shape, names, False, alone, row_width=width)
        return figure, note + "Each image is one part, on its own grey scale: bright is present."
    if dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(A, dataset.features, names, dataset.unit, alone=alone)
        return figure, note + "Bars of one chart sum to 100 %."
    figure = gallery.basis_heatmap(A, dataset.features, names, dataset.feature_noun)
    if len(names) == 1:
        return figure, "Dark is a large share of a component's sum."
    order += f"The columns of a block are, from the left: {', '.join(names)}. "
    return figure, order + "Stripes of one colour mean that all agree."


def _differences(look: Lens, A: np.ndarray, names: list[str], width: int) -> tuple[go.Figure, str]:
    dataset = look.analysis.dataset
    if dataset.image_shape is not None:
        figure = gallery.basis_images(A, dataset.image_shape, names, True, row_width=width)
        return figure, "Red is more, blue is less than in the first row."
    if dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(A, dataset.features, names, dataset.unit, difference=True)
        return figure, "Bars above zero are larger than in the first column."
    noun = dataset.feature_noun
    figure = gallery.basis_heatmap(A, dataset.features, names, noun, difference=True)
    return figure, "Red is more, blue is less than in the first factorization."
