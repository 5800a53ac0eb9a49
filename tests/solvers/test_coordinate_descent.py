"""Coordinate descent on the Kullback–Leibler divergence: what it reaches, and what it leaves."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import non_negative_factorization

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.kullback_leibler import FLOOR, KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.repair import hide_entries
from bnmf_core.numerics.count_lines import count_lines
from bnmf_core.runs import engine
from bnmf_core.solvers import SOLVERS, second_order, usual_solver
from bnmf_core.solvers import coordinate_descent as descent
from bnmf_core.solvers import solution as shared
from bnmf_core.solvers.coordinate_kernels import improve
from bnmf_core.solvers.solution import Stopping
from bnmf_core.solvers.ties import Ties, start_tied
from tests.solvers import solving
from tests.solvers.solving import USUAL, started

solved = partial(solving.solved, solver=descent.SOLVER)
KINDS = ("dense", "sparse", "dense with zeros", "gaps")


def counts(kind="sparse", D=40, N=60, R=3, seed=0, level=None) -> Dataset:
    """Poisson counts around a product; few of them are above 0 unless they are dense."""
    rng = np.random.default_rng(seed)
    level = level or (20.0 if kind == "dense" else 0.3)
    mean = rng.gamma(0.7, 1.0, (D, R)) @ rng.gamma(0.7, 1.0, (R, N))
    X = rng.poisson(level * mean).astype(float)
    data = Dataset.from_array(sparse.csc_array(X) if kind == "sparse" else X, name="counts")
    return hide_entries(data, 0.2, np.random.default_rng(1)) if kind == "gaps" else data


def divergence(data: Dataset, A, W) -> float:
    """D(X ‖ AW) by its definition, with the floor where x > 0."""
    X, Y, floor = data.dense(), A @ W, FLOOR * data.mean
    seen = np.ones(X.shape, dtype=bool) if data.mask is None else data.mask
    raised = np.where(X > 0, (X + floor) * np.log((X + floor) / (Y + floor)) - X + Y, Y)
    return float(raised[seen].sum())


@pytest.mark.parametrize("N", [60, 700], ids=["one line after the other", "abreast"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_line_takes_the_step_that_is_written_down(kind, N):
    """Each coordinate in turn, by plain numpy in double precision; and the divergence then."""
    data, rng = counts(kind, N=N), np.random.default_rng(2)
    A, W = rng.gamma(1.0, 1.0, (40, 3)), rng.gamma(1.0, 1.0, (N, 3))
    W[::9, 2] = 0.0
    fixed = np.array([False, True, False])
    mask = data.mask if data.missing else None
    lines = count_lines(data.X, mask, data.mean, FLOOR)
    ours = W.astype(np.float32)
    found = improve(lines.columns, A.astype(np.float32), ours, fixed, 2, FLOOR, True)
    X = data.dense() / data.mean
    x = X + FLOOR * (X > 0)
    seen = np.ones(X.shape) if mask is None else mask
    for n in range(N):
        for sweep in range(2):
            for r in (0, 2):
                if sweep and W[n, r] == 0.0:
                    continue
                part = x[:, n] * A[:, r] / (A @ W[n] + FLOOR)
                s, b, h = (
                    A[:, r] @ seen[:, n],
                    part.sum(),
                    (part**2 / np.where(x, x, 1)[:, n]).sum(),
                )
                W[n, r] = max(W[n, r] + (b - s) / h * b / s, 0.0) if h else 0.0
    np.testing.assert_allclose(ours, W, rtol=2e-4, atol=1e-5)
    Y = A @ W.T
    assert found == pytest.approx((Y * seen).sum() - (x * np.log(Y + FLOOR)).sum(), rel=1e-5)


def test_a_column_with_one_weight_is_solved_by_a_single_step():
    """At rank 1 the fraction is the slope itself: w = Σ x / Σ a, from wherever it sets out."""
    data = counts("dense", R=1)
    lines = count_lines(data.X, None, data.mean, FLOOR)
    a = np.random.default_rng(0).gamma(1.0, 1.0, (40, 1)) + 0.1
    expected = data.X.sum(axis=0) / data.mean / a.sum()
    for start in (0.01, 1.0, 100.0):
        w = np.full((60, 1), start, dtype=np.float32)
        improve(lines.columns, a.astype(np.float32), w, np.zeros(1, dtype=bool), 1, FLOOR, False)
        np.testing.assert_allclose(w[:, 0], expected, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_at_rank_one_it_finds_row_sums_times_column_sums(kind):
    data = counts(kind)
    problem = Problem.without_model(data, 1, loss=KULLBACK_LEIBLER)
    state = solved(problem, *started(problem, 2))
    X = data.dense()
    exact = np.outer(X.sum(axis=1), X.sum(axis=0)) / X.sum()
    for A, W in zip(*state.particles, strict=True):
        np.testing.assert_allclose(A @ W, exact, rtol=1e-3, atol=1e-4 * exact.max())
    assert USUAL.converged(state.kkt, state.movement, state.gain).all()


@pytest.mark.parametrize("kind", KINDS)
def test_it_finds_the_optimum_of_newtons_method_and_says_what_it_reached(kind):
    """Handed to Newton's method alone, what has converged gains nothing more."""
    data = counts(kind, R=2, level=None if kind == "sparse" else 3.0)
    problem = Problem.without_model(data, 2, loss=KULLBACK_LEIBLER)
    state = solved(problem, *started(problem, 8))
    assert USUAL.converged(state.kkt, state.movement, state.gain).all()
    assert (state.A >= 0).all() and (state.W >= 0).all()
    end = solved(problem, *state.particles, solver=second_order.SOLVER)
    assert (state.squared_error - end.squared_error <= 0.05).all()
    for f, A, W in zip(state.squared_error, *state.particles, strict=True):
        assert f == pytest.approx(divergence(data, A, W), rel=1e-10)
    alone = solved(problem, *started(problem, 8), solver=second_order.SOLVER)
    assert state.squared_error.min() == pytest.approx(alone.squared_error.min(), rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_below_a_thousand_multiplicative_updates(kind):
    data = counts("dense" if kind == "gaps" else kind, R=4)
    problem = Problem.without_model(data, 4, loss=KULLBACK_LEIBLER)
    A, W = started(problem, 3)
    state = solved(problem, A, W, Stopping(60, 1e-5))
    best = []
    for a, w in zip(A, W, strict=True):
        weights, basis, _ = non_negative_factorization(
            data.dense().T,
            w.T.copy(),
            a.T.copy(),
            n_components=4,
            init="custom",
            solver="mu",
            beta_loss="kullback-leibler",
            tol=0,
            max_iter=1000,
        )
        best.append(divergence(data, basis.T, weights.T))
    assert state.squared_error.min() <= min(best) * (1 + 1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_the_divergence_never_rises(kind, monkeypatch):
    """From one step to the next, until Newton's method first shakes what has settled."""
    monkeypatch.setattr(shared, "STEP_WORK", 1.0)
    data = counts(kind)
    problem = Problem.without_model(data, 3, loss=KULLBACK_LEIBLER)
    A, W = started(problem, 2)
    state = descent.SOLVER.start(problem, A, W)
    before = KULLBACK_LEIBLER.values(problem, A, W)
    while state.active.any() and not state.sure.any():
        state = descent.advance(problem, state, USUAL)
        now = KULLBACK_LEIBLER.values(problem, *state.particles)
        calm = state.sure == 0
        assert (now <= before * (1 + 1e-12))[calm].all()
        before = now
    assert not state.approaching


@pytest.mark.parametrize("kind", ["dense with zeros", "sparse"])
def test_rows_and_columns_of_zeros_get_none(kind):
    X = counts(kind).dense().copy()
    X[3], X[:, 7] = 0.0, 0.0
    data = Dataset.from_array(X if kind != "sparse" else sparse.csc_array(X))
    problem = Problem.without_model(data, 3, loss=KULLBACK_LEIBLER)
    state = solved(problem, *started(problem, 2))
    A, W = state.particles
    assert not A[:, 3].any() and not W[:, :, 7].any()
    assert USUAL.converged(state.kkt, state.movement, state.gain).all()


def test_gaps_are_not_zeros():
    """What stands at an entry that was not seen changes nothing."""
    data = counts("gaps")
    assert data.mask is not None
    problem = Problem.without_model(data, 3, loss=KULLBACK_LEIBLER)
    A, W = started(problem, 2)
    state = solved(problem, A, W, Stopping(200, 1e-6))
    zeros = Problem.without_model(Dataset.from_array(data.X), 3, loss=KULLBACK_LEIBLER)
    other = solved(zeros, A, W, Stopping(200, 1e-6))
    for m in range(2):
        seen = divergence(data, *(F[m] for F in state.particles))
        assert seen < divergence(data, *(F[m] for F in other.particles)) - 1.0


@pytest.mark.parametrize("kind", KINDS)
def test_held_columns_stay_to_the_last_bit(kind):
    data, held = counts(kind), np.array([True, False, False])
    problem = Problem.without_model(data, 3, held, KULLBACK_LEIBLER)
    A, W = started(problem, 2)
    state = solved(problem, A, W)
    np.testing.assert_array_equal(state.particles[0][:, :, 0], A[:, :, 0])
    all_of = Problem.without_model(data, 3, np.ones(3, dtype=bool), KULLBACK_LEIBLER)
    ours = solved(all_of, A, W)
    theirs = solved(all_of, A, W, solver=second_order.SOLVER)
    np.testing.assert_array_equal(ours.particles[0], A)
    np.testing.assert_allclose(ours.squared_error, theirs.squared_error, rtol=1e-6)


def test_tied_entries_are_left_to_newtons_method():
    problem = Problem.without_model(counts(), 3, loss=KULLBACK_LEIBLER)
    A, W = started(problem, 2)
    ties = Ties(np.array([0, 2]), np.array([4, 7]), np.array([0.3, 0.0]))
    state = start_tied(problem, A, W, ties)
    ours = descent.advance(problem, state, USUAL)
    theirs = second_order.SOLVER.advance(problem, state, USUAL)
    np.testing.assert_array_equal(ours.A, theirs.A)


@pytest.mark.parametrize("shape", [(6, 40), (40, 6), (5, 5)])
def test_every_rank_that_fits_is_solved(shape):
    data = counts("dense", *shape)
    for rank in (1, 2, min(shape)):
        problem = Problem.without_model(data, rank, loss=KULLBACK_LEIBLER)
        state = solved(problem, *started(problem, 2), Stopping(400, None))
        assert np.isfinite(state.squared_error).all()
        assert (state.squared_error < KULLBACK_LEIBLER.values(problem, *started(problem, 2))).all()


@pytest.mark.parametrize("unit", [1e-60, 1e60])
def test_the_unit_of_x_does_not_matter(unit):
    data = counts("dense")
    other = Dataset.from_array(data.X * unit)
    results = []
    for one in (data, other):
        problem = Problem.without_model(one, 3, loss=KULLBACK_LEIBLER)
        state = solved(problem, *started(problem, 2), Stopping(50, 1e-5))
        results.append(state.squared_error / one.total)
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4)


def test_it_stops_where_it_is_told_to():
    problem = Problem.without_model(counts("dense"), 3, loss=KULLBACK_LEIBLER)
    pair = started(problem, 3)
    assert (solved(problem, *pair, Stopping(12, None)).iterations <= 12).all()
    dropped = solved(problem, *pair, Stopping(1000, 1e-3))
    assert (dropped.iterations < 200).all() and np.isnan(dropped.kkt).all()
    shown = 1.05 * problem.loss.measured(problem.dataset, dropped.squared_error).max()
    enough = solved(problem, *pair, replace(USUAL, good_enough=float(shown)))
    assert (enough.iterations <= dropped.iterations).all()
    found = problem.loss.measured(problem.dataset, enough.squared_error)
    assert (found <= shown).all()


def test_what_is_side_by_side_does_not_matter():
    problem = Problem.without_model(counts(), 3, loss=KULLBACK_LEIBLER)
    A, W = started(problem, 3)
    together = solved(problem, A, W, Stopping(40, 1e-4))
    for m in range(3):
        alone = solved(problem, A[m : m + 1], W[m : m + 1], Stopping(40, 1e-4))
        np.testing.assert_array_equal(alone.A[0], together.A[m])


def test_it_sets_out_from_zeros():
    problem = Problem.without_model(counts(), 3, loss=KULLBACK_LEIBLER)
    state = solved(problem, np.zeros((1, 40, 3)), np.zeros((1, 3, 60)), Stopping(100, None))
    assert np.isfinite(state.A).all() and np.isfinite(state.W).all()


def test_it_is_the_usual_solver_of_the_divergence_and_of_nothing_else(small):
    usual = usual_solver(Problem.without_model(counts(), 3, loss=KULLBACK_LEIBLER))
    assert usual is SOLVERS["coordinate_descent"]
    assert usual_solver(Problem.without_model(counts(), 3)) is SOLVERS["hals"]
    chosen = RunSpec("random_restarts", 2, settings={"solver": "coordinate_descent"})
    with pytest.raises(SettingsError, match="makes the Kullback–Leibler divergence small"):
        engine.run(small, chosen)
