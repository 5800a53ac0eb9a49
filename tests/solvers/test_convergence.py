"""When a factorization has converged: residual and movement say what they promise."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import RunSpec, laurberg, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.repair import hide_entries
from bnmf_core.solvers import SOLVERS, hals, newton
from bnmf_core.solvers.solution import Stopping, random_start, solve_with
from bnmf_core.solvers.stationarity import kkt_residuals, slopes, turned

OF_SQUARED_ERROR = [key for key, solver in SOLVERS.items() if solver.serves(SQUARED_ERROR)]
TO_THE_END = Stopping(20_000, None, movement=1e-3, kkt=1e-6)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def problem_of(X, rank) -> Problem:
    return Problem.without_model(Dataset.from_array(X), rank)


def planted(rng, D=30, N=40, R=3, noise=0.1):
    A, W = (rng.gamma(0.5, size=shape) for shape in ((D, R), (R, N)))
    return A @ W + noise * rng.random((D, N))


def starts(problem, count, seed=0):
    pairs = [
        random_start(problem.dataset, problem.rank, np.random.default_rng([seed, i]))
        for i in range(count)
    ]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def residual(X, A, W):
    return newton.measured(problem_of(X, A.shape[2]), A, W)[0]


def two_blocks(rng):
    """X of two blocks and their leading singular pairs: stationary, with an error of its own."""
    X, A, W = np.zeros((9, 11)), np.zeros((1, 9, 2)), np.zeros((1, 2, 11))
    for r, (rows, columns) in enumerate(((slice(0, 4), slice(0, 5)), (slice(4, 9), slice(5, 11)))):
        block = rng.random((rows.stop - rows.start, columns.stop - columns.start))
        X[rows, columns] = block
        U, s, Vt = np.linalg.svd(block)
        A[0, rows, r], W[0, r, columns] = np.abs(U[:, 0]) * s[0], np.abs(Vt[0])
    return X, A, W


def test_the_residual_is_zero_at_stationary_points_and_nowhere_near(rng):
    X, A, W = two_blocks(rng)
    assert residual(X, A, W)[0] < 1e-14
    # A part that wants to grow, and one that wants to shrink.
    for change in (0.9, 1.1):
        moved = A.copy()
        moved[0, 2, 0] *= change
        assert residual(X, moved, W)[0] > 1e-3
    # A zero whose gradient is negative is not at its minimiser.
    gone = A.copy()
    gone[0, 2, 0] = 0.0
    assert residual(X, gone, W)[0] > 1e-2
    A, W = rng.random((1, 7, 3)), rng.random((1, 3, 8))
    assert residual(A[0] @ W[0], A, W)[0] < 1e-13


def test_the_residual_knows_neither_units_nor_scale_nor_order(rng):
    X = planted(rng)
    A, W = (F[None] for F in (rng.random((30, 3)), rng.random((3, 40))))
    expected = residual(X, A, W)
    assert 1e-3 < expected[0] < 10
    scale, order = np.array([1e-6, 3.0, 1e4]), [2, 0, 1]
    for units in (1e-7, 1.0, 1e5):
        other = residual(units * X, units * A * scale, W / scale[:, None])
        np.testing.assert_allclose(other, expected, rtol=1e-9)
        other = residual(units * X, A[:, :, order], units * W[:, order])
        np.testing.assert_allclose(other, expected, rtol=1e-9)


@pytest.mark.parametrize("gaps", [False, True])
def test_the_slopes_are_derivatives(rng, gaps):
    X = planted(rng, 6, 7, 2)
    data = Dataset.from_array(X)
    if gaps:
        data = hide_entries(data, 0.3, rng)
    seen = np.ones_like(X) if not gaps else np.asarray(data.mask, dtype=float)
    problem = Problem.without_model(data, 2)
    A, W = rng.random((2, 6)), rng.random((2, 7))
    found = slopes(problem, A[None], W[None])

    def half(A, W):
        return 0.5 * (seen * (X - A.T @ W) ** 2).sum()

    assert found.squared_error[0] == pytest.approx(2 * half(A, W))
    for name, F, G in (("A", A, found.A[0]), ("W", W, found.W[0])):
        for r, i in np.ndindex(F.shape):
            step = np.zeros_like(F)
            step[r, i] = 1e-5
            ends = [
                half(A + s * step, W) if name == "A" else half(A, W + s * step) for s in (1, -1)
            ]
            assert G[r, i] == pytest.approx((ends[0] - ends[1]) / 2e-5, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize(("D", "N", "R"), [(8, 9, 2), (11, 30, 3), (12, 40, 6)])
def test_a_newton_direction_leads_to_the_minimum_of_the_quadratic(rng, D, N, R, gaps):
    X = planted(rng, D, N, R, noise=0.02)
    data = hide_entries(Dataset.from_array(X), 0.2, rng) if gaps else Dataset.from_array(X)
    problem = Problem.without_model(data, R)
    A, W = solve_with(hals.SOLVER, problem, *starts(problem, 1), Stopping(2000, None))
    At = np.ascontiguousarray(A.transpose(0, 2, 1))
    At, W = At * (1 + 1e-3 * rng.random(At.shape)), W * (1 + 1e-3 * rng.random(W.shape))

    def slope(z):
        found = slopes(problem, z[: At.size].reshape(At.shape), z[At.size :].reshape(W.shape))
        return np.r_[found.A.ravel(), found.W.ravel()]

    z = np.r_[At.ravel(), W.ravel()]
    found = slopes(problem, At, W)
    towards = newton.directions(problem, At, W, found, 1e-2, np.array([5000]), np.array([np.inf]))
    assert towards.solved[0]
    d = np.r_[towards.A.ravel(), towards.W.ravel()]
    steps = 1e-6 * np.eye(z.size)
    H = np.array([(slope(z + e) - slope(z - e)) / 2e-6 for e in steps])
    g = slope(z)
    curvature = np.r_[
        np.broadcast_to(found.curvature_A, At.shape).ravel(),
        np.broadcast_to(found.curvature_W, W.shape).ravel(),
    ]
    if not gaps:  # with gaps the curvature that tells is an average
        free = z > g / curvature
        np.testing.assert_allclose(d[~free], -z[~free], atol=1e-12)
    free = d != -z
    left = (g + H[:, free] @ d[free])[free]
    assert np.linalg.norm(left) < 0.05 * np.linalg.norm(g[free])


@pytest.mark.parametrize("kind", ["whole", "gaps", "sparse", "compressed"])
def test_the_error_never_rises_and_ends_at_a_minimum(rng, kind):
    D, N = (150, 160) if kind == "compressed" else (20, 30)
    data = Dataset.from_array(planted(rng, D, N))
    if kind == "gaps":
        data = hide_entries(data, 0.2, rng)
    if kind == "sparse":
        data = Dataset.from_array(sparse.csc_array(np.where(data.X > data.X.mean(), data.X, 0)))
    problem = Problem.without_model(data, 3)
    state = hals.SOLVER.start(problem, *starts(problem, 4))
    while state.approaching:
        state = hals.advance(problem, state, TO_THE_END)
    errors = []
    for _ in range(400):
        errors.append(slopes(problem, state.A, state.W).squared_error)
        state = newton.advance(problem, state, TO_THE_END, 1)
        if not state.active.any():
            break
    errors = np.array(errors)
    assert (np.diff(errors, axis=0) <= 1e-12 * data.squared_norm).all()
    kkt, movement, _ = newton.measured(problem, *state.particles)
    assert (kkt < 1e-5).all() and (movement < 0.05).all()


@pytest.mark.parametrize("solver", OF_SQUARED_ERROR)
def test_a_factorization_that_stops_by_itself_has_converged(solver):
    settings = {"solver": solver, "movement": 5.0, "kkt": 0.01}
    noisy = laurberg("two", noise=0.1, rng=np.random.default_rng(0))
    made = run(noisy, RunSpec("random_restarts", 3, particles=4, settings=settings))
    assert made.diagnostics["converged"].all() and (made.diagnostics["iterations"] < 10_000).all()
    assert (made.movement <= 5.0).all() and (made.kkt <= 0.01).all()
    cut = {"solver": solver, "max_iterations": 10}
    made = run(
        laurberg("two", noise=0.1, rng=np.random.default_rng(0)),
        RunSpec("random_restarts", 3, particles=4, settings=cut),
    )
    assert (made.diagnostics["iterations"] <= 10).all()
    expected = Stopping().converged(made.kkt, made.movement, made.diagnostics["gain"])
    np.testing.assert_array_equal(made.diagnostics["converged"], expected)


def test_a_drop_in_error_stops_as_published(small):
    problem = problem_of(small.X, 3)
    A, W = starts(problem, 5)
    published = {"tolerance": 5e-5, "max_iterations": 300}
    expected, _ = solve_with(hals.SOLVER, problem, A, W, Stopping(300, 5e-5))
    state = hals.SOLVER.start(problem, A, W)
    while state.active.any():
        state = hals.advance(problem, state, Stopping(300, 5e-5, movement=1e-9, kkt=1e-9))
    np.testing.assert_array_equal(state.particles[0], expected)
    made = run(small, RunSpec("random_restarts", 3, particles=5, settings=published))
    assert np.isfinite(made.movement).all() and np.isfinite(made.kkt).all()


def turned_when_doubled(problem, state):
    """Degrees that each factorization turns in as many iterations again."""
    result = np.zeros(state.iterations.size)
    for i, done in enumerate(state.iterations):
        A, W = (F[i : i + 1] for F in state.particles)
        on = Stopping(int(done), None, movement=0.0, kkt=0.0)
        A, _ = solve_with(hals.SOLVER, problem, A, W, on)
        result[i] = turned(state.A[i : i + 1], A.transpose(0, 2, 1))[0]
    return result


def test_no_factorization_turns_further_than_its_movement_when_its_iterations_double():
    within = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = planted(rng, int(rng.integers(10, 40)), int(rng.integers(10, 40)), 3, noise=0.3)
        problem = problem_of(X, 3)
        state = hals.SOLVER.start(problem, *starts(problem, 10, seed))
        stopping = Stopping(20_000, None)
        while state.active.any():
            state = hals.advance(problem, state, stopping)
        assert stopping.converged(state.kkt, state.movement, state.gain).mean() > 0.9
        _, movement, _ = newton.measured(problem, *state.particles)
        within.append(turned_when_doubled(problem, state) <= movement)
    assert np.mean(within) >= 0.95


def test_the_residual_is_that_of_its_definition(rng):
    X = planted(rng, 5, 6, 2)
    A, W = rng.random((5, 2)) * [1, 30], rng.random((2, 6))
    A[0, 0] = W[1, 2] = 0.0
    far = whole = 0.0
    for r in range(2):
        a, w = A[:, r], W[r]
        E = A @ W - X
        d, e = np.minimum(a, E @ w / (w @ w)), np.minimum(w, a @ E / (a @ a))
        far += d @ d * (w @ w) + a @ a * (e @ e)
        whole += 2 * (a @ a) * (w @ w)
    found = slopes(problem_of(X, 2), A.T[None], W[None])
    assert kkt_residuals(A.T[None], W[None], found)[0] == pytest.approx(np.sqrt(far / whole))


# A small X, one for Newton's method, and a long one: each has a way of its own to its minimum.
@pytest.mark.parametrize(("D", "N"), [(6, 20), (120, 130), (30, 1600)])
def test_where_any_way_left_is_allowed_the_residual_decides(rng, D, N):
    problem = problem_of(planted(rng, D, N, noise=0.5), 3)
    begun = starts(problem, 4)
    by_both, by_residual = (
        Stopping(20_000, None, movement=movement, kkt=1e-4) for movement in (1e-3, 90.0)
    )
    solutions = []
    for stopping in (by_both, by_residual):
        solution = hals.SOLVER.start(problem, *begun)
        while solution.active.any():
            solution = hals.advance(problem, solution, stopping)
        solutions.append(solution)
        A, W = solution.particles
        assert (newton.measured(problem, A, W)[0] <= 1.01e-4).all()
    # None is asked how far it has to go, and so none says it, and none goes on for longer.
    assert np.isnan(solutions[1].movement).all()
    # One that no step helps beyond rounding ends without saying how far it has to go; not far.
    assert (newton.with_unmeasured(problem, solutions[0])[1] <= 0.1).all()
    assert (solutions[1].iterations <= solutions[0].iterations).all()
    left = newton.with_unmeasured(problem, solutions[1])
    assert by_residual.converged(*left).all() and not by_both.converged(*left).all()
