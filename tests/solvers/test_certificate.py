"""What "converged" rests on: nothing left to gain, told in nats, and ridges that have a verdict."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.linalg import block_diag

from bnmf_core import RunSpec, laurberg, load_sample, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.data.repair import hide_entries
from bnmf_core.solvers import hals, newton
from bnmf_core.solvers.directions import directions
from bnmf_core.solvers.solution import Stopping, nats, random_start, solve_with
from bnmf_core.solvers.stationarity import slopes, turned

STOPPING = Stopping(10_000, None)
TO_THE_END = Stopping(20_000, None, movement=1e-3, kkt=1e-7)


def planted(seed, D, N, R, noise=0.1):
    rng = np.random.default_rng(seed)
    A, W = rng.gamma(0.5, size=(D, R)), rng.gamma(0.5, size=(R, N))
    return np.maximum(A @ W + noise * rng.standard_normal((D, N)), 0.0)


def counts(D=300, N=400, R=6):
    """Logarithms of few counts, most of them noise: components tell little of such an X."""
    rng = np.random.default_rng(4)
    A, W = rng.gamma(0.3, size=(D, R)), rng.gamma(0.3, size=(R, N))
    return Dataset.from_array(sparse.csc_array(np.log1p(rng.poisson(0.3 * A @ W))))


def problem_of(X, rank):
    data = X if isinstance(X, Dataset) else Dataset.from_array(X)
    return Problem.without_model(data, rank)


def on(problem, state, stopping=STOPPING):
    while state.active.any():
        state = hals.advance(problem, state, stopping)
    return state


def solved(problem, count, seed=0, stopping=STOPPING):
    pairs = [
        random_start(problem.dataset, problem.rank, np.random.default_rng([seed, i]))
        for i in range(count)
    ]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    return on(problem, hals.SOLVER.start(problem, A, W), stopping)


def gone_on(problem, state):
    """The same factorizations after ten times as many iterations, and nats that these gained."""
    most = max(11 * int(state.iterations.max()), int(state.iterations.max()) + 1000)
    endless = Stopping(most, None, movement=1e-9, kkt=1e-13, gain=-1.0)
    begun = replace(state, active=np.ones_like(state.active), idle=0 * state.idle)
    end = on(problem, begun, endless)
    before, after = (slopes(problem, one.A, one.W).squared_error for one in (state, end))
    return end, nats(problem, 0.5 * (before - after), before)


def ridge():
    """A block with a continuum of factorizations beside one whose noise covers what they differ by.

    The problem, and a start on the ridge: A (1, D, R), W (1, R, N).
    """
    near = laurberg("infinite", noise=1e-3, rng=np.random.default_rng(0))
    block = Problem.without_model(near, 6)
    A, W = random_start(near, 6, np.random.default_rng([2, 3]))
    A, W = hals.solve(block, A[None], W[None], 300, 1e-7)
    rng = np.random.default_rng(1)
    a, w = rng.gamma(0.5, size=(8, 1)), rng.gamma(0.5, size=(1, 10))
    noisy = np.maximum(a @ w + 0.3 * rng.standard_normal((8, 10)), 0.0)
    A, W = (F + 1e-3 * rng.random(F.shape) for F in (block_diag(A[0], a), block_diag(W[0], w)))
    return problem_of(block_diag(np.asarray(near.X), noisy), 7), A[None], W[None]


@pytest.mark.parametrize("kind", ["whole", "gaps", "sparse"])
def test_the_gain_is_by_how_much_the_error_would_fall(kind):
    data = counts() if kind == "sparse" else Dataset.from_array(planted(1, 40, 50, 3))
    rng = np.random.default_rng(2)
    if kind == "gaps":
        data = hide_entries(data, 0.2, rng)
    problem = problem_of(data, 3)
    A, W = solved(problem, 1, stopping=TO_THE_END).particles
    least = slopes(problem, np.ascontiguousarray(A.transpose(0, 2, 1)), W).squared_error
    A, W = (F * (1 + 3e-3 * rng.standard_normal(F.shape)) for F in (A, W))
    now = slopes(problem, np.ascontiguousarray(A.transpose(0, 2, 1)), W).squared_error
    seen = data.D * data.N - data.missing
    _, _, gain = newton.measured(problem, A, W)
    assert gain[0] == pytest.approx(0.5 * (now - least)[0] / (now[0] / seen), rel=0.1)


@pytest.mark.parametrize("dense", [False, True])
def test_an_exact_direction_is_that_of_the_whole_matrix(dense):
    """X compressed has another Hessian; the exact one is the same however X is stored."""
    data = counts(150, 160)
    problem = problem_of(data.X.toarray() if dense else data, 4)
    A, W = solve_with(hals.SOLVER, problem, *(F[None] for F in start_of(problem)), Stopping(60))
    A = np.ascontiguousarray(A.transpose(0, 2, 1))
    found = slopes(problem, A, W)
    asked = problem, A, W, found, 1e-2, np.array([400]), np.array([np.inf])
    exact = directions(*asked, exact=True)

    def slope(size):
        here = slopes(problem, A + size * exact.A, W + size * exact.W)
        return np.r_[here.A.ravel(), here.W.ravel()]

    d = np.r_[exact.A.ravel(), exact.W.ravel()]
    free = d != -np.r_[A.ravel(), W.ravel()]
    left = slope(0.0) + (slope(1e-5) - slope(-1e-5)) / 2e-5
    assert exact.solved[0]
    assert np.linalg.norm(left[free]) < 0.1 * np.linalg.norm(slope(0.0)[free])


def start_of(problem):
    return random_start(problem.dataset, problem.rank, np.random.default_rng(3))


CASES = {
    "small": (planted(1, 12, 15, 4), 4),
    "signatures": (load_sample("signatures"), 3),
    "compressed": (planted(2, 130, 140, 5, noise=0.5), 5),
    "sparse": (counts(), 6),
    "long": (planted(3, 20, 1200, 3), 3),
}


@pytest.mark.parametrize("case", CASES)
def test_one_optimum_is_converged_to_and_nothing_is_gained_beyond(case):
    problem = problem_of(*CASES[case])
    state = solved(problem, 8 if case in ("small", "signatures") else 3)
    assert STOPPING.converged(state.kkt, state.movement, state.gain).all()
    assert not state.ridge.any() and (state.iterations < 2_000).all()
    _, gained = gone_on(problem, state)
    assert (gained <= 0.1).all()


def test_a_ridge_has_its_verdict_at_once_and_nothing_to_gain():
    problem, A, W = ridge()
    state = on(problem, hals.SOLVER.start(problem, A, W))
    assert state.ridge.all() and (state.iterations < 300).all()
    assert not STOPPING.converged(state.kkt, state.movement, state.gain).any()
    end, gained = gone_on(problem, state)
    assert (gained <= 0.1).all() and (turned(state.A, end.A) > 1.0).all()


def test_a_fit_that_is_exact_has_nothing_to_gain():
    made = run(laurberg("two"), RunSpec("random_restarts", 3, particles=4))
    assert made.diagnostics["converged"].all() and not made.diagnostics["ridge"].any()
    assert (made.diagnostics["gain"] <= STOPPING.gain).all()


@pytest.mark.parametrize("case", ["small", "sparse"])
def test_what_cannot_be_bettered_ends(case):
    """Where no limit is ever met, a factorization rests once its steps are rounding."""
    problem = problem_of(*CASES[case])
    state = solved(problem, 2)
    end, _ = gone_on(problem, state)
    assert (end.iterations < state.iterations + 1_000).all() and not end.ridge.any()
