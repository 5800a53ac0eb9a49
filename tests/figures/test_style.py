"""What every figure shares: where its legend stands, and marks that are seen on either ground."""

import tomllib
from pathlib import Path

import plotly.graph_objects as go
import pytest

from bnmf_core.figures import style
from bnmf_core.registry import ALGORITHMS
from bnmf_core.rrt.figures import elbo

CONFIG = Path(__file__).parents[2] / ".streamlit/config.toml"
THEMES = tomllib.loads(CONFIG.read_text())["theme"]
MARKS = {
    **{key: algorithm.color for key, algorithm in ALGORITHMS.items()},
    **{fate: color for fate, (_, color) in elbo.FATES.items()},
    **{f"component {number}": color for number, color in enumerate(style.COMPONENT_COLORS, 1)},
    "muted": style.MUTED,
    "highlight": style.HIGHLIGHT,
    "fallback": style.FALLBACK,
    "line": style.LINE,
    "middle": style.MIDDLE,
}


def luminance(color: str) -> float:
    """Relative luminance as WCAG 2 defines it, 0 to 1."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted(map(luminance, (one, other)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_is_that_of_the_definition():
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21.0)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("mark", MARKS)
def test_marks_are_seen_on_the_ground_of_either_theme(mark, theme):
    assert contrast(MARKS[mark], THEMES[theme]["backgroundColor"]) > 2.1


@pytest.mark.parametrize("color", style.COMPONENT_COLORS)
def test_what_is_written_on_a_component_can_be_read(color):
    assert contrast(style.ink(color), color) > 4.5


@pytest.mark.parametrize("height", [290, 480])
def test_a_legend_begins_below_the_title_and_pushes_the_plot_down(height):
    figure = style.layout(go.Figure(), "A title", height)
    legend = figure.layout.legend
    # Plotly makes room for a legend that hangs from the container; one above the plot grows over
    # the title instead.
    assert (legend.yref, legend.yanchor, legend.orientation) == ("container", "top", "h")
    assert (1 - legend.y) * height == pytest.approx(style.TITLE)


@pytest.mark.parametrize(
    ("limits", "told"),
    [((2.1e-6, 4.9e-6), "3·10<sup>-6</sup>"), ((0.003, 0.004), "0.0034"), ((3.0, 900.0), "200")],
)
def test_a_short_logarithmic_axis_tells_its_decade(limits, told):
    axis = style.logarithmic_axis(*limits)
    place = axis["tickvals"][axis["ticktext"].index(told)]
    number = told.replace("·10<sup>", "e").replace("</sup>", "")
    assert place == pytest.approx(float(number))
    assert axis["tickvals"][0] <= limits[0] and limits[1] <= 1.001 * axis["tickvals"][-1]


@pytest.mark.parametrize("limits", [(2.0, 2.001), (0.9, 1.1), (433.0, 512.0), (6.0, 20.0)])
def test_a_logarithmic_axis_has_ticks_however_near_its_ends_are(limits):
    axis = style.logarithmic_axis(*limits)
    within = [tick for tick in axis["tickvals"] if limits[0] <= tick <= limits[1]]
    assert 2 <= len(within) <= 7


@pytest.mark.parametrize(("limits", "step"), [((1e-9, 1.0), 2), ((1e-4, 1.0), 1)])
def test_a_long_one_has_powers_of_ten(limits, step):
    assert style.logarithmic_axis(*limits)["dtick"] == step


def test_a_logarithmic_axis_without_values_is_one_all_the_same():
    assert style.logarithmic_axis(float("nan"), float("nan"))["type"] == "log"
