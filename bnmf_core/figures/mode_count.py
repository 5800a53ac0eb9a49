"""How the number of modes depends on the threshold that separates them."""

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, LINE, count_axis, layout, rounded


def mode_count(linkage: np.ndarray, threshold: float, distance_label: str, unit: str) -> go.Figure:
    """Staircase of the number of modes over the threshold, with the chosen one marked.

    Parameters
    ----------
    linkage : (m − 1, 4) complete linkage. threshold : in the distance's unit.
    """
    thresholds, count = mode_counts(linkage)
    thresholds = rounded(thresholds, unit)
    if not thresholds.any():  # one mode at every threshold that is seen
        thresholds[-1] = threshold or 1.0
    figure = Sketch()
    figure.add_scatter(
        x=thresholds,
        y=count,
        mode="lines",
        line={"shape": "hv", "color": LINE, "width": 2},
        showlegend=False,
        hovertemplate="threshold %{x:.3g}: %{y} modes<extra></extra>",
    )
    figure.add_vline(x=threshold, line={"color": HIGHLIGHT, "width": 2, "dash": "dash"})
    figure.update_xaxes(title=f"threshold on {distance_label} ({unit})", rangemode="tozero")
    figure.update_yaxes(title="number of modes", **count_axis(count.max(), True))
    return layout(figure, "Number of modes at every threshold", height=300)


def mode_counts(linkage: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Thresholds at which the number of modes changes, and the number from there on."""
    heights = np.concatenate([[0.0], linkage[:, 2]])
    count = len(linkage) + 1 - np.arange(len(heights))
    end = heights[-1] * 1.05 if heights[-1] > 0 else 1.0
    return np.append(heights, end), np.append(count, 1)
