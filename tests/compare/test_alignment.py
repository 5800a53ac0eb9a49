"""Alignment undoes shuffled components."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.compare.alignment import (
    align,
    component_angles,
    component_stability,
    matching,
    without_counterpart,
)
from bnmf_core.core.errors import DataError, SettingsError
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from tests.generated import always

generated = always(30)


def make_particles(A, W):
    M = len(A)
    return Particles(
        A=A,
        W=W,
        ids=np.arange(M) + 100,
        chain=np.zeros(M, int),
        draw=np.arange(M),
        weights=np.full(M, 1 / M),
        log_joint=np.arange(M, dtype=float),
        error=np.full(M, 0.1),
        seconds=np.arange(M, dtype=float),
        spec=RunSpec("gibbs", A.shape[2]),
        info={"stop": "done"},
    )


@given(seed=st.integers(0, 10_000), R=st.integers(1, 7))
@generated
def test_aligning_is_the_inverse_of_shuffling(seed, R):
    rng = np.random.default_rng(seed)
    basis, weights = rng.gamma(0.5, size=(9, R)) + 1e-3, rng.random((R, 6))
    order = np.stack([rng.permutation(R) for _ in range(5)])
    A = np.stack([basis[:, p] for p in order])
    W = np.stack([weights[p] for p in order])
    np.testing.assert_array_equal(matching(A, basis), np.argsort(order, axis=1))
    aligned = align(make_particles(A, W), basis)
    np.testing.assert_array_equal(aligned.A, np.repeat(basis[None], 5, axis=0))
    np.testing.assert_array_equal(aligned.W, np.repeat(weights[None], 5, axis=0))


def test_only_the_order_of_components_changes():
    rng = np.random.default_rng(1)
    A, W = rng.random((6, 8, 4)).astype(np.float32), rng.random((6, 4, 5)).astype(np.float32)
    A.flags.writeable = W.flags.writeable = False
    particles = make_particles(A, W)
    aligned = align(particles, reference=2)
    assert aligned.A.dtype == np.float32
    np.testing.assert_allclose(aligned.A @ aligned.W, A @ W, rtol=1e-5)
    np.testing.assert_array_equal(aligned.A[2], A[2])
    for name in ("ids", "chain", "draw", "weights", "log_joint", "error", "seconds"):
        np.testing.assert_array_equal(getattr(aligned, name), getattr(particles, name))
    assert aligned.info == particles.info and aligned.spec == particles.spec
    again = align(aligned, reference=2)
    np.testing.assert_array_equal(again.A, aligned.A)


def test_component_angles_and_stability_by_hand():
    turn = np.radians(30.0)
    reference = np.eye(3)[:, :2]
    A = np.zeros((2, 3, 2))
    A[0] = 4.0 * reference[:, ::-1]
    A[1, :, 0] = [np.cos(turn), 0, np.sin(turn)]
    A[1, :, 1] = [0, 7, 0]
    permutation = matching(A, reference)
    assert permutation.tolist() == [[1, 0], [0, 1]]
    found = component_angles(A, reference, permutation)
    np.testing.assert_allclose(found, [[0, 0], [30, 0]], atol=1e-12)
    table = component_stability(A, reference, permutation, weights=np.array([0.75, 0.25]))
    assert table["component"].tolist() == [0, 1]
    np.testing.assert_allclose(table["mean_angle"], [7.5, 0], atol=1e-12)
    np.testing.assert_allclose(table["max_angle"], [30, 0], atol=1e-12)


def test_stability_does_not_depend_on_the_order_or_scale_of_components():
    rng = np.random.default_rng(4)
    reference = rng.random((8, 4))
    A = reference + 0.2 * rng.random((12, 8, 4))
    weights = rng.random(12)
    expected = component_stability(A, reference, weights=weights)
    assert expected["max_angle"].max() < 20
    shuffled = np.stack([basis[:, rng.permutation(4)] * rng.uniform(0.1, 9, 4) for basis in A])
    found = component_stability(shuffled, reference, weights=weights)
    np.testing.assert_allclose(found.to_numpy(), expected.to_numpy(), atol=1e-9)


def test_what_cannot_be_aligned_is_said():
    A, W = np.ones((2, 3, 2)), np.ones((2, 2, 4))
    with pytest.raises(SettingsError, match="0 to 1"):
        align(make_particles(A, W), reference=2)
    with pytest.raises(DataError, match="reference"):
        matching(A, np.ones((3, 3)))
    with pytest.raises(DataError, match="finite"):
        matching(A * np.nan, A[0])


def test_a_partner_more_than_sixty_degrees_away_is_none():
    turned = np.radians([[0, 0], [59, 61]])
    A = np.stack((np.cos(turned), np.sin(turned)), axis=1)
    np.testing.assert_array_equal(without_counterpart(A), [[False, False], [False, True]])
