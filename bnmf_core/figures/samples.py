"""The weights on screen: strips, shares, classes; who changes group; who is together how often."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.core.names import numbered, percent
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    INK,
    LINE,
    MUTED,
    PAPER,
    component_color,
    component_titles,
    layout,
    safe,
    translucent,
)

# Columns of a strip: of more observations, neighbours in the order are averaged.
MOST_COLUMNS = 400
# Of more observations than this names do not fit; of more classes none are drawn.
MOST_NAMED = 40
MOST_CLASSES = 20
# Maximum number of classes that are all labelled; of more, every second one is.
MOST_BESIDE = 12
EDGE = "#FFFFFF"
# Weights above this quantile of their component are as dark as it.
BRIGHTEST = 0.995
NAMES = 150
# Opacity of the shares of unselected components.
PALE = 0.25
# Pixels: of the strips, and of the pictures below them.
HEIGHT, BELOW = 560, 360
# Characters of the names of so few observations, and of more; those that fit side by side.
FEW, LONG, SHORT, ACROSS = 20, 24, 14, 110
# Parts of the height: weights, shares, classes; and what is left between them.
PARTS, BETWEEN = (5.0, 3.0, 3.0), 0.03


def sample_strips(
    W: np.ndarray,
    shares: np.ndarray,
    order: np.ndarray,
    groups: np.ndarray,
    observations: Sequence[str],
    classes: Sequence[str] | None = None,
    called: Sequence[str] = (),
    chosen: int | None = None,
    sample: int | None = None,
    amounts: np.ndarray | None = None,
) -> go.Figure:
    """Weights, shares and classes of all observations in an order, such as group by group.

    Parameters
    ----------
    W, shares : (R, N), of components that have these numbers everywhere. order : (N,) indices.
    groups : (N,) the component of each observation; −1 for none. observations : N names.
    classes : N words, "" where there is none; None: no classes. called : R names of components.
    chosen : the component that is framed, and whose shares stand out. sample : the observation
    that is framed. The customdata of a bar is the index of the observation in its middle.
    amounts : (R, N), what each component makes of an observation, stacked in place of its shares.

    Groups are separated and labelled with their sizes where the order keeps each together.
    """
    rank, count = W.shape
    edges = np.linspace(0, count, min(count, MOST_COLUMNS) + 1).astype(int)
    x = (edges[:-1] + edges[1:]) / 2
    brightest = np.maximum(np.quantile(W, BRIGHTEST, axis=1, keepdims=True), 1e-300)
    heat = np.minimum(_averaged((W / brightest)[:, order], edges), 1.0)
    figure = Sketch()
    # Each row has a part of the colour scale for itself: its number plus its value.
    scale = [
        [(r + end) / rank, color]
        for r in range(rank)
        for end, color in ((0.0, PAPER), (0.999, component_color(r)))
    ]
    figure.add_heatmap(
        x=x,
        y=list(range(rank)),
        z=np.arange(rank)[:, None] + 0.999 * heat,
        customdata=heat,
        zmin=0,
        zmax=rank,
        colorscale=[[0.0, PAPER], *scale[1:], [1.0, scale[-1][1]]],
        showscale=False,
        xaxis="x",
        yaxis="y",
        hovertemplate="component %{y}: %{customdata:.2f} of its largest weights<extra></extra>",
    )
    stacked = shares if amounts is None else amounts
    mean, width = _averaged(stacked[:, order], edges), np.diff(edges)
    value_format = "%{y:.0%}" if amounts is None else "%{y:,.4~g}"
    # Stacked from below: the component of most observations first.
    held = np.bincount(groups[groups >= 0], minlength=rank)
    for r in np.argsort(-held, kind="stable").tolist():
        figure.add_bar(
            x=x,
            y=mean[r],
            width=width,
            customdata=order[x.astype(int)],
            marker={"color": component_color(r), "line": {"width": 0}},
            opacity=1.0 if chosen in (None, r) else PALE,
            showlegend=False,
            xaxis="x",
            yaxis="y2",
            hovertemplate=f"component {r + 1}: {value_format}<extra></extra>",
        )
    if chosen is not None:
        frame = {"color": component_color(chosen), "width": 2}
        box = {"x0": 0, "x1": 1, "y0": chosen - 0.5, "y1": chosen + 0.5}
        figure.add_shape(type="rect", line=frame, xref="x domain", yref="y", **box)
    words = sorted({each for each in classes or () if each})
    words = words if 1 < len(words) <= MOST_CLASSES else []
    if words:
        held = np.array([[each == word for each in classes or ()] for word in words], dtype=float)
        figure.add_heatmap(
            x=x,
            y=list(range(len(words))),
            z=_averaged(held[:, order], edges),
            zmin=0,
            zmax=1,
            colorscale=[[0.0, PAPER], [1.0, INK]],
            showscale=False,
            xaxis="x",
            yaxis="y3",
            hovertext=[[safe(word)] * (edges.size - 1) for word in words],
            hovertemplate="%{hovertext}: %{z:.0%} of these<extra></extra>",
        )
    places = _places(3 if words else 2)
    top, middle, *last = places
    figure.update_layout(
        yaxis={
            "domain": top,
            "tickvals": list(range(rank)),
            "ticktext": component_titles(rank, called, NAMES, most=1),
            "autorange": "reversed",
            "showgrid": False,
        },
        yaxis2={"domain": middle, "showgrid": False}
        | (
            {"range": [0, 1], "tickformat": ".0%"}
            if amounts is None
            else {"range": [0, float(mean.sum(axis=0).max()) or 1.0], "tickformat": "~s"}
        ),
        barmode="stack",
        bargap=0,
    )
    if last:
        figure.update_layout(
            yaxis3={
                "domain": last[0],
                "tickvals": list(range(len(words))),
                "ticktext": [
                    "" if len(words) > MOST_BESIDE and row % 2 else safe(word, 18)
                    for row, word in enumerate(words)
                ],
                "autorange": "reversed",
                "showgrid": False,
            }
        )
    named = count <= MOST_NAMED
    below = [safe(observations[n], LONG if count <= FEW else SHORT) for n in order if named]
    longest = max(map(len, below), default=0)
    slanted = longest * count > ACROSS
    figure.update_layout(
        xaxis={
            "range": [0, count],
            "showgrid": False,
            "zeroline": False,
            "showticklabels": named,
            "tickvals": x.tolist() if named else [],
            "ticktext": below,
            "tickangle": 45 if slanted else 0,
            "anchor": "free",
            "position": 0,
        }
    )
    notes = _part(figure, groups[order], count)
    if sample is not None:
        place = int(np.flatnonzero(order == sample)[0])
        frame = {"x0": place, "x1": place + 1, "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
        figure.add_shape(type="rect", line={"color": INK, "width": 2}, **frame)
        name = {"x": place + 0.5, "y": 0, "yref": "paper", "yanchor": "top", "showarrow": False}
        # A frame at the right has its name at its left.
        end = "right" if 2 * place > count else "left"
        notes += [] if named else [{"text": safe(observations[sample], 40), "xanchor": end, **name}]
    figure.update_layout(annotations=notes)
    what = "shares" if amounts is None else "totals"
    shown = f"Weights, {what} and classes" if words else f"Weights and {what}"
    title = f"{shown} of {count:,} observations"
    bottom = (30 + 4 * longest if slanted else 40) if named else 16
    margin: dict[str, object] = {"l": 160 if any(called) else 70, "t": 66, "b": bottom}
    if slanted:  # the last name ends at the right of its column
        margin["r"] = 16 + 4 * longest
    return layout(figure, title, HEIGHT, margin=margin)


def _averaged(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """(k, bins) means of values (k, N) between the edges."""
    return np.add.reduceat(values, edges[:-1], axis=1) / np.diff(edges)


def _places(count: int) -> list[list[float]]:
    """Domains from the top down, in the proportion of ``PARTS``."""
    parts = np.array(PARTS[:count]) / sum(PARTS[:count]) * (1 - BETWEEN * (count - 1))
    tops = 1 - np.concatenate([[0.0], np.cumsum(parts + BETWEEN)])
    return [[float(tops[i] - parts[i]), float(tops[i])] for i in range(count)]


def _part(figure: Sketch, groups: np.ndarray, count: int) -> list[dict[str, object]]:
    """A line between groups, and notes above each of how many observations it has.

    Nothing where another order has torn groups apart.
    """
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    if starts.size > np.unique(groups).size:
        return []
    notes: list[dict[str, object]] = []
    for a, b in zip(starts, [*starts[1:], count], strict=True):
        if a:
            edge = {"x0": int(a), "x1": int(a), "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
            figure.add_shape(type="line", line={"color": EDGE, "width": 2}, **edge)
        if b - a > 0.02 * count:
            notes.append(
                {
                    "x": float(a + b) / 2,
                    "y": 1,
                    "yref": "paper",
                    "yanchor": "bottom",
                    "text": f"{b - a:,}",
                    "showarrow": False,
                }
            )
    return notes


def sample_composition(
    shares: np.ndarray, names: Sequence[str], observation: str, called: Sequence[str] = ()
) -> go.Figure:
    """The shares (m, R) of one observation in m factorizations, each a stacked bar.

    names : m names of factorizations. called : R names of components.
    """
    figure = Sketch()
    for r, name in enumerate(numbered(called, shares.shape[1])):
        figure.add_bar(
            x=shares[:, r],
            y=["<br>".join(safe(part, 18) for part in each.split(" · ")) for each in names],
            orientation="h",
            marker={"color": component_color(r), "line": {"width": 0}},
            # A number stands where it fits.
            text=[safe(name, 12) if share >= 0.08 else "" for share in shares[:, r]],
            textposition="inside",
            textangle=0,
            insidetextanchor="middle",
            hovertemplate=f"component {safe(name)}: %{{x:.1%}}<extra></extra>",
            showlegend=False,
        )
    figure.update_xaxes(range=[0, 1], tickformat=".0%", showgrid=False)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_layout(barmode="stack", bargap=0.3)
    return layout(figure, f"Shares of components in {safe(observation)}", BELOW)


def composition_table(
    shares: np.ndarray, names: Sequence[str], called: Sequence[str] = ()
) -> pd.DataFrame:
    """The same as numbers: a row per factorization."""
    columns = numbered(called, shares.shape[1])
    table = pd.DataFrame(shares, columns=[f"share of {name}" for name in columns])
    return table.assign(factorization=list(names))


def group_flow(
    changes: np.ndarray, names: tuple[str, str], called: Sequence[str] = ()
) -> go.Figure:
    """Groups under one factorization at the left, under another at the right.

    changes : (R, R) observations in group i of the first and j of the second. Those that stay are
    grey. names : of the two. called : R names of components.
    """
    rank = len(changes)
    i, j = np.nonzero(changes)
    colors = [
        translucent(MUTED, 0.35) if a == b else translucent(component_color(int(a)), 0.7)
        for a, b in zip(i, j, strict=True)
    ]
    text = [safe(name, 18) if name else str(r + 1) for r, name in enumerate(called or [""] * rank)]
    figure = Sketch()
    figure.add(
        "sankey",
        arrangement="fixed",
        node={
            "label": text * 2,
            "color": [component_color(r) for r in range(rank)] * 2,
            "x": [0.001] * rank + [0.999] * rank,
            "y": [*_middles(changes.sum(axis=1)), *_middles(changes.sum(axis=0))],
            "pad": 6,
            "thickness": 10,
            "hovertemplate": "component %{label}: %{value:,}<extra></extra>",
        },
        link={
            "source": i.tolist(),
            "target": (j + rank).tolist(),
            "value": changes[i, j].tolist(),
            "color": colors,
            "hovertemplate": "%{value:,} from %{source.label} to %{target.label}<extra></extra>",
        },
    )
    moved = 1.0 - np.trace(changes) / max(changes.sum(), 1)
    title = f"{percent(moved)} change group from {safe(names[0])} to {safe(names[1])}"
    return layout(figure, title, BELOW, margin={"l": 16, "r": 16, "b": 16})


def _middles(sizes: np.ndarray) -> list[float]:
    """Where the middle of each box lies, one below the other."""
    parts = np.maximum(sizes / max(sizes.sum(), 1), 1e-3)
    parts = parts / parts.sum()
    return np.clip(np.cumsum(parts) - parts / 2, 0.001, 0.999).tolist()


def consensus_picture(consensus: np.ndarray, groups: np.ndarray, of: str) -> go.Figure:
    """How often two observations share a group, (n, n), in the order of the ``groups`` (n,).

    of : what was counted, as "120 optima".
    """
    figure = Sketch().add_heatmap(
        z=consensus,
        zmin=0,
        zmax=1,
        colorscale=[[0.0, PAPER], [1.0, LINE]],
        colorbar={"title": "share", "thickness": 10, "tickformat": ".0%"},
        hovertemplate=f"together in %{{z:.0%}} of {safe(of)}<extra></extra>",
    )
    starts = np.flatnonzero(np.diff(groups, prepend=groups[0] - 1))
    middles = (starts + np.append(starts[1:], groups.size)) / 2 - 0.5
    # Numbers that would stand on each other are left out.
    apart = np.diff(middles, prepend=-groups.size) > groups.size / 25
    starts, middles = starts[apart], middles[apart]
    ticks = {
        "tickvals": middles.tolist(),
        "tickangle": 0,
        "ticktext": [
            component_titles(int(g) + 1, (), 0)[-1] if g >= 0 else "–" for g in groups[starts]
        ],
        "showgrid": False,
    }
    figure.update_xaxes(constrain="domain", **ticks)
    figure.update_yaxes(autorange="reversed", scaleanchor="x", constrain="domain", **ticks)
    return layout(figure, f"Consensus of {safe(of)}", BELOW, margin={"b": 30})
