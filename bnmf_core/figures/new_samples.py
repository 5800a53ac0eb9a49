"""New samples on screen: how well each fits, beside those that were analysed."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.new_samples import NewSamples
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import HIGHLIGHT, INK, LINE, MUTED, layout, safe

# Parts of a row over which points are scattered so that they do not hide each other.
SCATTER, HEIGHT = 0.6, 260


def fit_of_new(found: NewSamples, mode: int, observations: Sequence[str]) -> go.Figure:
    """The misfit of every sample in a mode: analysed ones above, new ones below.

    The dashed line is the misfit that 95 % of the analysed samples do not exceed; new samples
    beyond it are diamonds. observations : N names.
    """
    figure, unlike = Sketch(), found.unlike[mode]
    rows = (
        ("analysed", 1.0, found.usual[mode], {"color": MUTED, "size": 5, "opacity": 0.6}, None),
        ("new", 0.0, found.misfit[mode][~unlike], {"color": LINE, "size": 7}, ~unlike),
        (
            "new, worse than 95 %",
            0.0,
            found.misfit[mode][unlike],
            {"color": HIGHLIGHT, "size": 9, "symbol": "diamond"},
            unlike,
        ),
    )
    for name, y, x, marker, of in rows:
        names = [] if of is None else [safe(observations[n]) for n in np.flatnonzero(of).tolist()]
        # Golden steps spread points evenly, and the same ones always alike.
        spread = SCATTER * (np.arange(x.size) * 0.618034 % 1.0 - 0.5)
        figure.add_scatter(
            x=x,
            y=y + spread,
            mode="markers",
            name=name,
            marker=marker,
            **({"text": names} if names else {}),
            hovertemplate=("%{text}: " if names else "") + "%{x:.3g}<extra></extra>",
            showlegend=False,
        )
    limit = {"x0": float(found.limits[mode]), "x1": float(found.limits[mode]), "y0": 0, "y1": 1}
    line = {"color": INK, "width": 1.5, "dash": "dash"}
    figure.add_shape(type="line", line=line, yref="paper", **limit)
    figure.update_xaxes(title={"text": safe(found.measure)}, rangemode="tozero")
    figure.update_yaxes(tickvals=[1, 0], ticktext=["analysed", "new"], range=[-0.5, 1.5])
    figure.update_layout(yaxis={"showgrid": False, "zeroline": False})
    return layout(figure, "Fit of new samples beside the analysed ones", HEIGHT, margin={"l": 80})
