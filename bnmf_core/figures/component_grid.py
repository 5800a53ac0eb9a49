"""Components at a glance: a row per factorization, a column per component, and what varies."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go

from bnmf_core.compare.alignment import NO_COUNTERPART
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.compare.topics import RELEVANCE, aligned_words
from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.components import Profile, details, draw_profiles, has_profiles, pictures
from bnmf_core.figures.gallery import FRAME, shares
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import (
    LETTER,
    LINE,
    LINE_HEIGHT,
    MUTED,
    component_color,
    component_titles,
    layout,
    lines_of,
    picture_at,
    safe,
)
from bnmf_core.figures.substitutions import Substitutions, substitutions

# Pixels: what a row of cells usually has, what it is called, and a row of each kind.
WIDTH, NAME = 820, 120
IMAGE, LINES, WORDS = 96, 84, 108
# Above the rows: numbers and verdicts, then the scale of angles.
SCALE = 34
# A profile in its cell: what is beside it, above it, above it where substitutions are named, and
# where it stands.
BESIDE, ABOVE, NAMED_ABOVE, FOOT = 0.06, 0.06, 0.18, 0.78
# Pixels below the rows, and with a key to what colours are.
BELOW, KEY = 6, 26
# Names in a cell, and letters of one where components are few.
NAMED, LONGEST = 5, 22
# Fill of a circle: the verdict on a component.
MARKS = {"determined": "●", "provisional": "◐", "ambiguous": "○"}
# Maximum number of components with a word next to the mark.
SPELT = 9


@dataclass(frozen=True, eq=False)
class Bands:
    """Posterior states of the components of the first row.

    states : R words, "determined", "provisional" or "ambiguous". turned : (R,) degrees within which
    95 % of the draws turn each; NaN where no draws tell.
    """

    states: Sequence[str]
    turned: np.ndarray


def component_grid(
    dataset: Dataset,
    A: np.ndarray,
    angles: np.ndarray,
    names: Sequence[str],
    modes: Sequence[int],
    bands: Bands | None = None,
    called: Sequence[str] = (),
    relevance: float = RELEVANCE,
    chosen: int | None = None,
) -> go.Figure:
    """Images, profiles or strongest features of aligned components, with their angles.

    Parameters
    ----------
    A : (K, D, R) aligned bases. angles : (K, R) degrees to the first row's components.
    names : K, in which a line break is "<br>" and all else is text. modes : K, 0-based.
    bands : see :class:`Bands`; None where nothing is known. called : R names given by people.
    chosen : the component whose column is framed.
    """
    K, _, R = A.shape
    figure = Sketch()
    notes: list[dict[str, object]] = []
    if dataset.image_shape is not None:
        row = IMAGE
        images = [
            picture_at(source, r + 0.5, k + 0.04, 0.9, 0.74)
            for k, basis in enumerate(A)
            for r, source in enumerate(pictures(basis, dataset.image_shape))
        ]
        figure.update_layout(images=images)
    elif has_profiles(dataset):
        row, classes = LINES, substitutions(dataset.features)
        notes += _profiles(figure, A, classes)
    else:
        row = WORDS
        notes += _words(A, dataset, relevance, angles)
    _hover(figure, dataset, A, angles)
    # One factorization of which nothing else is known has no angles to show.
    scale = SCALE if K > 1 or bands is not None else 0
    shapes = _scale(figure, angles, modes, bands) if scale else []
    for k in range(K):
        notes.append(_note(names[k], -0.02, k + 0.42, "right"))
        for r in range(R if k else 0):
            alone = angles[k, r] > NO_COUNTERPART
            if alone:
                frame = FRAME | {"dash": "dot", "width": 1}
                box = {"x0": r + 0.04, "x1": r + 0.96, "y0": k + 0.02, "y1": k + 0.8}
                shapes.append({"type": "rect", "line": frame, **box})
            if scale:
                notes.append(_note(_angle(angles[k, r], R), r + 0.5, k + 0.89, "center"))
    if chosen is not None:
        frame = {"color": component_color(chosen), "width": 2}
        box = {"x0": chosen + 0.01, "x1": chosen + 0.99, "y0": -scale / row, "y1": K}
        shapes.append({"type": "rect", "line": frame, **box})
    above = component_titles(R, called, WIDTH / R)
    if bands is not None:
        above = [f"{one}<br>{_state(s, R)}" for one, s in zip(above, bands.states, strict=True)]
    if scale:
        notes.append(_note("0 to 90°", -0.02, -0.2, "right"))
    figure.update_xaxes(
        range=[0, R],
        tickvals=[r + 0.5 for r in range(R)],
        ticktext=above,
        side="top",
        tickangle=0,
        showgrid=False,
        zeroline=False,
        fixedrange=True,
    )
    top = 52 + LINE_HEIGHT * lines_of(above)
    figure.update_yaxes(visible=False, range=[K, -scale / row], fixedrange=True)
    figure.update_layout(annotations=notes, shapes=shapes)
    title = f"{R} components" if K == 1 else f"{R} components, a row per factorization"
    below = KEY if any(note["y"] == K for note in notes) else BELOW
    margin: dict[str, object] = {"l": NAME, "t": top, "b": below}
    height = int(top + below + scale + K * row)
    # A click anywhere in a cell is one on it.
    return layout(figure, title, height, margin=margin, hoverdistance=-1)


def _note(text: str, x: float, y: float, anchor: str) -> dict[str, object]:
    """Small text at a place of the grid; left of it where x is below 0."""
    position = {"xref": "paper", "x": 0, "xshift": -8} if x < 0 else {"x": x}
    return {
        "text": text,
        "y": y,
        "xanchor": anchor,
        "yanchor": "middle",
        "showarrow": False,
        "font": {"size": 11},
        "align": anchor,
        **position,
    }


def _angle(angle: float, R: int) -> str:
    if angle > NO_COUNTERPART and R <= SPELT:
        return "<b>no counterpart</b>"
    return f"<b>{angle:.0f}°</b>" if angle > SAME_MODE else f"{angle:.0f}°"


def _state(state: str, R: int) -> str:
    words = f"{MARKS[state]} {state}" if R <= SPELT else MARKS[state]
    return f'<span style="font-size:11px">{words}</span>'


def _profiles(
    figure: Sketch, A: np.ndarray, classes: Substitutions | None
) -> list[dict[str, object]]:
    """Shares of each component's sum along the features, on one scale per column.

    The notes name classes of substitutions above their bars, or below all where these are narrow.
    """
    K, D, R = A.shape
    shown = shares(A)
    height = shown / np.maximum(shown.max(axis=(0, 1)), 1e-300)
    above = ABOVE if classes is None else NAMED_ABOVE
    wide = 1 - 2 * BESIDE
    profiles = [
        Profile(height[k, :, r], r, (r + BESIDE, k + FOOT)) for k in range(K) for r in range(R)
    ]
    draw_profiles(figure, profiles, (wide, FOOT - above), classes)
    if classes is None:
        return []
    if not classes.fit(WIDTH * wide / R):
        return [_note(f"Bars from the left: {classes.key()}", 0.0, K, "left") | {"yanchor": "top"}]
    return [
        note
        for k in range(K)
        for r in range(R)
        for note in classes.names_above(
            r + BESIDE + wide / D / 2, wide / D, y=k + above / 2, yanchor="middle"
        )
    ]


def _words(
    A: np.ndarray, dataset: Dataset, relevance: float, angles: np.ndarray
) -> list[dict[str, object]]:
    """The strongest features in every cell; those that the first row lacks are bold."""
    R = A.shape[2]
    longest = min(LONGEST, int(WIDTH / R / LETTER))
    found = aligned_words(A, dataset.features, NAMED, relevance)
    lines: dict[tuple[int, int], list[str]] = {}
    columns = (found[key] for key in ("factorization", "component", "word", "changed"))
    for k, r, word, changed in zip(*columns, strict=True):
        text = safe(word, longest)
        text = f"<b>{text}</b>" if changed and angles[k, r] <= NO_COUNTERPART else text
        lines.setdefault((int(k), int(r)), []).append(text)
    return [_note("<br>".join(some), r + 0.5, k + 0.4, "center") for (k, r), some in lines.items()]


def _hover(figure: Sketch, dataset: Dataset, A: np.ndarray, angles: np.ndarray) -> None:
    """Hover text of the cells."""
    K, _, R = A.shape
    texts = [
        f"component {r + 1}, {angles[k, r]:.1f}° from the first row's"
        + ("<br>" + one if one else "")
        for k in range(K)
        for r, one in enumerate(details(dataset, A[k]))
    ]
    x, y = np.tile(np.arange(R) + 0.5, K), np.repeat(np.arange(K) + 0.42, R)
    figure.add_hover_areas(x, y, texts, 44, customdata=np.tile(np.arange(R), K))


def _scale(
    figure: Sketch, angles: np.ndarray, modes: Sequence[int], bands: Bands | None
) -> list[dict[str, object]]:
    """Over each column an axis of angles: green up to 15°, a bar for draws, dots for the rows."""
    K, R = angles.shape
    left, wide, y = 0.08, 0.84, -0.2
    shapes: list[dict[str, object]] = []
    for r in range(R):
        ends = {
            "x0": r + left,
            "x1": r + left + wide * SAME_MODE / 90,
            "y0": y - 0.09,
            "y1": y + 0.09,
        }
        fill = {"fillcolor": "rgba(0, 158, 115, 0.25)", "line": {"width": 0}, "layer": "below"}
        shapes.append({"type": "rect", **ends, **fill})
        axis = {"x0": r + left, "x1": r + left + wide, "y0": y, "y1": y}
        shapes.append({"type": "line", "line": {"color": MUTED, "width": 0.7}, **axis})
        if bands is not None and np.isfinite(bands.turned[r]):
            reach = wide * min(float(bands.turned[r]), 90.0) / 90
            bar = {"x0": r + left, "x1": r + left + reach, "y0": y - 0.045, "y1": y + 0.045}
            shapes.append({"type": "rect", "fillcolor": LINE, "line": {"width": 0}, **bar})
    if K > 1:
        figure.add_scatter(
            x=[r + left + wide * angles[k, r] / 90 for k in range(1, K) for r in range(R)],
            y=[y] * (K - 1) * R,
            mode="markers",
            marker={
                "size": 7,
                "color": [mode_color(modes[k]) for k in range(1, K) for _ in range(R)],
                "line": {"width": 0.5, "color": "#FFFFFF"},
            },
            hovertext=[
                f"mode {modes[k] + 1}: {angles[k, r]:.1f}°" for k in range(1, K) for r in range(R)
            ],
            hovertemplate="%{hovertext}<extra></extra>",
            showlegend=False,
        )
    return shapes
