"""Variable projection of a long X: its derivatives, its minimum, and where it leads."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.solvers import hals, long_view, newton, projection
from bnmf_core.solvers.long_view import LongView, suits
from bnmf_core.solvers.nnls import improve_columns, solve_columns, solve_weights
from bnmf_core.solvers.reduced import bounded_minimum, inverses
from bnmf_core.solvers.solution import Stopping, random_start

D, N, R = 30, 1600, 3
TO_THE_END = Stopping(20_000, None, movement=1e-2, kkt=1e-6)


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def planted(rng, rank=R, noise=0.0, turned=False):
    X = rng.gamma(0.5, size=(D, rank)) @ rng.gamma(0.5, size=(rank, N)) + noise * rng.random((D, N))
    return np.ascontiguousarray(X.T) if turned else X


def problem_of(X) -> Problem:
    return Problem.without_model(Dataset.from_array(X), R)


def starts(problem, count):
    pairs = [random_start(problem.dataset, R, np.random.default_rng([7, i])) for i in range(count)]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def near(problem, count=4):
    state = hals.SOLVER.start(problem, *starts(problem, count))
    while state.approaching:
        state = hals.advance(problem, state, TO_THE_END)
    return state


def point_of(rng, X):
    seen_from = LongView.of(problem_of(X))
    return seen_from, seen_from.at(rng.random((R, D)), rng.random((R, N)))


def test_it_is_for_a_long_whole_compressed_matrix_of_low_rank(rng):
    X = planted(rng, noise=0.3)
    assert suits(problem_of(X)) and suits(problem_of(np.ascontiguousarray(X.T)))
    assert not suits(problem_of(X[:, : long_view.LONG * D - 1]))
    assert not suits(problem_of(X[:12]))  # it is not compressed
    assert not suits(Problem.without_model(Dataset.from_array(X), 9))
    assert not suits(
        Problem.without_model(Dataset.from_array(X), R, np.array([True, False, False]))
    )
    gaps = Dataset.from_array(X, mask=rng.random(X.shape) > 0.1)
    assert not suits(Problem.without_model(gaps, R))


@pytest.mark.parametrize("near_by", [0.0, 0.3, 3.0])
def test_improved_weights_are_those_of_the_active_set_method(rng, near_by):
    F = rng.random((4, 9))
    gram, target = F @ F.T, rng.normal(size=(50, 4))
    exact = solve_columns(gram[None], target)
    weights = np.maximum(exact + near_by * rng.normal(size=exact.shape), 0.0)
    sets, kind = np.unique(weights > 0.0, axis=0, return_inverse=True)
    improve_columns(gram, target, weights, inverses(gram, sets, 1e-12), kind)
    np.testing.assert_allclose(weights, exact, atol=1e-9)


def test_inverses_on_sets_of_components_are_those_of_numpy(rng):
    F = rng.random((5, 9))
    F[4] = F[3]  # together they have a pseudoinverse only
    G = F @ F.T
    sets = np.array([flags for flags in np.ndindex(2, 2, 2, 2, 2)], dtype=bool)
    for found, free in zip(inverses(G, sets, 1e-12), sets, strict=True):
        some = np.ix_(free, free)
        expected = np.zeros_like(G)
        if free.any():
            expected[some] = np.linalg.pinv(G[some], rcond=1e-12, hermitian=True)
        np.testing.assert_allclose(found, expected, atol=1e-8 * max(np.abs(expected).max(), 1.0))


@pytest.mark.parametrize("turned", [False, True])
def test_the_error_is_that_of_the_best_other_factor(rng, turned):
    X = planted(rng, noise=0.3, turned=turned)
    seen_from, point = point_of(rng, X)
    long = X.T if turned else X
    H = solve_weights(long, point.F.T[None])[0]
    np.testing.assert_allclose(point.H, H, atol=1e-9 * H.max())
    assert point.half == pytest.approx(0.5 * ((long - point.F.T @ H) ** 2).sum())
    A, W = (factor[0] for factor in projection.factors(seen_from, point))
    assert 0.5 * ((X - A.T @ W) ** 2).sum() == pytest.approx(point.half)


@pytest.mark.parametrize("turned", [False, True])
def test_the_model_holds_first_and_second_derivatives(rng, turned):
    X = planted(rng, rank=8, turned=turned)  # compression leaves nothing out
    seen_from, point = point_of(rng, X)
    model = seen_from.model(point)
    for _ in range(4):
        step = 1e-5 * rng.normal(size=(R, D))
        ends = [seen_from.at(point.F + sign * step, point.H) for sign in (1, -1)]
        fall = ends[0].half - ends[1].half
        assert np.vdot(model.gradient, 2 * step) == pytest.approx(fall, rel=1e-4)
        # The gradient by F of other length is that at length 1 divided by it.
        slopes = [
            seen_from.model(end).gradient / np.linalg.norm(F, axis=1, keepdims=True)
            for end, F in zip(ends, (point.F + step, point.F - step), strict=True)
        ]
        inner = np.einsum("rs,rs->r", point.F, step)
        along = (np.diag(model.second) * inner)[:, None] * point.F
        expected = 0.5 * (slopes[0] - slopes[1])
        np.testing.assert_allclose(
            model.times(step) - along, expected, atol=2e-3 * np.abs(expected).max()
        )


def test_its_minimum_is_that_of_the_table_of_second_derivatives(rng):
    problem = problem_of(planted(rng, noise=0.3))
    begun, seen_from = near(problem, 1), LongView.of(problem)
    point = seen_from.at(begun.A[0], begun.W[0])
    model = seen_from.model(point)
    unit = np.eye(R * D).reshape(-1, R, D)
    second = np.array([model.times(one).ravel() for one in unit])
    np.testing.assert_allclose(second, second.T, atol=1e-9 * np.abs(second).max())
    curvature = np.repeat(np.diag(model.second), D)
    for damping in (1e-3, 1e-1, 10.0):
        ours = seen_from.minimum(model, point.F, damping)
        theirs = bounded_minimum(second, model.gradient.ravel(), curvature, point.F, damping)
        assert ours[2] and theirs[2]
        np.testing.assert_allclose(ours[0], theirs[0], atol=1e-6)
        assert ours[1] == pytest.approx(theirs[1], rel=1e-6)
    model.S[0, 0] = 1e6 * second.max()
    assert not seen_from.minimum(model, point.F, 0.1)[2]


@pytest.mark.parametrize("kind", ["wide", "tall", "sparse"])
def test_the_error_never_rises_and_ends_at_a_minimum(rng, kind):
    X = planted(rng, noise=0.3, turned=kind == "tall")
    if kind == "sparse":
        X = sparse.csc_array(np.where(X > X.mean(), X, 0))
    problem = problem_of(X)
    state = near(problem)
    errors = [state.squared_error]
    while state.active.any():
        state = projection.advance(problem, state, TO_THE_END, 1)
        errors.append(state.squared_error)
    assert (np.diff(errors[1:], axis=0) <= 1e-12 * problem.dataset.squared_norm).all()
    assert TO_THE_END.converged(state.kkt, state.movement, state.gain).all()
    # Another method finds nothing left to do.
    kkt, movement, _ = newton.measured(problem, *state.particles)
    assert (kkt < 1e-5).all() and (movement < 0.05).all()


def test_no_bit_depends_on_how_many_rounds_a_step_has_nor_on_what_is_beside(rng):
    problem = problem_of(planted(rng, noise=0.3))
    begun = near(problem, 2)
    ends = []
    for rounds in (1, 7):
        state = begun
        while state.active.any():
            state = projection.advance(problem, state, TO_THE_END, rounds)
        ends.append(state)
    for name in ("A", "W", "iterations", "squared_error"):
        np.testing.assert_array_equal(getattr(ends[0], name), getattr(ends[1], name))


def test_an_exact_factorization_stays_where_it_is_and_an_empty_component_too(rng):
    A, W = rng.random((D, R)), rng.random((R, N))
    for empty in (False, True):
        if empty:
            A[:, 2], W[2] = 0.0, 0.0
        problem = problem_of(A @ W)
        state = hals.SOLVER.start(problem, A[None], W[None])
        while state.active.any():
            state = hals.advance(problem, state, Stopping(500, None))
        found, weights = (factor[0] for factor in state.particles)
        np.testing.assert_allclose(found @ weights, A @ W, atol=1e-4 * (A @ W).max())
        assert state.squared_error[0] <= 1e-9 * problem.dataset.squared_norm
