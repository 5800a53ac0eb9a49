"""The compiled approach against the same iteration in plain numpy, in double precision."""

import numpy as np
import pytest

from bnmf_core.solvers import kernels

STEP = 0.5


def descended(F, C, G, sweeps):
    """Each component in turn at its exact minimiser, F (R, n); one without curvature stays."""
    F = F.copy()
    for _ in range(sweeps):
        for r in range(F.shape[0]):
            if G[r, r] > 0:
                rest = C[r] - G[r] @ F + G[r, r] * F[r]
                F[r] = np.maximum(rest / G[r, r], 0.0)
    return F


def plain_iteration(U, V, A, W, sweeps, held):
    """A (R, D) moved on by the step, W (R, N), and ‖U Vᵀ − A W‖² there."""
    X = U @ V.T
    gram = W @ W.T
    gram[held, held] = 0.0
    new_A = descended(A, W @ X.T, gram, sweeps)
    A = np.maximum(new_A + STEP * (new_A - A), 0.0)
    W = descended(W, A @ X, A @ A.T, sweeps)
    return A, W, ((X - A.T @ W) ** 2).sum()


@pytest.mark.parametrize("R", [1, 2, 3, 4, 5, 9, 18])
@pytest.mark.parametrize(("D", "N"), [(7, 300), (129, 5), (128, 256)])
def test_one_iteration_is_that_of_plain_numpy(R, D, N):
    rng = np.random.default_rng(R)
    U, V = rng.standard_normal((D, R + 3)), rng.standard_normal((N, R + 3))
    A, W = rng.random((R, D)), rng.random((R, N))
    W[0] = 0.0 if R > 2 else W[0]
    held = np.arange(R) == 1
    expected = plain_iteration(U, V, A, W, 3, held)
    single = [F.astype(np.float32) for F in (U, V, A[None], W[None])]
    error = kernels.accelerated_round(
        single[0],
        single[1],
        float(((U @ V.T) ** 2).sum()),
        single[2],
        single[3],
        np.full(1, STEP),
        np.ones(1),
        1,
        3,
        held,
    )
    np.testing.assert_allclose(single[2][0], expected[0], rtol=2e-4, atol=2e-4 * A.max())
    np.testing.assert_allclose(single[3][0], expected[1], rtol=2e-4, atol=2e-4 * expected[1].max())
    assert error[0] == pytest.approx(expected[2], rel=1e-4)
