"""How many components of each factorization carry a name (paper 3, figure 7)."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import layout, safe


def key_terms(counts: np.ndarray, terms: Sequence[str], noun: str = "words") -> go.Figure:
    """For every term, the share of factorizations with 0, 1, 2, … components that carry it.

    Parameters
    ----------
    counts : (M, T) numbers of components. terms : T names. noun : what they are.
    """
    largest = int(counts.max())
    share = np.array(
        [(counts == number).mean(axis=0) for number in range(largest + 1)]
    )  # (numbers, T)
    figure = Sketch().add_heatmap(
        z=share.T,
        x=[str(number) for number in range(largest + 1)],
        y=[safe(term, 30) for term in terms],
        colorscale="Blues",
        zmin=0,
        zmax=1,
        texttemplate="%{z:.0%}",
        colorbar={"title": "share", "tickformat": ".0%", "thickness": 12},
        hovertemplate="%{y}: %{x} parts in %{z:.0%} of the factorizations<extra></extra>",
    )
    figure.update_xaxes(
        title=f"number of parts with it among their strongest {safe(noun, 24)}", type="category"
    )
    figure.update_yaxes(autorange="reversed", type="category")
    title = f"Parts that carry each of them, over {counts.shape[0]} factorizations"
    return layout(figure, title, height=180 + 44 * len(terms), margin={"l": 140})
