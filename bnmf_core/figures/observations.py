"""Observations as a person sees them: images, curves, bars, a map of pixels, words or a table."""

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import clean_names, in_digits
from bnmf_core.figures.components import pictures
from bnmf_core.figures.data import HEIGHT, block_means
from bnmf_core.figures.gallery import MOST_BARS
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.spectra import on_axis
from bnmf_core.figures.style import INK, LINE, layout, picture_at, safe
from bnmf_core.figures.substitutions import substitutions
from bnmf_core.numerics.matrix import dense, only_yes_and_no, stored

IMAGES, MAP, WORDS, CURVES, BARS, TABLE = "images", "map", "words", "curves", "bars", "table"
# Observations that are shown at once; images depend on their shape.
AT_ONCE = {MAP: 4, WORDS: 6, CURVES: 4, BARS: 4}
MOST_IMAGES = 24
# Features that a row of a table has room for, rows of observations, and rows and columns where
# observations are columns.
MOST_COLUMNS, FEW_ROWS, MOST_ROWS, COLUMNS = 30, 9, 200, 6
# Pixels of a table below its title, and of its rows and names.
TABLE_HEIGHT, ROW, NAMES = HEIGHT - 36, 34, 130
# Of a text; labels that are shown beside an observation.
STRONGEST, LABELS = 8, 2
# Bars of features whose scales differ by more than this cannot be compared.
COMPARABLE = 100.0
MOST_TICKS = 24


def kind_of(dataset: Dataset) -> str:
    """How observations look to a person: as images, a map, words, curves, bars or a table."""
    if dataset.image_shape is not None:
        kind = IMAGES
    elif dataset.map_shape is not None:
        kind = MAP
    elif dataset.of_words:
        kind = WORDS
    elif dataset.named and only_yes_and_no(stored(dataset.X)):
        kind = TABLE
    elif dataset.axis is not None:
        kind = CURVES
    elif dataset.D > MOST_BARS:
        kind = TABLE if places_of(dataset) is None else CURVES
    else:
        kind = TABLE if places_of(dataset) is None and not _comparable(dataset) else BARS
    return kind


def places_of(dataset: Dataset) -> np.ndarray | None:
    """(D,) places of features on an axis: the numbers in their names, or 1 to D without names."""
    if dataset.axis is not None:
        return dataset.axis.values
    if not dataset.named:
        return np.arange(1.0, dataset.D + 1)
    try:
        places = np.array([float(name) for name in dataset.features])
    except ValueError:
        return None
    steps = np.diff(places)
    in_order = bool(np.isfinite(places).all() and ((steps > 0).all() or (steps < 0).all()))
    return places if in_order else None


def _comparable(dataset: Dataset) -> bool:
    values = stored(dataset.X)
    if bool((values == np.round(values)).all()):
        return True
    # By blocks of observations, so that a sparse matrix does not become a dense one.
    size = 4096
    blocks = [dense(dataset.X[:, n : n + size]) for n in range(0, dataset.N, size)]
    largest = np.max([block.max(axis=1) for block in blocks], axis=0)
    largest = largest[largest > 0]
    return bool(largest.max() <= COMPARABLE * largest.min())


def at_once(dataset: Dataset) -> int:
    """How many observations one view shows."""
    kind = kind_of(dataset)
    if kind == IMAGES:
        count = math.prod(_grid(dataset))
    elif kind == TABLE:
        count = FEW_ROWS if dataset.D <= MOST_COLUMNS else COLUMNS
    else:
        count = AT_ONCE[kind]
    return min(count, dataset.N)


def values_of(dataset: Dataset, chosen: np.ndarray) -> np.ndarray:
    """(D, n) entries of the chosen observations; NaN where an entry is missing."""
    part = dense(dataset.X[:, chosen])
    return part if dataset.mask is None else np.where(dataset.mask[:, chosen], part, np.nan)


def sample_images(dataset: Dataset, chosen: np.ndarray) -> go.Figure:
    """The chosen observations as images on one grey scale; a missing pixel is transparent."""
    shape = dataset.image_shape or (1, 1)
    columns, rows = _grid(dataset)
    if len(chosen) == 1:
        columns = rows = 1
    values = values_of(dataset, chosen)
    sources = pictures(
        np.nan_to_num(values),
        shape,
        float(dataset.X.max()),
        None if dataset.mask is None else ~np.isnan(values),
    )
    x, y = np.arange(len(chosen)) % columns + 0.5, np.arange(len(chosen)) // columns
    figure = Sketch()
    figure.update_layout(
        images=[
            picture_at(source, float(x[i]), float(y[i]), 0.92, 0.78)
            for i, source in enumerate(sources)
        ],
        annotations=[
            _note(_short(dataset, n), x=float(x[i]), y=float(y[i]) + 0.78, yanchor="top")
            for i, n in enumerate(chosen)
        ],
    )
    figure.add_hover_areas(x, y + 0.4, [_long(dataset, n) for n in chosen], 50)
    figure.update_xaxes(visible=False, range=[0, columns], fixedrange=True)
    figure.update_yaxes(visible=False, range=[rows, 0], fixedrange=True)
    title = "Observations as images" if len(chosen) > 1 else "Observation as an image"
    return layout(figure, title, HEIGHT, margin={"l": 4, "b": 4})


def sample_profiles(dataset: Dataset, chosen: np.ndarray) -> go.Figure:
    """The chosen observations one below the other, each on its own scale: curves or bars."""
    figure = Sketch()
    _profiles(figure, dataset, chosen, "x", [0.0, 1.0])
    several = "s" * (len(chosen) > 1)
    drawn = "bars" if kind_of(dataset) == BARS else f"{'' if several else 'a '}curve{several}"
    title = f"Observation{several} as {drawn}"
    bottom = 100 if "tickangle" in _ticks(dataset) else 50
    return layout(figure, title, HEIGHT, margin={"l": 60, "t": 34, "b": bottom}, bargap=0.15)


def pixel_map(dataset: Dataset, chosen: np.ndarray) -> go.Figure:
    """The mean of every pixel in its place, and the curves of the chosen, numbered pixels."""
    height, width = dataset.map_shape or (1, dataset.N)
    means = np.asarray(dataset.X.mean(axis=0)).ravel().reshape((height, width), order="F")
    cells, row_size, column_size = block_means(means)
    figure = Sketch().add_heatmap(
        z=cells,
        x=np.arange(cells.shape[1]) * column_size + (column_size - 1) / 2 + 1,
        y=np.arange(cells.shape[0]) * row_size + (row_size - 1) / 2 + 1,
        colorscale="Greys_r",
        showscale=False,
        hovertemplate="row %{y:.0f}, column %{x:.0f}: mean %{z:.4g}<extra></extra>",
    )
    figure.add_scatter(
        x=chosen // height + 1,
        y=chosen % height + 1,
        mode="markers+text",
        marker={"size": 20, "color": "#FFFFFF", "line": {"width": 1, "color": INK}},
        text=[f"{i + 1}" for i in range(len(chosen))],
        textfont={"size": 12, "color": INK},
        hoverinfo="skip",
        showlegend=False,
    )
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False, "constrain": "domain"}
    figure.update_xaxes(domain=[0.0, 0.5], range=[0.5, width + 0.5], **bare)
    figure.update_yaxes(range=[height + 0.5, 0.5], scaleanchor="x", **bare)
    _profiles(figure, dataset, chosen, "x2", [0.6, 1.0], first=2)
    title = f"Mean of {height:,}×{width:,} pixels, and the curves of {len(chosen)}"
    return layout(figure, title, HEIGHT, margin={"l": 4, "t": 40, "b": 44})


def _profiles(
    figure: Sketch,
    dataset: Dataset,
    chosen: np.ndarray,
    axis: str,
    across: Sequence[float],
    first: int = 1,
) -> None:
    """Rows of curves or bars over one axis; the first has the y axis of this number."""
    classes, places = substitutions(dataset.features), places_of(dataset)
    order = np.arange(dataset.D) if classes is None else classes.order
    values, bars = values_of(dataset, chosen)[order], kind_of(dataset) == BARS
    names = [safe(dataset.features[d], 40) for d in order]
    x = np.arange(1.0, dataset.D + 1) if places is None else places
    notes, colors = [], LINE if classes is None else classes.colors
    for i, n in enumerate(chosen):
        number = str(first + i) if first + i > 1 else ""
        shared = {
            "x": x,
            "y": values[:, i],
            "xaxis": axis,
            "yaxis": f"y{number}",
            "hovertext": names,
            "hovertemplate": "%{hovertext}: %{y:.4g}<extra></extra>",
            "showlegend": False,
        }
        if bars:
            figure.add_bar(marker={"color": colors, "line": {"width": 0}}, **shared)
        else:
            figure.add_scatter(mode="lines", line={"color": LINE, "width": 1.5}, **shared)
        largest = float(np.nanmax(values[:, i], initial=0.0)) or 1.0
        top, bottom = 1 - (i + 0.28) / len(chosen), 1 - (i + 1) / len(chosen)
        figure.update_layout(
            {
                f"yaxis{number}": {
                    "domain": [bottom, top],
                    "range": [0, 1.05 * largest],
                    "tickvals": [0, largest],
                    "ticktext": ["0", in_digits(largest)],
                    "anchor": axis,
                    "showgrid": False,
                    "zeroline": True,
                }
            }
        )
        title = f"{i + 1} · {_long(dataset, n)}" if first > 1 else _long(dataset, n)
        place = {"xref": "paper", "yref": "paper", "x": across[0], "y": top}
        notes.append(_note(title, xanchor="left", yanchor="bottom", **place))
    last = f"y{first + len(chosen) - 1}" if first + len(chosen) > 2 else "y"
    below = _ticks(dataset) | {"anchor": last, "domain": list(across)}
    figure.update_layout({"annotations": notes, f"xaxis{axis[1:]}": below})


def _ticks(dataset: Dataset) -> dict[str, object]:
    """The axis of features: names where they fit, groups of substitutions, or places."""
    classes, title = substitutions(dataset.features), safe(dataset.feature_noun, 24)
    if dataset.axis is not None:
        return on_axis(dataset.axis, dataset.feature_noun)
    if classes is not None:
        ticks: dict[str, object] = {
            "tickvals": [block.middle + 1 for block in classes.blocks],
            "ticktext": [safe(block.name) for block in classes.blocks],
        }
    elif places_of(dataset) is None and dataset.D <= MOST_TICKS:
        ticks = {
            "tickvals": list(range(1, dataset.D + 1)),
            "ticktext": [safe(name, 14) for name in dataset.features],
            "tickangle": -45,
        }
    else:
        ticks = {"showticklabels": places_of(dataset) is not None}
    return {"title": {"text": title}, "showgrid": False, "zeroline": False, **ticks}


def strongest_words(dataset: Dataset, chosen: np.ndarray) -> list[tuple[str, str, str]]:
    """For each of the chosen texts its name, its labels, and its largest entries with values."""
    found = []
    for n, column in zip(chosen, np.nan_to_num(values_of(dataset, chosen)).T, strict=True):
        strong = np.argsort(-column, kind="stable")[:STRONGEST]
        words = [f"{dataset.features[d]} {column[d]:.3g}" for d in strong if column[d] > 0]
        name, *labels = _fields(dataset, int(n))
        found.append((name, " · ".join(labels), " · ".join(words) or "no word"))
    return found


def as_in_a_file(dataset: Dataset, chosen: np.ndarray) -> pd.DataFrame:
    """The chosen observations with names, in rows if features are few, otherwise in columns."""
    in_rows = dataset.D <= MOST_COLUMNS
    values = values_of(dataset, chosen)[: None if in_rows else MOST_ROWS].astype(object)
    if only_yes_and_no(stored(dataset.X)):
        words = {0.0: "no", 1.0: "yes"}
        values = np.array([[words.get(value, "") for value in row] for row in values], dtype=object)
    heads = dataset.features if in_rows else [" · ".join(_fields(dataset, n)) for n in chosen]
    table = pd.DataFrame(values.T if in_rows else values).infer_objects()
    named = _named(dataset, chosen)
    if not in_rows:
        named = pd.DataFrame({dataset.feature_noun: list(dataset.features[:MOST_ROWS])})
    # A label may be called like a feature, and a table has no two columns of one name.
    table.columns = clean_names([*named.columns, *heads], "")[len(named.columns) :]
    return pd.concat([named, table], axis=1)


def _named(dataset: Dataset, chosen: np.ndarray) -> pd.DataFrame:
    """Names and the first labels of the chosen observations."""
    columns, heads = [[dataset.observations[n] for n in chosen]], ["observation"]
    for key, values in list(dataset.labels.items())[:LABELS]:
        columns.append([str(values[n]) for n in chosen])
        heads.append(key)
    return pd.DataFrame(dict(zip(clean_names(heads, "label"), columns, strict=True)))


def _fields(dataset: Dataset, n: int) -> list[str]:
    """The name of an observation and its first labels."""
    labels = [str(values[n]) for values in list(dataset.labels.values())[:LABELS]]
    return [one for one in (dataset.observations[n], *labels) if one]


def _long(dataset: Dataset, n: int) -> str:
    return " · ".join(safe(one, 24) for one in _fields(dataset, n))


def _short(dataset: Dataset, n: int) -> str:
    """The first label of an observation, or its name."""
    label = next((str(values[n]) for values in dataset.labels.values()), "")
    return safe(label or dataset.observations[n], 14)


def _grid(dataset: Dataset) -> tuple[int, int]:
    """Columns and rows of images that fit into a picture."""
    height, width = dataset.image_shape or (1, 1)
    columns = int(np.clip(round(6 * math.sqrt(height / width)), 3, 10))
    return columns, int(np.clip(round(MOST_IMAGES / columns), 2, 5))


def _note(text: str, **place: object) -> dict[str, object]:
    return {"text": text, "showarrow": False, "font": {"size": 12}, **place}


def page_of(dataset: Dataset, page: int = 1) -> np.ndarray:
    """The observations of a page, from 1 on; pixels of a map lie far from each other."""
    if kind_of(dataset) != MAP:
        count = at_once(dataset)
        return np.arange((page - 1) * count, min(page * count, dataset.N))
    height, width = dataset.map_shape or (1, dataset.N)
    places = [(y, x) for y in (0.25, 0.75) for x in (0.25, 0.75)]
    return np.unique([int(x * width) * height + int(y * height) for y, x in places])


def pages(dataset: Dataset) -> int:
    """How many pages of observations there are."""
    return 1 if kind_of(dataset) == MAP else -(-dataset.N // at_once(dataset))


def at_random(dataset: Dataset, rng: np.random.Generator) -> np.ndarray:
    """As many observations as one view shows, drawn at random, in their order."""
    return np.sort(rng.choice(dataset.N, at_once(dataset), replace=False))


def entries(dataset: Dataset, chosen: np.ndarray) -> pd.DataFrame:
    """The entries of the chosen observations: a row per feature, with names."""
    table = pd.DataFrame(values_of(dataset, chosen))
    table.columns = [f"{n + 1}. {dataset.observations[n]}" for n in chosen]
    table.insert(0, "feature", list(dataset.features))
    return table


def describe_selection(dataset: Dataset, chosen: np.ndarray) -> str:
    """Which observations are shown, in words."""
    what = "Pixels" if kind_of(dataset) == MAP else "Observations"
    if len(chosen) == dataset.N:
        return f"All {dataset.N:,} observations"
    if len(chosen) > 1 and (np.diff(chosen) == 1).all():
        return f"{what} {chosen[0] + 1:,}–{chosen[-1] + 1:,} of {dataset.N:,}"
    return f"{len(chosen)} of {dataset.N:,} {what.lower()}"
