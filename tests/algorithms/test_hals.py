"""The solver: it only goes down, stops at minima, and agrees with slower ways to do the same."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from bnmf_core.dataset import Dataset
from bnmf_core.explorers import from_starts
from bnmf_core.problem import Problem
from bnmf_core.solvers import hals
from bnmf_core.solvers.starts import random_start


def make_problem(X, rank) -> Problem:
    D, N = X.shape
    dataset = Dataset(X, "matrix", ("feature",) * D, ("observation",) * N)
    return Problem(dataset, model=None, model_settings=None, rank=rank)


def random_starts(problem, count, seed=0):
    rng = np.random.default_rng(seed)
    pairs = [random_start(problem.dataset, problem.rank, rng) for _ in range(count)]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def squared_error(X, A, W) -> float:
    return float(((X - A @ W) ** 2).sum())


entries = st.floats(0, 10)


@st.composite
def factorizations(draw):
    D, N, R = draw(st.integers(2, 6)), draw(st.integers(2, 6)), draw(st.integers(1, 3))
    return (
        draw(arrays(float, (D, N), elements=entries)),
        draw(arrays(float, (1, D, R), elements=entries)),
        draw(arrays(float, (1, R, N), elements=entries)),
    )


@given(factorizations())
@settings(max_examples=150, deadline=None)
def test_the_objective_never_rises(factorization):
    X, A, W = factorization
    problem = make_problem(X, A.shape[2])
    # Rounding is relative to the largest numbers that are subtracted.
    slack = 1e-12 * ((X**2).sum() + ((A[0] @ W[0]) ** 2).sum())
    before = squared_error(X, A[0], W[0])
    for _ in range(6):
        A, W = hals.solve(problem, A, W, max_iterations=1, tolerance=0.0)
        assert np.isfinite(A).all() and np.isfinite(W).all()
        assert (A >= 0).all() and (W >= 0).all()
        after = squared_error(X, A[0], W[0])
        assert after <= before + slack
        before = after


def test_an_exact_factorization_stays_where_it_is():
    rng = np.random.default_rng(3)
    A, W = rng.random((1, 8, 3)), rng.random((1, 3, 9))
    problem = make_problem(A[0] @ W[0], 3)
    after_A, after_W = hals.solve(problem, A, W, max_iterations=50, tolerance=0.0)
    np.testing.assert_allclose(after_A, A, rtol=1e-10)
    np.testing.assert_allclose(after_W, W, rtol=1e-10)


def test_side_by_side_is_the_same_as_one_by_one(small):
    problem = make_problem(small.X, 3)
    A, W = random_starts(problem, 6)
    together_A, together_W = hals.solve(problem, A, W)
    for m in range(6):
        alone_A, alone_W = hals.solve(problem, A[m : m + 1], W[m : m + 1])
        # Wider products add in another order.
        np.testing.assert_allclose(together_A[m], alone_A[0], rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(together_W[m], alone_W[0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("n", [1, hals.TILE - 1, hals.TILE, 2 * hals.TILE + 3])
def test_sweep_is_coordinate_descent(n):
    rng = np.random.default_rng(n)
    m, R = 2, 3
    F, C = rng.random((n, m, R)), rng.standard_normal((n, m, R))
    other = rng.random((5, m, R))
    G = hals.gram(other)
    np.testing.assert_allclose(G, np.einsum("nmr,nms->mrs", other, other), rtol=1e-13)
    expected = F.copy()
    for i in range(n):
        for p in range(m):
            for _ in range(2):
                for r in range(R):
                    rest = sum(G[p, k, r] * expected[i, p, k] for k in range(R) if k != r)
                    expected[i, p, r] = max(0.0, (C[i, p, r] - rest) / G[p, r, r])
    hals.sweep(F, C, G, 2)
    np.testing.assert_allclose(F, expected, rtol=1e-11, atol=1e-13)


def test_a_component_without_weight_is_left_alone():
    rng = np.random.default_rng(5)
    other = rng.random((6, 1, 3))
    other[:, :, 1] = 0.0
    F, C = rng.random((4, 1, 3)), rng.random((4, 1, 3))
    before = F.copy()
    hals.sweep(F, C, hals.gram(other), 3)
    np.testing.assert_array_equal(F[:, :, 1], before[:, :, 1])
    assert not np.array_equal(F[:, :, 0], before[:, :, 0])


@pytest.mark.parametrize("size", [1e-140, 1e-152, 1e-156, 1e-160, 5e-324])
def test_components_near_the_smallest_number_do_not_overflow(size):
    other = np.array([[[size, 1.0]], [[size, 2.0]]])
    F = np.ones((1, 1, 2))
    hals.sweep(F, np.array([[[5 * size, 3.0]]]), hals.gram(other), 1)
    assert np.isfinite(F).all()


def test_it_ends_where_no_entry_can_be_improved(small):
    problem = make_problem(small.X, 3)
    A, W = hals.solve(problem, *random_starts(problem, 4), max_iterations=50_000, tolerance=1e-13)
    for m in range(4):
        residual = A[m] @ W[m] - small.X
        for factor, gradient, size in (
            (A[m], residual @ W[m].T, np.abs(small.X @ W[m].T).max()),
            (W[m], A[m].T @ residual, np.abs(A[m].T @ small.X).max()),
        ):
            assert gradient.min() >= -1e-5 * size
            np.testing.assert_allclose(factor * gradient, 0, atol=1e-5 * size * factor.max())


def test_it_ends_as_low_as_scikit_learn(small):
    problem = make_problem(small.X, 3)
    A, W = random_starts(problem, 8)
    solved = hals.solve(problem, A, W, max_iterations=5000, tolerance=1e-8)
    ours = [squared_error(small.X, *pair) for pair in zip(*solved, strict=True)]
    theirs = []
    for m in range(8):
        model = NMF(3, init="custom", solver="cd", tol=1e-8, max_iter=5000)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights = model.fit_transform(
                np.ascontiguousarray(small.X.T), W=W[m].T.copy(), H=A[m].T.copy()
            )
        theirs.append(squared_error(small.X, model.components_.T, weights.T))
    assert np.min(ours) <= 1.01 * np.min(theirs)
    assert np.median(ours) <= 1.01 * np.median(theirs)


def test_the_convergence_flag_is_honest(small):
    problem = make_problem(small.X, 3)
    A, W = random_starts(problem, 12)
    tolerance, most = 1e-3, 60
    solution = hals.start(A, W)
    while solution.active.any():
        solution = hals.advance(problem, solution, most, tolerance)
    converged = solution.iterations < most
    assert 0 < converged.sum() < 12  # both kinds are there

    def error_after(m, iterations):
        pair = hals.solve(problem, A[m : m + 1], W[m : m + 1], int(iterations), 0.0)
        return squared_error(small.X, pair[0][0], pair[1][0])

    for m, used in enumerate(solution.iterations):
        now, earlier = error_after(m, used), error_after(m, used - hals.CHECK_EVERY)
        assert solution.squared_error[m] == pytest.approx(now, rel=1e-9)
        if converged[m]:
            assert earlier - now <= tolerance * now
        else:
            assert used == most


def test_one_step_is_bounded(small):
    problem = make_problem(small.X, 3)
    fit = hals.iterations_per_step(problem, 1000, 3)
    assert fit % hals.CHECK_EVERY == 0
    assert fit * 1000 * hals.work_per_iteration(problem, 3) <= hals.STEP_WORK
    large = make_problem(np.ones((2000, 3000)), 50)
    assert hals.iterations_per_step(large, 1000, 50) == 1


def test_blocks_hold_every_particle_once():
    settings = from_starts.SolverSettings(block=20)
    assert from_starts.shard_sizes(settings, 45) == [20, 20, 5]
    assert from_starts.shard_sizes(settings, 40) == [20, 20]
    assert from_starts.shard_sizes(settings, 3) == [3]
