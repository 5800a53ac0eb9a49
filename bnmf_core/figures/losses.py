"""Cost of a misfit under several likelihoods, as in paper 3, figure 2."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import MUTED, component_color, layout


def losses(
    misfit: np.ndarray,
    curves: Mapping[str, np.ndarray],
    found: np.ndarray,
    epsilon: float,
    unit: str,
) -> go.Figure:
    """Loss over misfit, with a tick below for each factorization that was found.

    Parameters
    ----------
    misfit : (n,). curves : name → loss (n,), the first one drawn thicker. found : (m,) misfits of
        factorizations. epsilon : where good enough ends. unit : of misfits.
    """
    figure = Sketch()
    for k, (name, loss) in enumerate(curves.items()):
        figure.add_scatter(
            x=misfit,
            y=loss,
            mode="lines",
            name=name,
            line={
                "color": component_color(k),
                "width": 2 if k else 4,
                "dash": "dot" if k else None,
            },
            hovertemplate="misfit %{x:.2f}: loss %{y:.2f}<extra>" + name + "</extra>",
        )
    figure.add_scatter(
        x=found,
        y=np.full(found.size, -0.06),
        mode="markers",
        name="restarts",
        marker={"symbol": "line-ns-open", "size": 12, "color": MUTED},
        hovertemplate="a restart: %{x:.3f}<extra></extra>",
    )
    figure.add_vline(
        x=epsilon, line={"color": MUTED, "dash": "dash"}, annotation={"text": "ε", "yanchor": "top"}
    )
    figure.update_xaxes(title=f"misfit ‖X − A W‖² ({unit})", range=[0, float(misfit[-1])])
    figure.update_yaxes(title="loss (no unit)", range=[-0.12, 1.05], zeroline=False)
    return layout(figure, "What a misfit costs", height=275)
