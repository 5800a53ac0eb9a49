"""Bases as the data ask for them: images, curves, bars, or a table of strong features."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.compare.alignment import NO_COUNTERPART, without_counterpart
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered
from bnmf_core.figures import gallery
from bnmf_core.figures.spectra import spectra


def picture(
    dataset: Dataset,
    A: np.ndarray,
    names: Sequence[str],
    width: int = gallery.ROW_WIDTH,
    called: Sequence[str] = (),
    bands: np.ndarray | None = None,
) -> tuple[go.Figure, str]:
    """Aligned bases A (K, D, R), and how to read them.

    ``names`` : K of them. ``width`` : pixels that a row will about have. ``called`` : R names that
    people have given to components. ``bands`` : (2, K, D, R) where 95 % of the draws have the share
    of each entry; only bars show them.
    """
    alone = without_counterpart(A)
    order = "Components are in one order for all factorizations. "
    note = order
    if alone.any():
        note += (
            f"An orange frame: no counterpart in the first, more than {NO_COUNTERPART:.0f}° away. "
        )
    if dataset.image_shape is not None:
        figure = gallery.basis_images(
            A, dataset.image_shape, names, False, alone, row_width=width, called=called
        )
        return figure, note + "Each image is one part, on its own grey scale: bright is present."
    if dataset.axis is not None:
        figure = spectra(dataset.axis, A, names, called, alone=alone)
        dashed = (
            "" if len(names) == 1 else f" Dashed: all but {names[0]}, where they have a partner."
        )
        return figure, f"{order}Each component is divided by its sum.{dashed}"
    if dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(
            A, dataset.features, names, alone=alone, called=called, bands=bands
        )
        drawn = "" if bands is None else " Thin lines hold 95 % of the posterior draws in the mode."
        return figure, f"{note}Bars of one chart sum to 100 %.{drawn}"
    figure = gallery.basis_heatmap(A, dataset.features, names, dataset.feature_noun, called=called)
    if len(names) == 1:
        return figure, "Dark is a large share of a component's sum."
    order += f"The columns of a block are, from the left: {', '.join(names)}. "
    return figure, order + "Stripes of one colour mean that all agree."


def differences(
    dataset: Dataset,
    A: np.ndarray,
    names: Sequence[str],
    width: int = gallery.ROW_WIDTH,
    called: Sequence[str] = (),
) -> tuple[go.Figure, str]:
    """Aligned bases A (K, D, R) minus the first one, and how to read them."""
    if dataset.image_shape is not None:
        figure = gallery.basis_images(
            A, dataset.image_shape, names, True, row_width=width, called=called
        )
        return figure, "Red is more, blue is less than in the first row."
    if dataset.D <= gallery.MOST_BARS:
        figure = gallery.basis_bars(A, dataset.features, names, difference=True, called=called)
        return figure, "Bars above zero are larger than in the first column."
    noun = dataset.feature_noun
    figure = gallery.basis_heatmap(A, dataset.features, names, noun, difference=True, called=called)
    return figure, "Red is more, blue is less than in the first factorization."


def minus_first(dataset: Dataset, A: np.ndarray) -> np.ndarray:
    """Bases A (K, D, R) on the scale on which they are shown, each minus the first."""
    pictured = dataset.image_shape is not None
    scaled = gallery.unit_columns(A) if pictured else gallery.shares(A)
    return gallery.minus_first(scaled)


def named_table(
    features: Sequence[str], A: np.ndarray, names: Sequence[str], called: Sequence[str] = ()
) -> pd.DataFrame:
    """Bases A (K, D, R) as rows: a column per component, the factorization, the feature."""
    components = [f"component {one}" for one in numbered(called, A.shape[2])]
    rows = [
        pd.DataFrame(basis, columns=components).assign(factorization=name, feature=features)
        for basis, name in zip(A, names, strict=True)
    ]
    return pd.concat(rows, ignore_index=True)
