"""Triangles around the data: the plane, its room, and the error of a basis."""

import numpy as np
import pytest
from scipy.optimize import nnls

from bnmf_core import laurberg
from bnmf_core.compare.triangles import Plane, equilateral, relative_error
from bnmf_core.core.errors import DataError


@pytest.fixture
def two():
    data = laurberg("two")
    return data, Plane.of(data.truth[0].A)


def test_points_and_vectors_undo_each_other(two):
    data, plane = two
    columns = data.X / data.X.sum(axis=0)
    np.testing.assert_allclose(plane.vectors(plane.points(data.X)), columns, atol=1e-14)
    places = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(plane.points(plane.vectors(places)), places, atol=1e-13)
    np.testing.assert_allclose(plane.vectors(places).sum(axis=0), 1.0)


def test_the_two_answers_are_one_triangle_turned_by_60_degrees(two):
    data, plane = two
    first, second = (plane.points(truth.A) for truth in data.truth)
    np.testing.assert_allclose(first, equilateral([0])[0], atol=1e-14)
    turned = equilateral([60])[0]
    assert all(np.abs(turned - corner).max(axis=1).min() < 1e-12 for corner in second)
    least, most = plane.radii(plane.points(data.X), np.array([0.0, 30.0, 60.0]))
    np.testing.assert_allclose((least - most)[[0, 2]], 0.0, atol=1e-12)
    assert least[1] > most[1]


def test_the_room_ends_where_an_entry_turns_negative(two):
    _, plane = two
    room = plane.room()
    assert plane.vectors(room).min() > -1e-9
    assert (plane.vectors(1.001 * room).min(axis=0) < 0).all()
    assert len(room) == 6


def test_the_error_is_that_of_non_negative_least_squares(two):
    data, plane = two
    rng = np.random.default_rng(1)
    for corners in rng.normal(size=(20, 3, 2)) * 0.3:
        A = np.maximum(plane.vectors(corners), 0.0)
        rest = [nnls(A, x)[1] for x in data.X.T]
        expected = np.linalg.norm(rest) / np.linalg.norm(data.X)
        assert relative_error(data.X, A) == pytest.approx(expected, abs=1e-9)
    for truth in data.truth:
        assert relative_error(data.X, truth.A) < 1e-14


def test_a_basis_that_is_no_triangle_is_refused():
    for A in (np.ones((4, 3)), np.eye(4)[:, :2]):
        with pytest.raises(DataError, match="three independent columns"):
            Plane.of(A)
