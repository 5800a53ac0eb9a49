"""How large the noise is where the mean is: residuals beside what models expect of them."""

import numpy as np
import plotly.graph_objects as go

from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import LINE, component_color, layout, logarithmic_axis

# Number of means along the lines of the models.
POINTS = 60


def variance_by_mean(
    mean: np.ndarray, variance: np.ndarray, dispersion: float, constant: float
) -> go.Figure:
    """Variance of the residuals over the fitted mean, both on log axes, with a line for each model.

    Parameters
    ----------
    mean, variance : (b,) of bins of entries, above 0. dispersion : k of the negative binomial line
        y + y²/k; ∞ where it is Poisson's, and not drawn. constant : the variance of Gaussian noise.
    """
    figure = Sketch()
    ends = float(mean.min()), float(mean.max())
    y = np.geomspace(*ends, POINTS)
    lines = {"Poisson: variance = mean": y}
    if np.isfinite(dispersion):
        lines["negative binomial"] = y + y**2 / dispersion
    lines["Gaussian: the same everywhere"] = np.full_like(y, constant)
    for k, (name, values) in enumerate(lines.items()):
        figure.add_scatter(
            x=y,
            y=values,
            mode="lines",
            name=name,
            line={"color": component_color(k), "width": 2, "dash": ("solid", "dash", "dot")[k]},
            hovertemplate="mean %{x:.3g}: variance %{y:.3g}<extra></extra>",
        )
    figure.add_scatter(
        x=mean,
        y=variance,
        mode="markers",
        name="residuals",
        marker={"color": LINE, "size": 8},
        hovertemplate="fitted mean %{x:.3g}: variance %{y:.3g}<extra></extra>",
    )
    drawn = np.concatenate([variance, [constant], ends])
    figure.update_xaxes(title="fitted mean", **logarithmic_axis(*ends))
    figure.update_yaxes(
        title="variance", **logarithmic_axis(float(drawn.min()), float(drawn.max()))
    )
    return layout(figure, "Variance of the residuals by fitted mean", height=330)
