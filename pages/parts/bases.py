"""Bases as images, bars or a table of strong features, whichever the data ask for."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from bnmf_core.compare.alignment import NO_COUNTERPART, without_counterpart
from bnmf_core.figures import gallery
from pages.frame.lens import Lens
from pages.frame.view import chart


def show(
    look: Lens, rows: np.ndarray, names: list[str], name: str, difference: bool = False
) -> None:
    """Draw aligned bases of the given rows of the analysis' members.

    ``name`` : of the chart. ``difference`` : beside it, each of them minus the first.
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
    figure, reading = _picture(look, A, names)
    if not difference:
        chart(figure, reading, name=name, origin=look.origin, table=table)
        return
    left, right = st.columns(2, gap="small")
    with left:
        chart(figure, reading, name=name, origin=look.origin, table=table)
    with right:
        figure, reading = _differences(look, A, names)
        chart(figure, reading, name=f"{name}_difference", origin=look.origin)


def _picture(look: Lens, A: np.ndarray, names: list[str]) -> tuple[go.Figure, str]:
    dataset, alone = look.analysis.dataset, without_counterpart(A)
    note = "Components are put in the order of the first factorization. "
    if alone.any():
        note += (
            f"An orange frame: no counterpart in the first, more than {NO_COUNTERPART:.0f}° away. "
        )
    if dataset.image_shape is not None:
        figure = gallery.basis_images(A, dataset.image_shape, names, alone=alone)
        return figure, note + "Each image is one part, on its own grey scale: bright is present."
    if dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(A, dataset.features, names, dataset.unit, alone=alone)
        return figure, note + "Bars of one chart sum to 100 %."
    figure = gallery.basis_heatmap(A, dataset.features, names)
    return figure, note + "Within a block, stripes of one colour mean that all agree."


def _differences(look: Lens, A: np.ndarray, names: list[str]) -> tuple[go.Figure, str]:
    dataset = look.analysis.dataset
    if dataset.image_shape is not None:
        figure = gallery.basis_images(A, dataset.image_shape, names, difference=True)
        return figure, "Red is more, blue is less than in the first row."
    if dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(A, dataset.features, names, dataset.unit, difference=True)
        return figure, "Bars above zero are larger than in the first column."
    figure = gallery.basis_heatmap(A, dataset.features, names, difference=True)
    return figure, "Red is more, blue is less than in the first factorization."
