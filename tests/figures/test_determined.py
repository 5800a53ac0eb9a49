"""Pictures of how far components are determined: every number where it belongs."""

import numpy as np
import pytest

from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.core.axis import axis_of
from bnmf_core.figures.determined import (
    contribution_bands,
    extreme_shapes,
    feasible_regions,
    shape_bands,
)
from tests.compare.test_feasible import loose


def test_bars_reach_from_the_smallest_to_the_largest_and_modes_are_dots():
    lower, value, upper = np.array([[0.1, np.nan, 0.3], [0.2, 0.4, 0.4], [0.3, np.nan, 0.7]])
    others = {"mode 2 <b>": np.array([0.25, np.nan, 0.5]), "mode 3": value}
    allowed = {"mode 2 <b>": True, "mode 3": False}
    figure = contribution_bands(lower, value, upper, others, allowed, ["", "x", ""])
    first, last, own, *dots = figure.data
    assert list(first.x) == [0.1, 0.3] and list(last.x) == [0.3, 0.7]
    assert list(own.x) == value.tolist() and own.y[1] == "component 2 (x)"
    assert [dot.marker.symbol for dot in dots] == ["circle", "circle-open"]
    assert "&lt;b&gt;" in dots[0].name and "larger error" in dots[1].name


def test_places_of_a_region_are_those_that_are_possible():
    feasible = Feasible.of(*loose(3))
    found = region(feasible)
    figure = feasible_regions(feasible, found, others={"mode 2": np.zeros((3, 2))})
    for r in range(3):
        trace = next(one for one in figure.data if one.name == f"region of {r + 1}")
        places = np.column_stack([trace.x, trace.y])
        assert len(places) == (found.of == r).sum()
        assert (feasible.slack(places) >= -1e-9).all()
    held = {0: feasible.places(np.eye(3))[0]}
    beside = feasible_regions(feasible, region(feasible, held), locked=held)
    assert "region of 1" not in [trace.name for trace in beside.data]
    assert beside.data[-1].text[0] == "1 (locked)"


def test_lines_are_the_shapes():
    shapes = {"smallest": np.array([0.2, 0.8]), "own": np.array([0.5, 0.5]), "largest": np.ones(2)}
    figure = extreme_shapes(["400", "<i>"], shapes, 1, "Shapes")
    assert [trace.y.tolist() for trace in figure.data] == [s.tolist() for s in shapes.values()]
    assert figure.layout.xaxis.ticktext == ("400", "&lt;i&gt;")


@pytest.mark.parametrize(
    "names", [[f"{w} nm" for w in range(400, 600, 10)], [f"g{d}" for d in range(20)]]
)
def test_shapes_have_a_band_along_an_axis_and_bars_at_the_strongest_features_else(names):
    rng = np.random.default_rng(0)
    value = rng.gamma(1.0, size=(20, 2))
    value /= value.sum(axis=0)
    lower, upper = 0.5 * value, 1.5 * value
    figure = shape_bands(names, lower, value, upper, ["early", ""], axis_of(names))
    lines = [trace for trace in figure.data if trace.name]
    assert [line.name for line in lines] == ["component 1 (early)", "component 2"]
    if "nm" in names[0]:
        np.testing.assert_array_equal(lines[1].y, value[:, 1])
        bands = [trace for trace in figure.data if trace.fill == "toself"]
        assert sorted(bands[0].y) == sorted([*lower[:, 0], *upper[:, 0]])
    else:
        assert len(figure.layout.xaxis.ticktext) == 16
        rows = [names.index(text) for text in figure.layout.xaxis.ticktext]
        assert set(range(20)) - set(rows) == set(np.argsort(upper.max(axis=1))[:4].tolist())
        np.testing.assert_allclose(lines[0].y + lines[0].error_y.array, upper[rows, 0])
        np.testing.assert_allclose(lines[0].y - lines[0].error_y.arrayminus, lower[rows, 0])
