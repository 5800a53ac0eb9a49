"""The weights as maps, where the observations are the pixels of one image."""

import numpy as np
import streamlit as st

from bnmf_core.compare.abundances import sum_to_one
from bnmf_core.compare.alignment import without_counterpart
from bnmf_core.core.errors import BNMFError
from bnmf_core.figures.bases import named_table
from bnmf_core.figures.gallery import basis_images, unit_columns
from pages.frame import view
from pages.frame.lens import Lens

HELP = (
    "Each component is scaled so that the weights of a pixel sum to 1 as nearly as possible, like "
    "shares of a whole."
)


def show(look: Lens, rows: np.ndarray, names: list[str], difference: bool) -> None:
    """Maps of the components in several factorizations; nothing for other data."""
    shape = look.analysis.dataset.map_shape
    if shape is None:
        return
    A, W = look.aligned_factors(rows)
    reading = "Where each component is present, each map on its own grey scale: bright is high."
    if W.shape[2] != shape[0] * shape[1]:
        return  # some pixels were held out
    if st.toggle("Weights that sum to one", key="maps_sum_to_one", help=HELP):
        try:
            scaled = [sum_to_one(a, w) for a, w in zip(A, W, strict=True)]
        except BNMFError as error:
            view.problem(error)
            return
        W = np.stack([w for _, w in scaled])
        low, high = np.quantile(W[0].sum(axis=0), (0.05, 0.95))
        reading += f" In 90 % of the pixels the first row's sum to {low:.2f} to {high:.2f}."
    maps, alone = W.transpose(0, 2, 1), without_counterpart(A)
    called, title = look.notes.components(A[0]), "Maps of the weights"
    pixels = look.analysis.dataset.observations
    figure = basis_images(maps, shape, names, alone=alone, title=title, called=called)
    view.chart(
        figure,
        reading,
        name="maps",
        origin=look.origin,
        table=named_table(pixels, maps, names, called),
    )
    if difference:
        figure = basis_images(maps, shape, names, difference=True, title=title, called=called)
        scaled = unit_columns(maps)
        view.chart(
            figure,
            "Red is more, blue is less than in the first row.",
            name="maps_difference",
            origin=look.origin,
            table=named_table(pixels, scaled - scaled[:1], names, called),
        )
