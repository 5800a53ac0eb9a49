"""Components along the axis of features, or their weights along that of observations, as lines."""

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


def weight_courses(
    axis: Axis, amounts: np.ndarray, called: Sequence[str] = (), chosen: int | None = None
) -> go.Figure:
    """Contribution of each component along the axis of observations, such as times, as lines.

    Parameters
    ----------
    axis : of N observations. amounts : (R, N) weights of components that sum to 1, as of
        :func:`~bnmf_core.compare.samples.sample_amounts`. called : R names of components.
    chosen : the component in colour, all where None.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.core.axis import axis_of
    >>> from bnmf_core.figures.spectra import weight_courses
    >>> axis = axis_of([f"{5 * n} min" for n in range(8)])
    >>> weight_courses(axis, np.ones((2, 8))).layout.xaxis.title.text
    'min'
    """
    figure = Sketch()
    for r, name in enumerate(numbered(called, len(amounts))):
        behind = chosen not in (None, r)
        figure.add_scatter(
            x=axis.values,
            y=amounts[r],
            mode="lines",
            name=f"component {safe(name, 24)}",
            line={"color": MUTED if behind else component_color(r), "width": 1 if behind else 2.5},
            opacity=0.5 if behind else 1.0,
            hovertemplate=f"{safe(name, 24)}<br>%{{x}}: %{{y:.4~g}}<extra></extra>",
        )
    along(figure, axis, "observation")
    figure.update_yaxes(title="weight", rangemode="tozero")
    return layout(figure, "Weights along the axis of the observations", 380, margin={"t": 80})


def along(figure: go.Figure, axis: Axis, noun: str = "feature") -> None:
    """Put the axis below a figure, in the order of the data; a ``noun`` where it has no unit."""
    figure.update_xaxes(**on_axis(axis, noun))


def on_axis(axis: Axis, noun: str = "feature") -> dict[str, object]:
    """The settings of :func:`along`, for an axis of a figure with several."""
    return {
        "title": {"text": safe(axis.unit or noun, 24)},
        "showgrid": False,
        "zeroline": False,
        "autorange": "reversed" if axis.values[0] > axis.values[-1] else True,
    }
