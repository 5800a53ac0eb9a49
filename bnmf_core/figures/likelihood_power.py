"""How the posterior mass of modes depends on how far the noise model is believed."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.core.names import listed
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import DASHES, MUTED, layout, safe

# A mode with less than this at every power is not drawn.
SMALLEST, MOST = 0.01, 6
# Masses this near get one label.
NEAR = 0.1


def mass_by_power(masses: Mapping[float, pd.DataFrame], names: Sequence[str] = ()) -> go.Figure:
    """Lines of the mass of every mode over the power of the likelihood, with error bars.

    Parameters
    ----------
    masses : power → a row per mode with ``mass``, ``mass_low`` and ``mass_high`` (90 %), and
        ``joined``, the mode that it is one with at this power. What several modes have together is
        no mass of the first of them: it is marked as theirs.
    names : of the modes, their numbers if left out.
    """
    powers = sorted(masses)
    together = {power: _together(masses[power]) for power in powers}
    masses = {
        power: masses[power].drop(index=list(together[power])).reindex(masses[power].index)
        for power in powers
    }
    largest = np.max([masses[power]["mass"].fillna(0.0) for power in powers], axis=0)
    drawn = [mode for mode in np.argsort(-largest, kind="stable") if largest[mode] >= SMALLEST]
    figure = Sketch()
    for mode, dash in zip(drawn[:MOST], DASHES.values(), strict=False):
        name = safe(names[mode] if names else f"mode {mode + 1}")
        rows = pd.DataFrame([masses[power].iloc[mode] for power in powers])
        figure.add_scatter(
            x=[f"{power:g}" for power in powers],
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
    labelled: dict[tuple[int, ...], float] = {}
    for number, power in enumerate(powers):
        for mass, modes in sorted(set(together[power].values()), reverse=True):
            called = (
                f"modes {listed(m + 1 for m in modes)}" if len(modes) < 4 else f"{len(modes)} modes"
            )
            # Beside a point that says the same there is no room to say it again.
            repeated = abs(labelled.get(modes, np.inf) - mass) < NEAR
            labelled[modes] = mass
            figure.add_scatter(
                x=[f"{power:g}"],
                y=[mass],
                mode="markers+text",
                marker={"size": 11, "symbol": "circle-open", "color": MUTED, "line": {"width": 2}},
                text=["" if repeated else f"{called},<br>not separated"],
                textposition="bottom right" if number + 1 < len(powers) else "bottom left",
                hovertemplate=f"{called} together: %{{y:.1%}}<extra></extra>",
                showlegend=False,
            )
    figure.update_xaxes(title="power of the likelihood", type="category")
    figure.update_yaxes(title="posterior mass", tickformat=".0%", range=[-0.03, 1.05])
    title = "Posterior mass by likelihood power"
    return layout(figure, title, height=300, showlegend=True)


def _together(table: pd.DataFrame) -> dict[int, tuple[float, tuple[int, ...]]]:
    """Each mode that is one with others → the mass of all of them, and which these are."""
    found: dict[int, tuple[float, tuple[int, ...]]] = {}
    for _, group in table[table["weighed"] > 0].groupby("joined"):
        if len(group) > 1:
            # The first of them has the mass of all.
            of_all = (float(group["mass"].max()), tuple(map(int, group.index)))
            found |= dict.fromkeys(of_all[1], of_all)
    return found
