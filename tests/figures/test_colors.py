"""Colours that stand beside each other can be told apart, also by eyes that see few of them."""

import colorsys
import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from plotly.colors import get_colorscale, unlabel_rgb

from bnmf_core.boolean.figures import tiles
from bnmf_core.figures import initialization, style
from bnmf_core.registry import ALGORITHMS
from bnmf_core.rrt.figures import elbo
from tests.figures.vision import SEEN_BY, difference, lab, least, nearest

FIGURES = Path(style.__file__).parent
# Besides the samplers, what the examples compare them with.
BESIDE = ("random_restarts", "q_transform")
COMPARED = [a for a in ALGORITHMS.values() if a.family == "sampler" or a.key in BESIDE]
# CIEDE2000: two small marks that differ by less have to differ in something else as well.
NEAR = 10.0
PAIRS = list(combinations(ALGORITHMS, 2))
DIVERGING = {"RdBu_r"}


@pytest.mark.parametrize(
    ("one", "other", "apart"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
        ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_the_difference_is_that_of_published_pairs(one, other, apart):
    assert difference(np.array(one), np.array(other)) == pytest.approx(apart, abs=5e-5)


def test_red_and_green_are_alike_to_eyes_without_the_cones_that_tell_them():
    assert difference(lab("#C1272D"), lab("#4B6B00")) > 50
    assert difference(lab("#C1272D", "deuteranopia"), lab("#8B7500", "deuteranopia")) < 10
    assert all(difference(lab("#808080", eyes), lab("#808080")) < 1 for eyes in SEEN_BY)


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


def test_any_two_algorithms_differ_in_colour_and_near_ones_in_their_marker_as_well():
    apart = {(a, b): nearest(ALGORITHMS[a].color, ALGORITHMS[b].color) for a, b in PAIRS}
    assert min(apart.values()) == pytest.approx(7.26, abs=0.01)
    alike = [
        pair
        for pair in PAIRS
        if apart[pair] < NEAR and len({ALGORITHMS[key].symbol for key in pair}) == 1
    ]
    assert alike == []


def test_every_algorithm_has_a_marker_that_there_is_and_a_line_of_its_own_with_it():
    assert {algorithm.symbol for algorithm in ALGORITHMS.values()} <= style.DASHES.keys()
    assert len(set(style.DASHES.values())) == len(style.DASHES)


def test_runs_of_one_algorithm_share_its_colour_and_have_markers_that_are_nobody_elses():
    runs = [(f"{key}_{n}", key, key) for n in range(3) for key in ("gibbs", "hmc")]
    found = style.run_styles(runs)
    assert found["gibbs_0"].symbol == ALGORITHMS["gibbs"].symbol
    assert found["hmc_0"].symbol == ALGORITHMS["hmc"].symbol
    assert len({one.symbol for one in found.values()}) == len({o.dash for o in found.values()}) == 6
    assert {one.color for name, one in found.items() if name.startswith("gibbs")} == {
        ALGORITHMS["gibbs"].color
    }
    many = style.run_styles([(str(n), "gibbs", "Gibbs") for n in range(12)])
    assert {one.symbol for one in many.values()} == style.DASHES.keys()


@pytest.mark.parametrize(
    ("colors", "apart"),
    [
        (style.COMPONENT_COLORS[:5], 18.8),
        (style.COMPONENT_COLORS[:8], 13.7),
        (style.COMPONENT_COLORS, 9.3),
        (tuple(tiles.COLORS.values()), 11.5),
        (tuple(color for _, color in elbo.FATES.values()), 8.7),
        (initialization.PALETTE, 10.8),
    ],
    ids=["five components", "eight components", "components", "cells", "fates", "starts"],
)
def test_what_has_nothing_but_its_colour_is_told_by_all_eyes(colors, apart):
    assert least(colors) > apart


def named_scales() -> set[str]:
    """The colour scales that figures name."""
    name = re.compile(r"""(?:colorscale["']?\s*[=:]|^COLORS =)\s*["'](\w+)["']""", re.MULTILINE)
    return {found for path in FIGURES.glob("*.py") for found in name.findall(path.read_text())}


def colors_of(scale: str) -> list[str]:
    """The colours along a scale, each as ``#0072B2``."""
    colors = [color for _, color in get_colorscale(scale)]
    return [
        color if color[0] == "#" else "#{:02X}{:02X}{:02X}".format(*map(int, unlabel_rgb(color)))
        for color in colors
    ]


@pytest.mark.parametrize("eyes", SEEN_BY)
@pytest.mark.parametrize("scale", sorted(named_scales()))
def test_a_scale_goes_one_way_in_lightness_or_from_its_middle_to_both_ends(scale, eyes):
    colors = [lab(color, eyes) for color in colors_of(scale)]
    steps = np.diff([lightness for lightness, *_ in colors])
    if scale in DIVERGING:
        middle = len(steps) // 2
        assert (steps[:middle] > 0).all() and (steps[middle:] < 0).all()
        assert difference(colors[0], colors[-1]) > 20
    else:
        assert (steps > 0).all() or (steps < 0).all()


def test_figures_name_scales_and_none_of_them_is_a_rainbow():
    assert {"Viridis", "Blues", "RdBu_r", "Greys_r"} <= named_scales()
