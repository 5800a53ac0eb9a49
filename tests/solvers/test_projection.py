"""Variable projection: one factor as a function of the other, and its minimum."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.samples import load_sample
from bnmf_core.solvers import hals, newton, projection
from bnmf_core.solvers.nnls import solve_weights
from bnmf_core.solvers.reduced import bounded_minimum, largest_angle
from bnmf_core.solvers.solution import Stopping, random_start
from bnmf_core.solvers.stationarity import turned

TO_THE_END = Stopping(20_000, None, movement=1e-2, kkt=1e-6)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def problem_of(rng, shape=(12, 9), rank=3, gaps=False, noise=0.3):
    D, N = shape
    A, W = (rng.gamma(0.5, size=size) for size in ((D, rank), (rank, N)))
    data = Dataset.from_array(A @ W + noise * rng.random(shape))
    return Problem.without_model(hide_entries(data, 0.2, rng) if gaps else data, rank)


def starts(problem, count):
    pairs = [
        random_start(problem.dataset, problem.rank, np.random.default_rng([7, i]))
        for i in range(count)
    ]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shape", [(12, 9), (9, 12)])
def test_the_error_is_that_of_the_best_other_factor(rng, shape, gaps):
    problem = problem_of(rng, shape, gaps=gaps)
    seen_from = projection.view(problem)
    F = rng.random((3, 9))
    point = seen_from.at(F)
    A, W = (factor[0] for factor in projection.factors(seen_from, point))
    X, mask = np.asarray(problem.dataset.X), problem.dataset.mask
    if seen_from.turned:
        other = solve_weights(X.T, F.T[None], None if mask is None else mask.T)[0]
        expected = X - (F.T @ other).T
    else:
        expected = X - F.T @ solve_weights(X, F.T[None], mask)[0]
    for residual in (expected, X - A.T @ W):
        kept = residual if mask is None else residual[mask]
        assert point.half == pytest.approx(0.5 * (kept**2).sum())


@pytest.mark.parametrize("gaps", [False, True])
def test_the_model_holds_first_and_second_derivatives(rng, gaps):
    problem = problem_of(rng, gaps=gaps)
    seen_from = projection.view(problem)
    point = seen_from.at(rng.random((3, 9)))
    second, gradient, curvature = seen_from.model(point)
    steps = 1e-5 * np.eye(27).reshape(27, 3, 9)
    ends = [[seen_from.at(point.F + sign * step) for sign in (1, -1)] for step in steps]
    expected = [(plus.half - minus.half) / 2e-5 for plus, minus in ends]
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-7)
    # The gradient by F of other length is that at length 1 divided by it.
    slopes = np.array(
        [
            [
                (end.H @ end.residual.T / np.linalg.norm(F, axis=1, keepdims=True)).ravel()
                for end, F in zip(pair, (point.F + step, point.F - step), strict=True)
            ]
            for pair, step in zip(ends, steps, strict=True)
        ]
    )
    along = np.zeros((27, 27))
    for r in range(3):
        part = slice(9 * r, 9 * r + 9)
        along[part, part] = curvature[part].mean() * np.outer(point.F[r], point.F[r])
    expected = (slopes[:, 0] - slopes[:, 1]) / 2e-5
    np.testing.assert_allclose(second - along, expected, atol=1e-5 * np.abs(second).max())


def test_a_bounded_minimum_is_the_one_of_a_general_method(rng):
    for _ in range(20):
        J, F = rng.normal(size=(12, 8)), np.maximum(rng.normal(size=(2, 4)), 0.0)
        second, gradient = J.T @ J, 3 * rng.normal(size=8)
        curvature, x = np.diag(second).copy(), F.ravel()
        damped = second + 0.1 * np.diag(curvature)
        reached, promised, found = bounded_minimum(second, gradient, curvature, F, 0.1)

        def fall(d, gradient=gradient, damped=damped):
            return gradient @ d + 0.5 * d @ damped @ d, gradient + damped @ d

        expected = minimize(
            fall, 0 * x, jac=True, bounds=[(-one, None) for one in x], method="L-BFGS-B", tol=1e-14
        )
        assert found
        d = reached.ravel() - x
        np.testing.assert_allclose(d, expected.x, atol=1e-4)
        assert promised == pytest.approx(-gradient @ d - 0.5 * d @ second @ d)
    assert not bounded_minimum(-np.eye(4), -np.ones(4), np.ones(4), np.ones((2, 2)), 0.1)[2]


def test_angles_are_those_of_the_general_function(rng):
    before, after = rng.random((4, 9)), rng.random((4, 9))
    for change in (after, before * 3.0 + 1e-7 * after, np.where(np.arange(4) == 2, 0, after.T).T):
        expected = turned(before[None], change[None])[0]
        assert np.degrees(largest_angle(before, change)) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("shape", [(30, 20), (20, 30)])
def test_the_error_never_rises_and_ends_at_a_minimum(rng, shape, gaps):
    problem = problem_of(rng, shape, gaps=gaps)
    state = hals.SOLVER.start(problem, *starts(problem, 6))
    while state.approaching:
        state = hals.advance(problem, state, TO_THE_END)
    errors = [state.squared_error]
    while state.active.any():
        state = projection.advance(problem, state, TO_THE_END, 1)
        errors.append(state.squared_error)
    assert (np.diff(errors[1:], axis=0) <= 1e-12 * problem.dataset.squared_norm).all()
    assert TO_THE_END.converged(state.kkt, state.movement, state.gain).all()
    # Another method finds nothing left to do.
    kkt, movement, _ = newton.measured(problem, *state.particles)
    assert (kkt < 1e-5).all() and (movement < 0.05).all()


@pytest.mark.slow
@pytest.mark.parametrize("hidden", [0.0, 0.1])
def test_signatures_converge_and_turn_no_further_than_they_say(rng, hidden):
    data = load_sample("signatures")
    problem = Problem.without_model(hide_entries(data, hidden, rng) if hidden else data, 4)
    state = hals.SOLVER.start(problem, *starts(problem, 20))
    stopping = Stopping(10_000, None)
    while state.active.any():
        state = hals.advance(problem, state, stopping)
    assert stopping.converged(state.kkt, state.movement, state.gain).all()
    end = hals.SOLVER.start(problem, *state.particles)
    while end.active.any():
        end = hals.advance(problem, end, TO_THE_END)
    assert (turned(state.A, end.A) <= state.movement).mean() >= 0.95


def test_a_step_ends_when_nothing_is_left_to_do(rng, monkeypatch):
    """Of a tiny X a step has room for millions of rounds; the rest must not be counted through."""
    monkeypatch.setattr(hals.shared, "STEP_WORK", 1e18)
    problem = Problem.without_model(Dataset.from_array(np.array([[1.0, 3.0], [2.0, 4.0]])), 1)
    assert projection.suits(problem)
    state = hals.SOLVER.start(problem, rng.random((3, 2, 1)), rng.random((3, 1, 2)))
    steps = 0
    while state.active.any():
        state = hals.advance(problem, state, Stopping(100, None, 0.0))
        steps += 1
    assert steps <= 3
    np.testing.assert_allclose(state.squared_error, np.linalg.svd(problem.dataset.X)[1][1] ** 2)
