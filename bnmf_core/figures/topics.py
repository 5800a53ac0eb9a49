"""Components beside words, classes and periods: term bars, a heat map and lines with bands."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.classes import ClassShares, PeriodShares
from bnmf_core.core.names import numbered
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    LINE,
    MUTED,
    PAPER,
    component_color,
    layout,
    safe,
    translucent,
)

# Pixels of a bar and of a row of the heat map.
BAR, ROW = 20, 30
# Maximum number of classes whose cells show numbers.
MOST_NUMBERED = 24
# Part of the height that the name of a line takes, and pixels beside the plot for names.
NAME, BESIDE = 0.062, 190
SCALE = [[0.0, PAPER], [1.0, LINE]]


def term_bars(
    words: Sequence[str],
    in_topic: np.ndarray,
    overall: np.ndarray,
    component: int,
    called: str = "",
    unit: str = "",
) -> go.Figure:
    """For each of K words how often it stands in the data, and how much of that is the topic's.

    Parameters
    ----------
    words : K words, from the top. in_topic : (K,), see
        :func:`~bnmf_core.compare.topics.attributed`. overall : (K,) row sums of X.
    component : 0-based; ``called`` so. unit : of X.

    Source: Chuang, Manning & Heer 2012; Sievert & Shirley 2014.
    """
    names, places = [safe(word, 24) for word in words], np.arange(len(words))
    figure = Sketch()
    for values, label, color in (
        (overall, "in all documents", translucent(MUTED, 0.45)),
        (in_topic, "in this topic", component_color(component)),
    ):
        figure.add_bar(
            x=values,
            y=places,
            orientation="h",
            name=label,
            marker={"color": color, "line": {"width": 0}},
            text=names,
            textposition="none",
            hovertemplate="%{text}: %{x:,.4~g} " + label + "<extra></extra>",
        )
    figure.update_layout(barmode="overlay", bargap=0.25)
    figure.update_xaxes(title=safe(unit or "sum over documents", 40), rangemode="tozero")
    figure.update_yaxes(
        tickvals=places, ticktext=names, range=[len(names) - 0.4, -0.6], zeroline=False
    )
    name = f"{component + 1} ({safe(called, 40)})" if called else f"{component + 1}"
    title = f"{len(names)} most relevant words of component {name}"
    return layout(figure, title, 130 + BAR * len(names), margin={"l": 150, "t": 76})


def class_map(found: ClassShares, label: str, called: Sequence[str] = ()) -> go.Figure:
    """Mean share of each component (rows) in each class of a label (columns).

    found : of one factorization, (R, C). called : R names of components.
    """
    R, C = found.mean.shape
    names = [safe(name, 26) for name in numbered(called, R)]
    classes = [f"{safe(each, 20)}" for each in found.classes]
    figure = Sketch().add_heatmap(
        z=found.mean,
        x=list(range(C)),
        y=list(range(R)),
        customdata=np.array(
            [
                [[name, f"{each} ({n:,})"] for each, n in zip(classes, found.counts, strict=True)]
                for name in names
            ]
        ),
        zmin=0,
        colorscale=SCALE,
        colorbar={"title": "mean share", "tickformat": ".0%", "thickness": 12},
        hovertemplate="component %{customdata[0]} in %{customdata[1]}: %{z:.1%}<extra></extra>",
        **({"texttemplate": "%{z:.0%}"} if C <= MOST_NUMBERED else {}),
    )
    slanted = {"tickangle": -40} if sum(map(len, classes)) > 90 else {}
    figure.update_xaxes(tickvals=list(range(C)), ticktext=classes, showgrid=False, **slanted)
    figure.update_yaxes(
        tickvals=list(range(R)), ticktext=names, autorange="reversed", showgrid=False
    )
    bottom = 100 if slanted else 40
    title = f"Mean share of each component by {safe(label, 40)}"
    margin: dict[str, object] = {"l": 190 if any(called) else 50, "b": bottom}
    return layout(figure, title, 60 + bottom + ROW * R, margin=margin)


def period_lines(
    found: PeriodShares, label: str, called: Sequence[str] = (), chosen: int | None = None
) -> go.Figure:
    """Mean share of each component over periods, with a band of one standard error.

    called : R names of components. chosen : the one that is brought forward; others are grey.
    """
    names = numbered(called, len(found.mean))
    days = found.periods.astype(str)
    error, figure = np.nan_to_num(found.error), Sketch()
    colors = [
        component_color(r) if chosen in (None, r) else translucent(MUTED, 0.5)
        for r in range(len(names))
    ]
    for r, color in enumerate(colors):
        if chosen in (None, r):
            edge = np.concatenate([found.mean[r] + error[r], (found.mean[r] - error[r])[::-1]])
            figure.add_scatter(
                x=[*days, *days[::-1]],
                y=edge,
                mode="lines",
                fill="toself",
                fillcolor=translucent(component_color(r), 0.2),
                line={"width": 0},
                hoverinfo="skip",
                showlegend=False,
            )
        figure.add_scatter(
            x=days,
            y=found.mean[r],
            mode="lines+markers",
            line={"color": color, "width": 2},
            marker={"color": color, "size": 5},
            customdata=np.column_stack([found.error[r], found.counts]),
            hovertemplate=f"component {safe(names[r], 40)}, %{{x}}: %{{y:.1%}} ± "
            "%{customdata[0]:.1%}, %{customdata[1]:,} observations<extra></extra>",
            showlegend=False,
        )
    top = float(np.max(found.mean + error))
    notes = [
        {
            "text": f'<span style="color:{colors[r]}">●</span> {safe(names[r], 22)}',
            "x": 1,
            "xref": "paper",
            "xanchor": "left",
            "xshift": 8,
            "y": float(place),
            "yref": "paper",
            "yanchor": "middle",
            "showarrow": False,
            "font": {"size": 12},
        }
        for r, place in enumerate(_apart(found.mean[:, -1] / (1.05 * top)))
    ]
    figure.update_layout(annotations=notes)
    figure.update_xaxes(title=safe(label, 40), type="date", showgrid=False)
    figure.update_yaxes(range=[0, 1.05 * top], tickformat=".0%", title="mean share")
    title = f"Mean share of each component by {found.unit}"
    return layout(figure, title, 400, margin={"r": BESIDE})


def _apart(heights: np.ndarray) -> np.ndarray:
    """Heights from 0 to 1, moved as little as it takes that names at them do not overlap."""
    order, gap = np.argsort(heights, kind="stable"), min(NAME, 1.0 / max(heights.size - 1, 1))
    places, lowest = np.empty(heights.size), 0.0
    for number, r in enumerate(order):
        left = heights.size - 1 - number
        places[r] = lowest = min(max(float(heights[r]), lowest), 1.0 - gap * left)
        lowest += gap
    return places
