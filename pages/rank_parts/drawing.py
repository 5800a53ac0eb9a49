"""The figure of a flow with the words, bars or pictures of every component."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core import Dataset
from bnmf_core.compare.flow import COUNTERPART, Flow
from bnmf_core.figures import components
from bnmf_core.figures.flow import flow_figure

READING = (
    "Read from left to right. A box is a component; its height is its share, the sum of its "
    "entries in AW over the sum of all. A band leads to its partner in the next column, matched "
    "so that the angles between columns of A sum to least: the paler, the less alike. A box "
    "whose colour is not that of the one before has no partner there; its band comes from the "
    f"nearest component, and there is none beyond {COUNTERPART:g}°."
)


def drawn(
    flow: Flow, bases: Sequence[np.ndarray], dataset: Dataset, columns: Sequence[str]
) -> go.Figure:
    """The figure with the words, bars or pictures of every component."""
    details, pictures = (
        _of_nodes(flow.nodes, found)
        for found in (
            [components.details(dataset, A) for A in bases],
            [_pictures(dataset, A) for A in bases],
        )
    )
    # Without names, the number as in its table and on other pages.
    titles = flow.nodes["component"].astype(str).tolist()
    if dataset.named:
        titles = _of_nodes(flow.nodes, [components.titles(dataset, A) for A in bases])
    images = pictures if dataset.image_shape is not None else []
    return flow_figure(flow, columns, titles, details, images)


def _pictures(dataset: Dataset, A: np.ndarray) -> list[str]:
    if dataset.image_shape is None:
        return [""] * A.shape[1]
    return components.pictures(A, dataset.image_shape)


def _of_nodes(nodes: pd.DataFrame, found: Sequence[Sequence[Any]]) -> list[Any]:
    return [
        found[column][position]
        for column, position in zip(nodes["column"], nodes["position"], strict=True)
    ]
