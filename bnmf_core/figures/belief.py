"""How the posterior mass of modes hangs on how far the noise model is believed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.figures.mode_map import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import DASHES, layout, safe

# A mode with less than this at every belief is not drawn.
SMALLEST, MOST = 0.01, 6


def belief_chart(masses: Mapping[float, pd.DataFrame], names: Sequence[str] = ()) -> go.Figure:
    """Lines of the mass of every mode over the power of the likelihood, with error bars.

    Parameters
    ----------
    masses : power → a row per mode with ``mass``, ``mass_low`` and ``mass_high`` (90 %).
    names : of the modes, their numbers if left out.
    """
    beliefs = sorted(masses)
    largest = np.max([masses[belief]["mass"].fillna(0.0) for belief in beliefs], axis=0)
    drawn = [mode for mode in np.argsort(-largest, kind="stable") if largest[mode] >= SMALLEST]
    figure = Sketch()
    for mode, dash in zip(drawn[:MOST], DASHES.values(), strict=False):
        name = safe(names[mode] if names else f"mode {mode + 1}")
        rows = pd.DataFrame([masses[belief].iloc[mode] for belief in beliefs])
        figure.add_scatter(
            x=[f"{belief:g}" for belief in beliefs],
            y=rows["mass"],
            error_y={
                "array": rows["mass_high"] - rows["mass"],
                "arrayminus": rows["mass"] - rows["mass_low"],
                "thickness": 1.2,
            },
            mode="lines+markers",
            name=name,
            line={"color": mode_color(mode), "dash": dash, "width": 2},
            marker={"size": 9},
            hovertemplate=f"{name}: %{{y:.1%}} at likelihood power %{{x}}<extra></extra>",
        )
    figure.update_xaxes(title="power of the likelihood", type="category")
    figure.update_yaxes(title="posterior mass", tickformat=".0%", range=[-0.03, 1.05])
    title = "Posterior mass by belief in the noise model"
    return layout(figure, title, height=300, showlegend=True)
