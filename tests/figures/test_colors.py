"""Algorithms that stand beside each other on most pictures can be told apart by their hue."""

import colorsys
from itertools import combinations

import pytest

from bnmf_core.registry import ALGORITHMS

# Besides the samplers, what the examples compare them with.
BESIDE = ("random_restarts", "q_transform")
COMPARED = [a for a in ALGORITHMS.values() if a.family == "sampler" or a.key in BESIDE]


def hue_and_saturation(color: str) -> tuple[float, float]:
    """Degrees on the colour circle, and how far from grey, 0 to 1."""
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, saturation, _ = colorsys.rgb_to_hsv(red, green, blue)
    return 360 * hue, saturation


@pytest.mark.parametrize(("one", "other"), [(a.key, b.key) for a, b in combinations(COMPARED, 2)])
def test_no_two_share_a_hue(one, other):
    (hue, strong), (other_hue, other_strong) = (
        hue_and_saturation(ALGORITHMS[key].color) for key in (one, other)
    )
    if min(strong, other_strong) < 0.3:  # a grey beside a colour
        return
    apart = abs(hue - other_hue)
    assert min(apart, 360 - apart) >= 25
