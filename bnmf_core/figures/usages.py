"""How much of one component the observations of each class have: boxes, and a point for each."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import component_color, layout, safe

# Maximum number of observations drawn as points; of more, boxes only.
MOST_POINTS = 1_000


def usage_boxes(
    shares: np.ndarray,
    classes: Sequence[str],
    shown: Sequence[str],
    observations: Sequence[str],
    component: int,
    called: str,
) -> go.Figure:
    """A box for each class, from quartile to quartile, with the mean as a dashed line.

    Parameters
    ----------
    shares : (N,) of the component. classes : N words. shown : those that are drawn, from the left.
    observations : N names. component : its number from 0, for its colour. called : its name.
    """
    of = np.asarray(classes)
    figure = Sketch()
    for one in shown:
        inside = np.flatnonzero(of == one).tolist()
        figure.add(
            "box",
            y=shares[inside],
            name=safe(f"{one or 'no class'} ({len(inside):,})", 24),
            text=[safe(observations[n], 40) for n in inside],
            boxpoints="all" if of.size <= MOST_POINTS else False,
            boxmean=True,
            jitter=0.4,
            pointpos=0,
            marker={"color": component_color(component), "size": 4, "opacity": 0.6},
            line={"width": 1.5},
            hovertemplate="%{text}: %{y:.1%}<extra></extra>",
            showlegend=False,
        )
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", title="share of the observation")
    return layout(figure, f"Component {safe(called, 24)} by class", 360)
