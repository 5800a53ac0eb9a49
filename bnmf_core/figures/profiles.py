"""Profiles of components in small boxes: heights along the features, filled."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.figures.gallery import MOST_BARS
from bnmf_core.figures.sketch import Sketch
from bnmf_core.figures.style import component_color, translucent
from bnmf_core.figures.substitutions import Substitutions

# Features whose profile is drawn as a line; of more, the strongest are named.
MOST_ON_LINE = 1000
# How much of the ground a component's own colour hides; the colours of substitutions hide it all.
COVER = 0.75


@dataclass(frozen=True, eq=False)
class Profile:
    """A component's ``heights`` (D,) up to 1, to be drawn on this lower left corner."""

    heights: np.ndarray
    component: int
    corner: tuple[float, float]


def has_profiles(dataset: Dataset) -> bool:
    """Whether features are places on an axis or unnamed, so that a profile says more than names."""
    return dataset.D <= MOST_BARS or (dataset.D <= MOST_ON_LINE and not dataset.named)


def draw_profiles(
    figure: Sketch,
    profiles: Sequence[Profile],
    size: tuple[float, float],
    classes: Substitutions | None = None,
    **axes: str,
) -> None:
    """Fill profiles into boxes of this width and height: a trace a colour.

    The colour is the component's, or that of the class of substitutions, which are put in order.
    """
    outlines: dict[str, list[np.ndarray]] = {}
    for profile in profiles:
        for color, outline in _outlines(profile, size, classes):
            outlines.setdefault(color, []).append(outline)
    for color, found in outlines.items():
        # What is not a number parts one outline from the next.
        x, y = np.concatenate(found)[:-1].T
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            fill="toself",
            hoverinfo="skip",
            showlegend=False,
            line={"width": 0.5, "color": color},
            fillcolor=translucent(color, COVER if classes is None else 1.0),
            **axes,
        )


def _outlines(
    profile: Profile, size: tuple[float, float], classes: Substitutions | None
) -> Iterator[tuple[str, np.ndarray]]:
    """Colours and outlines (points, 2), each with a gap at its end."""
    heights = profile.heights
    if classes is None:
        parts = [(component_color(profile.component), 0, heights.size)]
    else:
        heights = heights[classes.order]
        parts = [(block.color, block.first, block.end) for block in classes.blocks]
    edges = np.linspace(0, 1, heights.size + 1)
    for color, first, end in parts:
        along = np.repeat(edges[first : end + 1], 2)
        up = np.concatenate([[0.0], np.repeat(heights[first:end], 2), [0.0]])
        x = profile.corner[0] + size[0] * along
        y = profile.corner[1] - size[1] * up
        yield color, np.vstack([np.column_stack([x, y]), [np.nan, np.nan]])
