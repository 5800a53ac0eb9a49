"""The approach on a part of X: it starts well, spoils nothing, and is the particle's own."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import RunSpec, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.data.repair import hide_entries
from bnmf_core.explorers.from_starts import AS_PUBLISHED
from bnmf_core.solvers import hals, sampling
from bnmf_core.solvers.nnls import solve_weights
from bnmf_core.solvers.solution import Stopping, random_start
from bnmf_core.solvers.stationarity import slopes

D, N, R = 30, 2000, 3
PUBLISHED = Stopping(300, 5e-5)


def planted(seed=0, noise=0.3):
    rng = np.random.default_rng(seed)
    A, W = rng.gamma(0.5, size=(D, R)), rng.gamma(0.5, size=(R, N))
    return A, W, A @ W + noise * rng.random((D, N))


def problem_of(X) -> Problem:
    return Problem.without_model(Dataset.from_array(X), R)


def begun(problem, A, W, sampled=True):
    state = hals.SOLVER.start(problem, A, W)
    generators = [np.random.default_rng([9, i]) for i in range(len(A))]
    return sampling.drawn(problem, state, generators) if sampled else state


def starts(problem, count):
    pairs = [random_start(problem.dataset, R, np.random.default_rng([4, i])) for i in range(count)]
    return np.stack([A for A, _ in pairs]), np.stack([W for _, W in pairs])


def solved(problem, state, stopping=PUBLISHED):
    while state.active.any():
        state = hals.advance(problem, state, stopping)
    return state


def test_parts_are_used_where_one_side_is_much_longer():
    X = planted()[2]
    assert sampling.count(problem_of(X)) == N // (sampling.LINES * D) == 9
    assert sampling.count(problem_of(np.ascontiguousarray(X.T))) == 9
    assert sampling.count(problem_of(X[:, : sampling.FEWEST * sampling.LINES * D - 1])) == 1
    assert sampling.count(problem_of(X[:6])) == 1  # it is not compressed
    held = np.array([True, False, False])
    assert sampling.count(Problem.without_model(Dataset.from_array(X), R, held)) == 1


def test_the_parts_hold_every_line_once():
    problem = problem_of(planted()[2])
    parts = [sampling._lines(problem, part)[0] for part in range(sampling.count(problem))]
    np.testing.assert_array_equal(np.sort(np.concatenate(parts)), np.arange(N))
    assert min(part.size for part in parts) >= sampling.LINES * D


@pytest.mark.parametrize("turned", [False, True])
def test_weights_of_all_columns_are_those_of_least_squares(turned):
    A, _, X = planted()
    X = np.ascontiguousarray(X.T) if turned else X
    problem = problem_of(X)
    compressed = problem.compression.U.astype(float) @ problem.compression.V.T
    factors = starts(problem, 1)
    if turned:
        state = begun(problem, factors[0], np.ascontiguousarray(A.T)[None])
        short, long, exact = state.W, state.A, solve_weights(compressed.T, A[None])
    else:
        state = begun(problem, A[None], factors[1])
        short, long, exact = state.A, state.W, solve_weights(compressed, A[None])
    lines, _ = sampling._lines(problem, int(state.part[0]))
    long[0][:, lines] = exact[0][:, lines]
    before = short.copy()
    sampling.extend(problem, state, 0)
    np.testing.assert_array_equal(short, before)
    np.testing.assert_allclose(long, exact, atol=1e-3 * exact.max())


def test_an_exact_factorization_stays_where_it_is_even_with_one_component_twice():
    A, W, _ = planted()
    for twice in (False, True):
        if twice:
            A[:, 2] = A[:, 1]
        problem = problem_of(A @ W)
        state = solved(problem, begun(problem, A[None], W[None]))
        np.testing.assert_allclose(state.particles[0][0], A, atol=2e-4 * A.max())
        np.testing.assert_allclose(state.particles[1][0], W, atol=2e-4 * W.max())
        assert state.squared_error[0] <= 1e-7 * problem.dataset.squared_norm


@pytest.mark.parametrize("kind", ["whole", "gaps", "sparse", "tall"])
def test_from_the_extension_on_the_error_never_rises(kind):
    X = planted()[2]
    data = Dataset.from_array(X.T.copy() if kind == "tall" else X)
    if kind == "gaps":
        data = hide_entries(data, 0.1, np.random.default_rng(1))
    if kind == "sparse":
        data = Dataset.from_array(sparse.csc_array(np.where(X > X.mean(), X, 0)))
    problem = Problem.without_model(data, R)
    state = begun(problem, *starts(problem, 2))
    assert (state.part >= 0).all()
    while (state.part >= 0).any():
        state = hals.advance(problem, state, PUBLISHED)
    # A completed X is what is approached; single precision carries noise.
    completed = Problem.without_model(Dataset.from_array(problem.completed), R)
    errors = [slopes(completed, state.A, state.W).squared_error]
    while state.approaching:
        state = hals.advance(problem, state, PUBLISHED)
        errors.append(slopes(completed, state.A, state.W).squared_error)
    whole = [slopes(problem, state.A, state.W).squared_error]
    while state.active.any():
        state = hals.advance(problem, state, PUBLISHED)
        whole.append(slopes(problem, state.A, state.W).squared_error)
    slack = 1e-6 * completed.dataset.squared_norm
    assert len(errors) > 1 and len(whole) > 1
    assert (np.diff(errors, axis=0) <= slack).all()
    assert (np.diff(whole, axis=0) <= 1e-12 * data.squared_norm).all()
    assert state.particles[0].min() >= 0 and state.particles[1].min() >= 0


def test_it_ends_as_low_as_without_parts():
    problem = problem_of(planted(noise=1.0)[2])
    factors = starts(problem, 40)
    for stopping, slack in ((PUBLISHED, 2e-3), (Stopping(10_000, None), 1e-5)):
        ours, theirs = (
            solved(problem, begun(problem, *factors, sampled), stopping).squared_error
            for sampled in (True, False)
        )
        assert np.median(ours) <= (1 + slack) * np.median(theirs)
        assert ours.max() <= (1 + slack) * theirs.max()


def test_a_particle_depends_neither_on_its_block_nor_on_the_others():
    data = Dataset.from_array(planted()[2])

    def made(**settings):
        return run(data, RunSpec("random_restarts", R, particles=6, settings=settings))

    alone, four, six = (made(block=block, **AS_PUBLISHED) for block in (1, 4, 6))
    for other in (four, six):
        np.testing.assert_allclose(other.A, alone.A, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(made(block=4, **AS_PUBLISHED).A, four.A)


@pytest.mark.parametrize(("settings", "used"), [({}, False), (AS_PUBLISHED, True)])
def test_parts_are_used_where_a_drop_in_error_is_what_stops(monkeypatch, settings, used):
    asked = []
    extend = sampling.extend
    monkeypatch.setattr(sampling, "extend", lambda *given: asked.append(1) or extend(*given))
    data = Dataset.from_array(planted()[2])
    for algorithm in ("random_restarts", "q_transform"):
        run(data, RunSpec(algorithm, R, particles=2, settings=settings))
    assert len(asked) == (4 if used else 0)


def test_few_iterations_leave_parts_out():
    problem = problem_of(planted()[2])
    state = begun(problem, *starts(problem, 2))
    kept = replace(state, part=np.full(2, -1))
    few = Stopping(15, 0.0)
    np.testing.assert_array_equal(
        solved(problem, state, few).particles[0], solved(problem, kept, few).particles[0]
    )
