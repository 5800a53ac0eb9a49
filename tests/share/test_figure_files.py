"""A figure as a program draws the same figure, and as a page is whole."""

import numpy as np
import plotly.graph_objects as go
import pytest

from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.figures.determined import feasible_regions
from bnmf_core.figures.sketch import Sketch
from bnmf_core.share.figure_files import figure_code, figure_html
from tests.share.conftest import HOSTILE

RNG = np.random.default_rng(0)


def regions() -> go.Figure:
    A, W = RNG.gamma(0.5, size=(12, 3)), RNG.gamma(0.5, size=(3, 30))
    feasible = Feasible.of(A, W)
    return feasible_regions(feasible, region(feasible), ["a", "b", "c"])


def heat() -> go.Figure:
    values = RNG.normal(size=(7, 23))
    values[2, 3], values[4, 5] = np.nan, np.inf
    figure = Sketch().add_heatmap(z=values, colorscale="Viridis", text=[["x"] * 23] * 7)
    return figure.update_layout(title="Heat")


def plain() -> go.Figure:
    return go.Figure(go.Bar(x=["a", "b"], y=np.array([0.1, 1 / 3], dtype=np.float32)))


@pytest.mark.parametrize("make", [regions, heat, plain])
def test_the_program_draws_the_same_figure_to_the_last_bit(make):
    figure = make()
    drawn = {"__name__": "imported"}
    exec(figure_code(figure, "name", "How to read it.", "some data"), drawn)
    ours, theirs = figure, drawn["figure"]
    assert len(ours.data) == len(theirs.data) > 0
    for mine, other in zip(ours.data, theirs.data, strict=True):
        for key in ("x", "y", "z"):
            if key in mine and mine[key] is not None:
                np.testing.assert_array_equal(mine[key], other[key])
        assert mine.type == other.type
    assert ours.layout.title.text == theirs.layout.title.text
    assert theirs.layout.template.layout.font == ours.layout.template.layout.font


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_gets_out_of_the_words_of_a_program_or_a_page(text):
    text += "\nraise SystemExit('out')\n\"\"\"'''"
    figure = Sketch().add_bar(x=[text], y=[1.0]).update_layout(title=text)
    drawn = {"__name__": "imported"}
    exec(figure_code(figure, "name", text, text), drawn)
    assert drawn["figure"].data[0].x == (text,)
    page = figure_html(figure, "name", text, text).decode()
    assert "format: 'svg'" in page and "<script>alert" not in page.split("</p>")[0]
