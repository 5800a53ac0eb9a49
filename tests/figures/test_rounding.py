"""What differs by rounding only is drawn as what does not differ, and a title says so."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.figures.factorizations import factorization_map
from bnmf_core.figures.gallery import basis_bars, basis_heatmap, basis_images, minus_first
from bnmf_core.figures.modes import mode_count
from bnmf_core.figures.style import run_styles

STYLES = run_styles([("a", "random_restarts", "Optima")])
NOISE = 1e-4


def a_map(points: np.ndarray, modes: int):
    m = len(points)
    table = pd.DataFrame({"run": "a", "converged": True, "particle": np.arange(m), "error": 0.1})
    focus, labels = np.ones(m, bool), np.arange(m) % modes
    return factorization_map(points, table, labels, np.arange(modes), STYLES, focus, "angle", "°")


def test_a_map_of_rounding_is_one_point():
    points = NOISE * np.random.default_rng(0).standard_normal((30, 2)) / 3
    figure = a_map(points, 1)
    assert figure.layout.title.text == "Map of 30 factorizations, all in one place (to 0.001°)"
    assert not np.any(figure.data[0].x) and not np.any(figure.data[0].y)


def test_a_map_keeps_what_is_larger_and_says_where_all_are_one_mode():
    points = np.random.default_rng(0).standard_normal((30, 2))
    points[:, 1] *= NOISE / 3
    figure = a_map(points, 1)
    assert figure.layout.title.text == "Map of 30 factorizations, one mode"
    np.testing.assert_array_equal(
        figure.data[0].x, np.where(np.abs(points[:, 0]) < 1e-3, 0, points[:, 0])
    )
    assert not np.any(figure.data[0].y)
    assert a_map(points, 2).layout.title.text == "Map of 30 factorizations"


def test_other_distances_are_drawn_as_they_are():
    """Their unit may be that of the data, in which small numbers may mean much."""
    curves = pd.DataFrame({"run": "a", "epsilon": [0.0, NOISE], "covering": [5, 1]})
    figure = persistence_plot(curves, STYLES, "distance", "")
    assert figure.layout.xaxis.range is None and "identical" not in figure.layout.title.text
    figure = persistence_plot(curves, STYLES, "angle", "°")
    assert figure.layout.xaxis.range == (0, 1)
    assert figure.layout.title.text.endswith(", all identical (to 0.001°)")


def test_modes_that_rounding_parts_are_not_counted():
    linkage = np.array([[0, 1, NOISE / 2, 2], [2, 3, NOISE, 3]])
    line = mode_count(linkage, 15.0, "angle", "°").data[0]
    np.testing.assert_array_equal(line.x, [0, 0, 0, 15.0])
    np.testing.assert_array_equal(line.y, [3, 2, 1, 1])


@pytest.mark.parametrize("drawn", ["images", "bars", "heatmap"])
@pytest.mark.parametrize("far", [1e-7, 0.3])
def test_bases_that_are_the_same_have_no_difference(drawn, far):
    rng = np.random.default_rng(0)
    A = np.repeat(rng.random((1, 6, 3)), 2, axis=0)
    A[1] += far * rng.random((6, 3))
    names, features = ["one", "two"], list("abcdef")
    figure = {
        "images": lambda: basis_images(A, (2, 3), names, True),
        "bars": lambda: basis_bars(A, features, names, difference=True),
        "heatmap": lambda: basis_heatmap(A, features, names, difference=True),
    }[drawn]()
    same = far < 1e-6
    assert figure.layout.title.text.endswith(": no difference") == same
    parts = figure.data if drawn == "bars" else [figure.data[0]]
    values = [np.nan_to_num(part.y if drawn == "bars" else part.z) for part in parts]
    assert any(np.any(part) for part in values) != same


def test_a_difference_is_kept_where_it_is_seen():
    A = np.array([[[1.0], [0.5]], [[1.0], [0.4]], [[1.0], [0.5 + 1e-9]]])
    np.testing.assert_allclose(minus_first(A)[:, :, 0], [[0, 0], [0, -0.1], [0, 0]])
