"""The weights as maps, where the observations are the pixels of one image."""

import numpy as np

from bnmf_core.compare.alignment import without_counterpart
from bnmf_core.figures.bases import named_table
from bnmf_core.figures.gallery import basis_images, unit_columns
from pages.frame.lens import Lens
from pages.frame.view import chart


def show(look: Lens, rows: np.ndarray, names: list[str], difference: bool) -> None:
    """Where in the image each part is, in several factorizations; nothing for other data."""
    shape = look.analysis.dataset.map_shape
    if shape is None:
        return
    A, W = look.aligned_factors(rows)
    if W.shape[2] != shape[0] * shape[1]:
        return  # some pixels were held out
    maps, alone = W.transpose(0, 2, 1), without_counterpart(A)
    called, title = look.notes.components(A[0]), "Maps of the weights"
    pixels = look.analysis.dataset.observations
    figure = basis_images(maps, shape, names, alone=alone, title=title, called=called)
    chart(
        figure,
        "Where in the image each part is, each map on its own grey scale: bright is much of it.",
        name="maps",
        origin=look.origin,
        table=named_table(pixels, maps, names, called),
    )
    if difference:
        figure = basis_images(maps, shape, names, difference=True, title=title, called=called)
        scaled = unit_columns(maps)
        chart(
            figure,
            "Red is more, blue is less than in the first row.",
            name="maps_difference",
            origin=look.origin,
            table=named_table(pixels, scaled - scaled[:1], names, called),
        )
