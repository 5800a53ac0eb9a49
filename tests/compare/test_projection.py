"""Projections: Euclidean distances come back, triangles contain what they explain."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import pdist, squareform

from bnmf_core.compare.projection import project, projection_quality, simplex_projection, spread_out
from bnmf_core.core.errors import DataError, SettingsError


def rank_three(seed=0, M=2, D=12, N=30):
    """Exact rank-3 data and M bases of it: X = A[m] @ W[m]."""
    rng = np.random.default_rng(seed)
    basis, weights = rng.gamma(0.5, size=(D, 3)), rng.dirichlet(np.ones(3), N).T
    mixing = np.stack([np.eye(3) + 0.2 * m * rng.random((3, 3)) for m in range(M)])
    return basis @ weights, basis @ np.linalg.inv(mixing), mixing @ weights


def barycentric(points, triangle):
    corners = np.column_stack([triangle, np.ones(3)])
    return np.column_stack([points, np.ones(len(points))]) @ np.linalg.inv(corners)


def test_points_of_a_plane_keep_their_distances():
    points = np.random.default_rng(1).normal(size=(40, 2)) * [3, 1]
    distances = squareform(pdist(points))
    positions = project(distances)
    np.testing.assert_allclose(squareform(pdist(positions)), distances, atol=1e-9)
    assert positions[:, 0].std() > positions[:, 1].std()
    largest = np.abs(positions).argmax(axis=0)
    assert (positions[largest, [0, 1]] > 0).all()


def test_quality_is_the_share_of_the_variance():
    points = np.random.default_rng(2).normal(size=(50, 3)) * [4, 2, 1]
    variance = np.linalg.svd(points - points.mean(axis=0), compute_uv=False) ** 2
    found = projection_quality(squareform(pdist(points)))
    assert found == pytest.approx(variance[:2].sum() / variance.sum(), rel=1e-9)
    assert projection_quality(squareform(pdist(points)), 3) == pytest.approx(1.0)


def test_few_anchors_carry_the_distances_of_a_plane():
    points = np.random.default_rng(2).normal(size=(40, 2)) * [30, 10]
    distances = squareform(pdist(points))
    found, stress = spread_out(distances, np.arange(8))
    np.testing.assert_allclose(squareform(pdist(found)), distances, atol=0.5)
    assert stress < 0.01


def test_what_is_far_from_all_else_is_not_drawn_into_one_heap():
    """Twelve modes 50° from one another and draws near the first: no plane holds them."""
    apart = np.full((20, 20), 50.0)
    apart[12:, 12:] = 5.0
    apart[0, 12:] = apart[12:, 0] = 8.0
    np.fill_diagonal(apart, 0.0)
    found, stress = spread_out(apart, np.arange(12))
    drawn = squareform(pdist(found))
    flat = squareform(pdist(project(apart)))
    classical = np.sqrt(np.square(flat - apart).sum() / np.square(apart).sum())
    assert stress < classical - 0.05
    assert stress == pytest.approx(np.sqrt(np.square(drawn - apart).sum() / np.square(apart).sum()))
    between = drawn[:12, :12][np.triu_indices(12, 1)]
    assert between.min() > 10.0
    assert (drawn[12:, 0] < drawn[12:, 1:12].min(axis=1)).all()


@pytest.mark.parametrize("M", [1, 2, 5])
def test_identical_factorizations_lie_at_one_place_without_stress(M):
    found, stress = spread_out(np.zeros((M, M)), np.arange(M))
    assert not found.any() and stress == 0.0


@pytest.mark.parametrize("M", [1, 2, 3])
def test_few_or_identical_points_lie_at_the_origin(M):
    assert project(np.zeros((M, M))).tolist() == [[0.0, 0.0]] * M


def test_two_points_lie_on_the_first_axis():
    positions = project(np.array([[0.0, 4.0], [4.0, 0.0]]), dimensions=3)
    np.testing.assert_allclose(np.abs(positions), [[2, 0, 0], [2, 0, 0]], atol=1e-12)


def test_distances_no_plane_holds_are_finite_and_less_than_whole():
    distances = np.array([[0, 1, 1, 9], [1, 0, 1, 1], [1, 1, 0, 1], [9, 1, 1, 0.0]])
    assert np.isfinite(project(distances, 4)).all()


def test_dimensions_must_be_positive():
    with pytest.raises(SettingsError, match="at least 1"):
        project(np.zeros((2, 2)), 0)


def test_data_lie_inside_the_triangles_that_explain_them():
    X, A, W = rank_three()
    data, bases = simplex_projection(X, A)
    assert data.shape == (30, 2) and bases.shape == (2, 3, 2)
    for m in range(2):
        # With columns of A and X summing to 1, the barycentric coordinates are the weights.
        weights = W[m] * A[m].sum(axis=0)[:, None] / X.sum(axis=0)
        np.testing.assert_allclose(barycentric(data, bases[m]), weights.T, atol=1e-9)


def test_the_plane_keeps_distances_between_columns_that_sum_to_one():
    X, A, _ = rank_three(seed=4)
    data, bases = simplex_projection(X, A)
    np.testing.assert_allclose(pdist(data), pdist((X / X.sum(axis=0)).T), atol=1e-9)
    columns = (A[1] / A[1].sum(axis=0)).T
    np.testing.assert_allclose(pdist(bases[1]), pdist(columns), atol=1e-9)


def test_scale_storage_and_solver_do_not_move_the_points(monkeypatch):
    X, A, _ = rank_three(seed=5)
    data, bases = simplex_projection(X, A)
    scaled = simplex_projection(X * np.linspace(1, 9, 30), A * [1.0, 20.0, 300.0])
    # Same plane, other principal axes of the singular vectors: distances agree.
    np.testing.assert_allclose(pdist(scaled[0]), pdist(data), atol=1e-9)
    monkeypatch.setattr("bnmf_core.numerics.linalg.DENSE_SVD_LIMIT", 0)
    for same in (X, sparse.csc_array(X)):
        other = simplex_projection(same, A.astype(np.float32).astype(float))
        np.testing.assert_allclose(other[0], data, atol=1e-7)
        np.testing.assert_allclose(other[1], bases, atol=1e-5)


def test_an_empty_column_has_no_place():
    X, A, _ = rank_three(seed=6)
    X[:, 3] = 0
    data, _ = simplex_projection(X, A)
    assert np.isnan(data[3]).all() and np.isfinite(np.delete(data, 3, axis=0)).all()


def test_only_rank_three_has_a_triangle():
    with pytest.raises(DataError, match="rank 4"):
        simplex_projection(np.ones((5, 6)), np.ones((2, 5, 4)))
    with pytest.raises(DataError, match="at least 3"):
        simplex_projection(np.ones((5, 2)), np.ones((2, 5, 3)))
