"""Held components stay, tied entries keep their share, and all else is at a minimum given these."""

import numpy as np
import pytest
from scipy.optimize import minimize

from bnmf_core import Dataset, laurberg
from bnmf_core.core.problem import Problem
from bnmf_core.solvers import hals, newton
from bnmf_core.solvers.solution import Stopping, random_start
from bnmf_core.solvers.ties import Ties, start_tied

TO_THE_END = Stopping(20_000, None, movement=1e-3, kkt=1e-6)


def planted(seed, D=9, N=14, R=3, noise=0.2):
    rng = np.random.default_rng(seed)
    return rng.gamma(0.5, size=(D, R)) @ rng.gamma(0.5, size=(R, N)) + noise * rng.random((D, N))


def solved(problem, state):
    while state.active.any():
        state = hals.advance(problem, state, TO_THE_END)
    return state


def shares(A):
    return A / A.sum(axis=-2, keepdims=True)


def rest_by_quasi_newton(X, A, W, free, seen=None):
    """‖X − AW‖² at the minimum over all of W and the ``free`` (D, R) entries of A, from here.

    By L-BFGS-B on the entries themselves: a way that has nothing in common with the solver.
    """
    S = np.ones_like(X) if seen is None else seen
    count = int(free.sum())

    def of(z):
        now = A.copy()
        now[free] = z[:count]
        return now, z[count:].reshape(W.shape)

    def value(z):
        now, H = of(z)
        residual = S * (now @ H - X)
        slope = np.concatenate([(residual @ H.T)[free], (now.T @ residual).ravel()])
        return 0.5 * (residual**2).sum(), slope

    z = np.concatenate([A[free], W.ravel()])
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(
        value, z, jac=True, method="L-BFGS-B", bounds=[(0, None)] * z.size, options=options
    )
    return 2 * found.fun


@pytest.mark.parametrize("sizes", [(9, 14), (160, 180)], ids=["small", "compressed"])
@pytest.mark.parametrize("gaps", [False, True])
def test_held_columns_keep_their_direction_and_the_rest_is_at_its_minimum(sizes, gaps):
    X = planted(0, *sizes)
    rng = np.random.default_rng(1)
    mask = rng.random(X.shape) > 0.2 if gaps else None
    data = Dataset.from_array(X, mask=mask)
    held = np.array([True, False, False])
    problem = Problem.without_model(data, 3, held)
    assert (problem.compression_rank is None) == (sizes == (9, 14))
    A, W = (factor[None] for factor in random_start(data, 3, rng))
    state = solved(problem, hals.SOLVER.start(problem, A, W))
    found, weights = (factor[0] for factor in state.particles)
    assert found[:, 0] / found[:, 0].sum() == pytest.approx(A[0, :, 0] / A[0, :, 0].sum(), rel=1e-9)
    assert state.movement[0] <= TO_THE_END.movement
    seen = None if mask is None else mask.astype(float)
    free = np.zeros(found.shape, dtype=bool)
    free[:, 1:] = True
    filled = X if mask is None else np.where(mask, X, 0.0)
    best = rest_by_quasi_newton(filled, found, weights, free, seen)
    assert state.squared_error[0] == pytest.approx(best, rel=1e-6)
    # Were the column free, the error would be lower: holding is no formality.
    everything = rest_by_quasi_newton(filled, found, weights, np.ones_like(free), seen)
    assert everything < 0.999 * best


@pytest.mark.parametrize("gaps", [False, True])
def test_a_tied_entry_has_its_share_and_the_rest_is_at_its_minimum(gaps):
    X = planted(2)
    rng = np.random.default_rng(3)
    mask = rng.random(X.shape) > 0.1 if gaps else None
    data = Dataset.from_array(X, mask=mask)
    problem = Problem.without_model(data, 3)
    A, W = (factor[None] for factor in random_start(data, 3, rng))
    free = solved(problem, hals.SOLVER.start(problem, A, W)).particles
    wanted = np.array([0.0, 0.05, 0.2, 0.4])
    ties = Ties(np.ones(4, int), np.array([0, 2, 4, 5]), wanted / (1 - wanted))
    start = start_tied(problem, *(np.repeat(factor, 4, axis=0) for factor in free), ties)
    state = newton.advance(problem, start, TO_THE_END, 5000)
    found, weights = state.particles
    got = shares(found)[np.arange(4), ties.entry, 1]
    assert got == pytest.approx(wanted, abs=1e-12)
    assert (found >= 0).all() and (weights >= 0).all()
    for k in range(4):
        best = tied_by_quasi_newton(data, found[k], weights[k], 1, int(ties.entry[k]), wanted[k])
        assert state.squared_error[k] == pytest.approx(best, rel=1e-5)


def tied_by_quasi_newton(data, A, W, r, d, share):
    """‖X − AW‖² over the seen entries at the minimum with A_dr a given share of its column."""
    X = np.asarray(data.X)
    S = np.ones_like(X) if data.mask is None else data.mask.astype(float)
    D, R = A.shape
    odds = share / (1 - share)
    others = np.arange(D) != d

    def of(z):
        now = z[: D * R].reshape(D, R).copy()
        now[d, r] = odds * now[others, r].sum()
        return now, z[D * R :].reshape(W.shape)

    def value(z):
        now, H = of(z)
        residual = S * (now @ H - X)
        by_A, by_W = residual @ H.T, now.T @ residual
        by_A[others, r] += odds * by_A[d, r]
        by_A[d, r] = 0.0
        return 0.5 * (residual**2).sum(), np.concatenate([by_A.ravel(), by_W.ravel()])

    z = np.concatenate([A.ravel(), W.ravel()])
    options = {"maxiter": 20_000, "maxfun": 100_000, "ftol": 1e-15, "gtol": 1e-10}
    found = minimize(
        value, z, jac=True, method="L-BFGS-B", bounds=[(0, None)] * z.size, options=options
    )
    return 2 * found.fun


def test_a_column_without_other_entries_gets_even_ones_and_keeps_its_sum():
    A = np.zeros((1, 2, 5))
    A[0, 0, 3], A[0, 1] = 2.0, 1.0
    ties = Ties(np.array([0]), np.array([3]), np.array([0.25 / 0.75]))
    imposed = ties.imposed(A)
    assert imposed[0, 0].sum() == pytest.approx(2.0)
    assert imposed[0, 0, 3] == pytest.approx(0.25 * 2.0)
    assert np.array_equal(imposed[0, 1], A[0, 1]) and A[0, 0, 3] == 2.0


def test_nothing_held_is_the_problem_without_holding():
    data = laurberg("two", embed=(40, 50))
    A, W = random_start(data, 3, np.random.default_rng(0))
    free = Problem.without_model(data, 3)
    none = Problem.without_model(data, 3, np.zeros(3, dtype=bool))
    errors = [
        solved(problem, hals.SOLVER.start(problem, A[None], W[None])).squared_error[0]
        for problem in (free, none)
    ]
    assert np.sqrt(errors) == pytest.approx([0.0, 0.0], abs=1e-4 * np.sqrt(data.squared_norm))
