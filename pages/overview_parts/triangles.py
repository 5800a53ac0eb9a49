"""Factorizations of rank 3 as triangles around the data."""

import numpy as np
import pandas as pd

from bnmf_core.compare.projection import simplex_projection
from bnmf_core.figures.factorizations import simplex_view
from bnmf_core.numerics.completion import completed
from pages.frame import view
from pages.frame.lens import Lens


def show(look: Lens) -> None:
    """The triangles, at rank 3."""
    if look.analysis.rank != 3:
        return
    A = look.analysis.bases(np.arange(len(look.analysis.members)))
    # What was not seen is no zero: the picture shows it as a product of rank 3 has it.
    data, corners = simplex_projection(completed(look.analysis.dataset, 3), A)
    view.chart(
        simplex_view(data, corners, look.analysis.members, look.styles, look.modes.representative),
        "Each factorization is a triangle. Points outside it have an error; different triangles "
        "that fit equally well are different explanations.",
        name="simplex",
        origin=look.origin,
        table=pd.DataFrame(corners.reshape(-1, 2), columns=["x", "y"]),
    )
