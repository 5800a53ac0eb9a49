"""Bases as images, bars or a table of strong features, whichever the data ask for."""

import numpy as np
import pandas as pd

from bnmf_core.figures import gallery
from pages.frame.lens import Lens
from pages.frame.view import chart


def show(look: Lens, rows: np.ndarray, names: list[str], difference: bool, name: str) -> None:
    """Draw aligned bases of the given rows of the analysis' members."""
    A = look.aligned(rows)
    dataset = look.analysis.dataset
    note = "Components are put in the order of the first factorization. "
    if dataset.image_shape is not None:
        figure = gallery.basis_images(A, dataset.image_shape, names, difference)
        reading = note + (
            "Red is more, blue is less than in the first row."
            if difference
            else "Each image is one part, on its own grey scale: bright is present."
        )
    elif dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(A, dataset.features, names, dataset.unit, difference)
        reading = note + "Bars of one chart sum to 100 %."
        if difference:
            reading = note + "Bars above zero are larger than in the first column."
    else:
        figure = gallery.basis_heatmap(A, dataset.features, names)
        reading = note + "Within a block, stripes of one colour mean that all agree."
    table = pd.concat(
        [
            pd.DataFrame(A[k], columns=[f"component {r + 1}" for r in range(A.shape[2])]).assign(
                factorization=names[k], feature=dataset.features
            )
            for k in range(len(names))
        ]
    )
    chart(figure, reading, name=name, origin=look.origin, table=table)
