"""Pictures of how far components are determined: every number where it belongs."""

import numpy as np

from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.compare.knowledge import knowledge, smallest_triangle
from bnmf_core.figures.determined import contribution_bands, extreme_shapes, feasible_regions
from tests.compare.test_feasible import holds, loose


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


def test_more_knowledge_leaves_less_and_the_smallest_triangle_is_the_planted_one():
    feasible = Feasible.of(*loose(3))
    free, *locked, zero, _ = knowledge(feasible)
    for _, turns in [*locked, zero]:
        assert (turns <= free[1] + 1e-6).all()
    assert [turns[r] for r, (_, turns) in enumerate(locked)] == [0, 0, 0]
    # Each component is somewhere alone, so the data reach the corners.
    A, W = loose(3)
    alone = Feasible.of(A, np.column_stack([W, np.eye(3)]))
    found = smallest_triangle(alone)
    own = alone.places(np.eye(3))
    assert np.linalg.norm(found[:, None] - own, axis=2).min(axis=0).max() < 0.02
    triangle = smallest_triangle(feasible)
    assert holds(triangle[None], feasible.hull, 1e-3).all()
    assert feasible.inside(triangle).min() > -1e-3
