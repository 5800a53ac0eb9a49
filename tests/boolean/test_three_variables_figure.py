"""A cut through three numbers: every highest place is marked."""

import numpy as np

from bnmf_core.boolean.figures.three_variables import cut_picture, maximum_and_mean


def test_two_places_of_one_height_are_both_marked():
    along = np.array([0.1, 0.5, 0.9])
    values = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0 - 1e-15, 0.5]])
    figure = cut_picture(along, values, 0.25, np.array([0.2, 0.3, 0.4]))
    picture, largest, mean = figure.data
    np.testing.assert_allclose(picture.z, np.exp(values - 1.0).T)
    assert list(zip(largest.x, largest.y, strict=True)) == [(0.1, 0.5), (0.9, 0.5)]
    assert (mean.x[0], mean.y[0]) == (0.2, 0.3)
    assert "z = 0.25" in figure.layout.title.text
    unbounded = cut_picture(along, values, 0.25, np.array([0.2, 0.3, 0.4]), bounded=False)
    assert [trace.name for trace in unbounded.data[1:]] == ["mean of draws"]


def test_where_nothing_is_largest_there_is_only_a_mean():
    mean = np.array([0.2, 0.3, 0.4])
    assert [bar.name for bar in maximum_and_mean(None, mean).data] == ["mean of draws"]
    assert list(maximum_and_mean(mean + 0.1, mean).data[0].y) == list(mean + 0.1)
