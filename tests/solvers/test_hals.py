"""The solver: it only goes down, stops at minima, and agrees with slower ways to do the same."""

import warnings

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.explorers import from_starts
from bnmf_core.explorers.transforms import equal_norms
from bnmf_core.solvers import SOLVERS, hals, solution
from bnmf_core.solvers.kernels import TILE, sweep
from bnmf_core.solvers.solution import Stopping, random_start
from tests.generated import generated

OF_SQUARED_ERROR = [key for key, solver in SOLVERS.items() if solver.serves(SQUARED_ERROR)]


def make_problem(X, rank) -> Problem:
    D, N = X.shape
    dataset = Dataset(X, "matrix", ("feature",) * D, ("observation",) * N)
    return Problem.without_model(dataset, rank)


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


SUBNORMAL = (
    np.full((2, 3), 4.6018236e-159),
    np.zeros((1, 2, 2)),
    np.array([[[0.0, 1, 1], [1, 0, 1]]]),
)


@pytest.mark.parametrize("solver", OF_SQUARED_ERROR)
@given(factorizations())
@example(SUBNORMAL)
@generated(60)
def test_the_objective_never_rises(solver, factorization):
    X, A, W = factorization
    problem = make_problem(X, A.shape[2])
    # Rounding is relative to the largest numbers that are subtracted, down to subnormal squares.
    slack = 1e-12 * ((X**2).sum() + ((A[0] @ W[0]) ** 2).sum()) + np.finfo(float).tiny
    before = squared_error(X, A[0], W[0])
    for _ in range(6):
        A, W = solution.solve_with(SOLVERS[solver], problem, A, W, Stopping(1, 0.0))
        assert np.isfinite(A).all() and np.isfinite(W).all()
        assert (A >= 0).all() and (W >= 0).all()
        after = squared_error(X, A[0], W[0])
        assert after <= before + slack
        before = after


@pytest.mark.parametrize("solver", OF_SQUARED_ERROR)
def test_an_exact_factorization_stays_where_it_is(solver):
    rng = np.random.default_rng(3)
    A, W = equal_norms(rng.random((1, 8, 3)), rng.random((1, 3, 9)))
    problem = make_problem(A[0] @ W[0], 3)
    stopping = Stopping(max_iterations=50, tolerance=0.0)
    after_A, after_W = solution.solve_with(SOLVERS[solver], problem, A, W, stopping)
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


@pytest.mark.parametrize("n", [1, TILE - 1, TILE, 2 * TILE + 3])
@pytest.mark.parametrize("R", [1, 3, 4, 9, 16, 17, 35])
def test_sweep_is_coordinate_descent(n, R):
    rng = np.random.default_rng(n)
    F, C = rng.random((2, R, n)), rng.standard_normal((2, R, n))
    other = rng.random((2, R, 5 + R))
    G = solution.gram(other)
    np.testing.assert_allclose(G, np.einsum("mrn,msn->mrs", other, other), rtol=1e-13)
    expected = F.copy()
    for p in range(2):
        for _ in range(2):
            for r in range(R):
                rest = G[p, r] @ expected[p] - G[p, r, r] * expected[p, r]
                expected[p, r] = np.maximum(0.0, (C[p, r] - rest) / G[p, r, r])
    sweep(F, C, G, 2)
    np.testing.assert_allclose(F, expected, rtol=1e-9, atol=1e-11)


def test_a_component_without_weight_is_left_alone():
    rng = np.random.default_rng(5)
    other = rng.random((1, 3, 6))
    other[:, 1] = 0.0
    F, C = rng.random((1, 3, 4)), rng.random((1, 3, 4))
    before = F.copy()
    sweep(F, C, solution.gram(other), 3)
    np.testing.assert_array_equal(F[:, 1], before[:, 1])
    assert not np.array_equal(F[:, 0], before[:, 0])


@pytest.mark.parametrize("size", [1e-140, 1e-152, 1e-156, 1e-160, 5e-324])
def test_components_near_the_smallest_number_do_not_overflow(size):
    other = np.array([[[size, size], [1.0, 2.0]]])
    F = np.ones((1, 2, 1))
    sweep(F, np.array([[[5 * size], [3.0]]]), solution.gram(other), 1)
    assert np.isfinite(F).all()


@pytest.fixture(scope="module")
def larger():
    """120×200, rank 4 plus noise: large enough for the approach on a compressed X."""
    rng = np.random.default_rng(11)
    X = rng.gamma(0.5, 1.0, (120, 4)) @ rng.gamma(0.5, 1.0, (4, 200)) + 0.3 * rng.random((120, 200))
    problem = make_problem(X, 4)
    assert problem.compression_rank == 14
    return problem


def test_compression_keeps_what_a_truncated_svd_keeps(larger):
    X, packed = larger.dataset.X, larger.compression
    np.testing.assert_allclose(packed.U.T @ packed.U, np.eye(14), atol=1e-5)
    values = np.linalg.svd(X, compute_uv=False)
    lost = np.linalg.norm(X - packed.U.astype(float) @ packed.V.T.astype(float))
    assert lost <= 1.02 * np.sqrt((values[14:] ** 2).sum())
    assert packed.squared_norm == pytest.approx((values**2).sum() - lost**2, rel=1e-5)


def test_the_approach_ends_as_low_as_full_iterations_do(larger):
    X = larger.dataset.X
    A, W = random_starts(larger, 10)
    quick = hals.solve(larger, A, W, 2000, 1e-7)
    plain = solution.start_full(larger, A, W)
    while plain.active.any():
        plain = hals.advance(larger, plain, Stopping(5000, 1e-7))
    ours = [squared_error(X, *pair) for pair in zip(*quick, strict=True)]
    theirs = [squared_error(X, *pair) for pair in zip(*plain.particles, strict=True)]
    assert min(ours) <= 1.001 * min(theirs)
    assert np.median(ours) <= 1.01 * np.median(theirs)


def test_a_single_precision_approach_is_polished_in_double(larger):
    """At the end the error is stationary to far below single precision."""
    A, W = random_starts(larger, 2)
    A, W = hals.solve(larger, A, W, 20_000, 1e-13)
    residual = A[0] @ W[0] - larger.dataset.X
    gradient = residual @ W[0].T
    size = np.abs(larger.dataset.X @ W[0].T).max()
    assert gradient.min() >= -1e-5 * size
    assert np.abs(A[0] * gradient).max() <= 1e-6 * size * A[0].max()


def test_good_enough_stops_there_and_not_far_below(larger):
    A, W = random_starts(larger, 6)
    stopping = Stopping(2000, 1e-9, good_enough=0.2)
    A, W = solution.solve_with(hals.SOLVER, larger, A, W, stopping)
    norm = np.linalg.norm(larger.dataset.X)
    errors = [
        np.sqrt(squared_error(larger.dataset.X, *pair)) / norm for pair in zip(A, W, strict=True)
    ]
    assert max(errors) <= 0.2
    best = hals.solve(larger, A, W, 2000, 1e-7)
    assert (
        min(squared_error(larger.dataset.X, *p) for p in zip(*best, strict=True))
        < (min(errors) * norm) ** 2
    )


@pytest.mark.parametrize("solver", ["projected_gradient", "multiplicative"])
def test_the_other_solvers_come_to_the_same_minima(small, solver):
    problem = make_problem(small.X, 3)
    A, W = hals.solve(problem, *random_starts(problem, 5), 5000, 1e-9)
    rng = np.random.default_rng(0)
    away_A, away_W = (F * rng.uniform(0.9, 1.1, F.shape) + 1e-3 for F in (A, W))
    stopping = Stopping(20_000, 1e-10)
    back = solution.solve_with(SOLVERS[solver], problem, away_A, away_W, stopping)
    for m in range(5):
        ours = squared_error(small.X, back[0][m], back[1][m])
        assert ours <= 1.005 * squared_error(small.X, A[m], W[m])


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
    solved = hals.SOLVER.start(problem, A, W)
    while solved.active.any():
        solved = hals.advance(problem, solved, Stopping(most, tolerance))
    converged = solved.iterations < most
    assert 0 < converged.sum() < 12  # both kinds are there

    def error_after(m, iterations):
        pair = hals.solve(problem, A[m : m + 1], W[m : m + 1], int(iterations), 0.0)
        return squared_error(small.X, pair[0][0], pair[1][0])

    for m, used in enumerate(solved.iterations):
        now, earlier = error_after(m, used), error_after(m, used - solution.CHECK_EVERY)
        assert solved.squared_error[m] == pytest.approx(now, rel=1e-9)
        if converged[m]:
            assert earlier - now <= tolerance * now
        else:
            assert used == most


def test_one_step_is_bounded(small):
    work = 1000 * hals.work_per_iteration(make_problem(small.X, 3))
    fit = solution.iterations_that_fit(work)
    assert fit % solution.CHECK_EVERY == 0
    assert fit * work <= solution.STEP_WORK
    large = make_problem(np.ones((2000, 3000)), 50)
    assert solution.iterations_that_fit(1000 * hals.work_per_iteration(large)) == 1


def test_blocks_hold_every_particle_once():
    settings = from_starts.SolverSettings(block=20)
    assert from_starts.shard_sizes(settings, 45) == [20, 20, 5]
    assert from_starts.shard_sizes(settings, 40) == [20, 20]
    assert from_starts.shard_sizes(settings, 3) == [3]
