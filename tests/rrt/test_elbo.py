"""Bounds over proposals and what became of proposals: what the figures draw."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core.figures.style import run_styles
from bnmf_core.rrt.figures.elbo import FATES, SMALLEST_DIFFERENCE, bound_over_proposals, fate_bars
from bnmf_core.rrt.online import REASONS

STYLES = run_styles([("a", "gibbs", "Same name"), ("b", "hmc", "Same name"), ("c", "nvi", "None")])


@pytest.fixture
def bounds() -> pd.DataFrame:
    rows = [
        ("a", 1, 0, np.nan, 5.0, False),
        ("a", 2, 3, -9e6, 5.0, True),
        ("a", 3, 6, 4.0, 5.0, True),
        ("a", 4, 9, 4.0, 5.0, False),
        ("b", 1, 0, 5.0, 5.0, True),
    ]
    columns = ["run", "proposal", "number", "value", "best", "joined"]
    return pd.DataFrame(rows, columns=columns)


def test_lines_are_the_values_and_marks_are_those_that_joined(bounds):
    line, marks, other, its_mark = bound_over_proposals(bounds, STYLES, "ELBO", False).data
    np.testing.assert_array_equal(line.y, [np.nan, -9e6, 4.0, 4.0])
    assert (line.line.shape, line.line.color) == ("hv", STYLES["a"].color)
    np.testing.assert_array_equal(marks.x, [2, 3])
    np.testing.assert_array_equal(marks.y, [-9e6, 4.0])
    assert (other.y[0], its_mark.y[0]) == (5.0, 5.0)


def test_differences_from_the_best_are_drawn_to_a_smallest_one(bounds):
    figure = bound_over_proposals(bounds, STYLES, "ELBO", True)
    assert figure.layout.yaxis.type == "log"
    np.testing.assert_array_equal(figure.data[0].y[1:], [9e6 + 5, 1.0, 1.0])
    assert figure.data[2].y[0] == SMALLEST_DIFFERENCE
    assert figure.data[2].customdata[0][2] == 0.0  # what is told is the difference itself


def test_bars_of_runs_of_one_name_stay_apart_and_add_up():
    counts = {"remain": 3, "left": 2, "gain": 90, "near": 1, "impossible": 0, "flat": 0}
    rows = [("a", fate, n) for fate, n in counts.items()] + [
        ("b", fate, 2 * n) for fate, n in counts.items()
    ]
    figure = fate_bars(pd.DataFrame(rows, columns=["run", "fate", "count"]), STYLES)
    assert len(figure.data) == 4  # a fate that befell none is not drawn
    assert figure.layout.barmode == "stack"
    lengths = {run: sum(bar.x[i] for bar in figure.data) for i, run in enumerate(("a", "b"))}
    assert lengths == {"a": 96, "b": 192}
    assert list(figure.data[0].y) == ["a", "b"]
    assert list(figure.layout.yaxis.ticktext) == ["Same name", "Same name"]


def test_every_reason_of_a_rejection_has_a_colour():
    assert set(REASONS) - {"joined", "first"} == set(FATES) - {"remain", "left"}
