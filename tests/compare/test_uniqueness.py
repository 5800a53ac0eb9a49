"""Certificates: what they call unique does not turn, and what they turn keeps the product."""

import numpy as np
import pytest

from bnmf_core.compare.feasible import Feasible, region
from bnmf_core.compare.uniqueness import freedom, uniqueness


def sparse(rng, full, D=9, N=14):
    """A and W of rank 3 with zeros, some rows and columns of one component alone."""
    A, W = rng.gamma(1.0, size=(D, 3)) + 0.2, rng.gamma(1.0, size=(3, N)) + 0.2
    return A * (rng.random(A.shape) < full), W * (rng.random(W.shape) < full)


def test_freedom_is_exact_for_three_and_at_least_what_pairs_allow_for_more():
    rng = np.random.default_rng(5)
    A, W = rng.gamma(0.4, size=(8, 3)), rng.gamma(1.0, size=(3, 30)) + 0.15
    np.testing.assert_array_equal(freedom(A, W), region(Feasible.of(A, W)).angle)
    assert (freedom(A, W) >= uniqueness(A, W).turns.max(axis=0) - 0.2).all()
    four = rng.gamma(0.4, size=(9, 4)), rng.gamma(1.0, size=(4, 30)) + 0.15
    np.testing.assert_array_equal(freedom(*four), uniqueness(*four).turns.max(axis=0))
    # Components that span a plane only have no region.
    flat = np.column_stack([A[:, :2], A[:, 0] + A[:, 1]])
    assert np.isfinite(freedom(flat, W)).all()


def test_a_column_that_is_proved_unique_has_no_region_and_both_happen():
    rng, proved, open_ = np.random.default_rng(0), 0, 0
    for k in range(80):
        A, W = sparse(rng, 0.6 if k % 2 else 0.8)
        if min(np.linalg.matrix_rank(A), np.linalg.matrix_rank(W)) < 3 or not W.any(axis=0).all():
            continue
        found, room = uniqueness(A, W), region(Feasible.of(A, W))
        assert room.angle[found.columns].max(initial=0) < 0.5
        assert found.turns[:, found.columns].max(initial=0) < 1e-4
        other = region(Feasible.of(W.T, A.T))
        assert other.angle[found.rows].max(initial=0) < 0.5
        proved += int(found.columns.sum())
        open_ += int((~found.columns & (room.angle > 1)).sum())
    assert proved > 20 and open_ > 20


def test_all_other_rows_unique_make_a_column_unique():
    # Component 3 is nowhere alone, so the first certificate is silent about its column.
    A = np.array([[1, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1], [1, 1, 0.0]])
    W = np.array([[0, 1, 0, 1, 1], [1, 0, 0, 1, 2], [1, 1, 1, 0, 0.0]])
    W = np.column_stack([W, [0, 1, 3], [1, 0, 2]])[:, [0, 1, 3, 4, 5, 6]]
    found = uniqueness(A, W)
    assert found.rows[:2].all() and found.columns[2]
    assert not (W[2] > 0)[(W[:2] > 0).sum(axis=0) == 0].any()


def test_turns_keep_the_product_and_no_more_is_possible():
    rng = np.random.default_rng(5)
    A, W = rng.gamma(1.0, size=(7, 4)) + 0.1, rng.gamma(1.0, size=(4, 9)) + 0.1
    found = uniqueness(A, W)
    for i in range(4):
        for j in range(4):
            if i == j:
                assert found.turns[i, j] == 0
                continue
            reached = []
            for eps in np.linspace(-6, 6, 24001):
                column, row = A[:, j] + eps * A[:, i], W[i] - eps * W[j]
                if column.min() >= 0 and row.min() >= 0:
                    cosine = column @ A[:, j] / np.linalg.norm(column) / np.linalg.norm(A[:, j])
                    reached.append(np.rad2deg(np.arccos(min(cosine, 1.0))))
            assert max(reached) == pytest.approx(found.turns[i, j], abs=0.05)


def test_an_empty_component_proves_nothing():
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]])
    found = uniqueness(A, np.eye(3))
    assert not found.columns.any() and not found.rows.any()
