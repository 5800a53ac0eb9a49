"""Components along an axis, such as wavelengths: a line for each, mode by mode."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.core.axis import Axis
from bnmf_core.core.names import numbered
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import MUTED, component_color, layout, safe

# Dashes of the modes after the first.
DASHES = ("dash", "dot", "dashdot")


def spectra(
    axis: Axis,
    A: np.ndarray,
    names: Sequence[str],
    called: Sequence[str] = (),
    chosen: int | None = None,
    alone: np.ndarray | None = None,
) -> go.Figure:
    """Aligned components of K factorizations over the axis, each divided by its sum.

    Parameters
    ----------
    A : (K, D, R). names : K. called : R names of components. chosen : the component in colour, all
        where None. alone : (K, R) bool, components without counterpart in the first, left out.
    """
    K, _, R = A.shape
    parts = A / np.maximum(A.sum(axis=1, keepdims=True), 1e-300)
    figure = Sketch()
    for r, name in enumerate(numbered(called, R)):
        behind = chosen not in (None, r)
        for k in range(K):
            if alone is not None and alone[k, r]:
                continue
            figure.add_scatter(
                x=axis.values,
                y=parts[k, :, r],
                mode="lines",
                name=f"component {safe(name, 24)}",
                legendgroup=str(r),
                showlegend=k == 0,
                line={
                    "color": MUTED if behind else component_color(r),
                    "width": 1 if behind or k else 2.5,
                    "dash": DASHES[(k - 1) % len(DASHES)] if k else "solid",
                },
                opacity=0.5 if behind else 1.0,
                hovertemplate=f"{safe(name, 24)}, {safe(names[k], 40)}<br>%{{x}}: %{{y:.3%}}"
                "<extra></extra>",
            )
    along(figure, axis)
    figure.update_yaxes(title="share of the component", tickformat=".1%", rangemode="tozero")
    return layout(figure, "Components along their axis", 380, margin={"t": 80})


def along(figure: go.Figure, axis: Axis) -> None:
    """Put the axis below a figure, in the order of the data."""
    order = "reversed" if axis.values[0] > axis.values[-1] else True
    title = safe(axis.title, 24)
    figure.update_xaxes(title=title, showgrid=False, zeroline=False, autorange=order)
