"""The flow of components: boxes in columns, and bands from each to what becomes of it."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.compare.flow import COUNTERPART, Flow
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import component_color, ink, layout, picture_at, safe

# Half the width of a box, in distances between columns; the gap between boxes, in shares.
HALF_BOX, GAP = 0.17, 0.02
HEIGHT, TOP, BOTTOM = 450, 30, 10
# Minimum pixels of a box with words.
LEAST_FOR_WORDS = 13
# Total number of letters of all columns.
LETTERS = 104
# How dark a band is between components that are alike, and where they hardly are counterparts.
DARK, PALE = 0.6, 0.12
LARGEST_MARKER = 44


def flow_figure(
    flow: Flow,
    columns: Sequence[str],
    titles: Sequence[str],
    details: Sequence[str],
    pictures: Sequence[str] = (),
) -> go.Figure:
    """Boxes as high as the shares of components, and bands between them.

    customdata of a component's point is its column (0-based) and its number (1-based).

    Parameters
    ----------
    columns : what each factorization is called. titles, details : of every row of ``flow.nodes``,
        the text of its box, and its hover text in lines of HTML.
    pictures : of every row, an image as a data URI that stands in its box; none for words.
    """
    nodes = _placed(flow.nodes)
    total = float((nodes["top"] + nodes["height"]).max())
    pixels = (HEIGHT - TOP - BOTTOM) * nodes["height"].to_numpy() / total
    bands = _banded(flow.links, nodes)
    figure = Sketch()
    _add_links(figure, bands, columns)
    _add_components(figure, nodes, pixels, columns, details)
    figure.update_xaxes(
        tickvals=list(range(len(columns))),
        ticktext=[safe(name, 24) for name in columns],
        range=[-0.25, len(columns) - 0.75],
        side="top",
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    figure.update_yaxes(range=[total, 0], visible=False, fixedrange=True)
    # Words are no part of a trace: a click on one box would make those of the others pale.
    most = int(np.clip(LETTERS / len(columns), 8, 22))
    words = [
        _words(node, safe(title, most))
        for (_, node), title, high in zip(nodes.iterrows(), titles, pixels, strict=True)
        if high >= LEAST_FOR_WORDS and not pictures
    ]
    margin: dict[str, object] = {"l": 10, "r": 30, "t": TOP, "b": BOTTOM}
    boxes = nodes.apply(_box, axis=1).tolist()
    images = [
        picture_at(
            picture,
            node["column"],
            node["top"] + node["height"] / 2,
            2 * HALF_BOX,
            0.94 * node["height"],
            yanchor="middle",
            layer="above",
        )
        for (_, node), picture in zip(nodes.iterrows() if pictures else (), pictures, strict=True)
    ]
    figure = layout(figure, "", HEIGHT, margin=margin, hovermode="closest", images=images)
    shapes = [*(_band(link) for _, link in bands.iterrows()), *boxes]
    return figure.update_layout(shapes=shapes, annotations=words)


def _placed(nodes: pd.DataFrame) -> pd.DataFrame:
    """The nodes with ``top`` and ``height`` of their boxes; every column is centred."""
    nodes = nodes.assign(height=np.maximum(nodes["share"].to_numpy(float), 1e-3), top=0.0)
    most = int(nodes.groupby("column").size().max())
    for _, part in nodes.groupby("column"):
        rows = part.sort_values("place").index
        steps = nodes.loc[rows, "height"].to_numpy() + GAP
        nodes.loc[rows, "top"] = (most - len(rows)) * GAP / 2 + np.cumsum(steps) - steps
    return nodes


def _banded(links: pd.DataFrame, nodes: pd.DataFrame) -> pd.DataFrame:
    """The links with the colour of their left end and the four ends of their bands.

    Where several meet at a side of a box, each has a part of it, by the shares of the other ends.
    """
    boxes = nodes[["column", "component", "top", "height", "identity"]]
    left = boxes.rename(columns={"component": "left"}).add_suffix("_l")
    right = boxes.rename(columns={"component": "right"}).add_suffix("_r")
    found = links.astype({"column": int, "left": int, "right": int, "angle": float})
    found = found.assign(next=found["column"] + 1)
    found = found.merge(left, left_on=["column", "left"], right_on=["column_l", "left_l"])
    found = found.merge(right, left_on=["next", "right"], right_on=["column_r", "right_r"])
    for own, other, key in (("l", "r", "left"), ("r", "l", "right")):
        found = found.sort_values(f"top_{other}")
        groups = found.groupby(["column", key])[f"height_{other}"]
        scale = found[f"height_{own}"] / groups.transform("sum")
        found[f"end_{own}"] = found[f"top_{own}"] + scale * groups.cumsum()
        found[f"begin_{own}"] = found[f"end_{own}"] - scale * found[f"height_{other}"]
    return found


def _band(link: pd.Series) -> dict[str, object]:
    x0, x1 = link["column"] + HALF_BOX, link["next"] - HALF_BOX
    middle = (x0 + x1) / 2
    a, b, c, d = (link[name] for name in ("begin_l", "end_l", "begin_r", "end_r"))
    return {
        "type": "path",
        "path": f"M {x0},{a} C {middle},{a} {middle},{c} {x1},{c} "
        f"L {x1},{d} C {middle},{d} {middle},{b} {x0},{b} Z",
        "fillcolor": component_color(int(link["identity_l"])),
        "opacity": DARK + (PALE - DARK) * link["angle"] / COUNTERPART,
        "line": {"width": 0},
        "layer": "below",
    }


def _box(node: pd.Series) -> dict[str, object]:
    return {
        "type": "rect",
        "x0": node["column"] - HALF_BOX,
        "x1": node["column"] + HALF_BOX,
        "y0": node["top"],
        "y1": node["top"] + node["height"],
        "fillcolor": component_color(int(node["identity"])),
        "line": {"width": 0},
        "layer": "below",
    }


def _words(node: pd.Series, title: str) -> dict[str, object]:
    color = component_color(int(node["identity"]))
    return {
        "x": node["column"],
        "y": node["top"] + node["height"] / 2,
        "text": title,
        "font": {"size": 11, "color": ink(color)},
        "bgcolor": color,  # a name may be wider than its box
        "borderpad": 0,
        "showarrow": False,
    }


def _add_links(figure: go.Figure, bands: pd.DataFrame, columns: Sequence[str]) -> None:
    """Invisible points in the middle of every band, with hover text."""
    middle = bands[["begin_l", "end_l", "begin_r", "end_r"]].mean(axis=1)
    relation = {"kept": "partners", "split": "split off", "merged": "merged into"}
    words = [
        f"component {left} of {safe(columns[column])} → component {right} of "
        f"{safe(columns[column + 1])}<br>{relation[kind]}, {angle:.1f}° apart"
        for column, left, right, kind, angle in zip(
            bands["column"],
            bands["left"],
            bands["right"],
            bands["kind"],
            bands["angle"],
            strict=True,
        )
    ]
    figure.add_scatter(
        x=bands["column"] + 0.5,
        y=middle,
        mode="markers",
        marker={"size": 12, "opacity": 0.0},
        hovertext=words,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )


def _add_components(
    figure: go.Figure,
    nodes: pd.DataFrame,
    pixels: np.ndarray,
    columns: Sequence[str],
    details: Sequence[str],
) -> None:
    hover = [
        f"<b>{safe(columns[column])}, component {component}</b>: {share:.1%}<br>{detail}"
        for column, component, share, detail in zip(
            nodes["column"], nodes["component"], nodes["share"], details, strict=True
        )
    ]
    figure.add_scatter(
        x=nodes["column"],
        y=nodes["top"] + nodes["height"] / 2,
        mode="markers",
        marker={
            "size": np.clip(pixels, 8, LARGEST_MARKER),
            "symbol": "square",
            "color": "rgba(0, 0, 0, 0)",
        },
        customdata=nodes[["column", "component"]].to_numpy().tolist(),
        hovertext=hover,
        hovertemplate="%{hovertext}<extra></extra>",
        showlegend=False,
    )
