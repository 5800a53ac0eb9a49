"""The uniform model: its density, its threshold, and the search for the largest deviation."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse, stats

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import priors, uniform
from bnmf_core.likelihoods.reference import reference_factors
from bnmf_core.numerics.deviations import STRIP, culprits, largest_deviations
from bnmf_core.runs import engine
from tests.generated import generated

EPSILON, RATE = 0.8, 1.3
FORMS = ("rows", "columns", "sparse", "masked")


def factors_of(rng, D, N, M=4):
    return rng.exponential(size=(M, D, 3)), rng.exponential(size=(M, 3, N))


def naive(X, A, W, mask=None) -> np.ndarray:
    """|X − AW| of every factorization, 0 where X was not seen: (M, D, N)."""
    apart = np.abs(X - A @ W)
    return apart if mask is None else apart * mask


def laid_out(form, X, rng):
    """X in one of the forms in which it comes, and its mask."""
    mask = rng.random(X.shape) < 0.6 if form == "masked" else None
    if mask is not None:
        X = X * mask
    as_given = {
        "rows": np.ascontiguousarray,
        "columns": np.asfortranarray,
        "sparse": sparse.csc_array,
        "masked": np.ascontiguousarray,
    }[form](X)
    return as_given, X, mask


@pytest.mark.parametrize("form", FORMS)
@given(
    seed=st.integers(0, 2**32 - 1), D=st.integers(1, 9), N=st.integers(1, 9), bound=st.floats(0, 9)
)
@generated(40)
def test_the_search_finds_what_a_look_at_every_entry_finds(form, seed, D, N, bound):
    rng = np.random.default_rng(seed)
    as_given, X, mask = laid_out(form, rng.poisson(1.0, (D, N)).astype(float), rng)
    A, W = factors_of(rng, D, N)
    apart = naive(X, A, W, mask)
    found = largest_deviations(as_given, A, W, mask)
    np.testing.assert_allclose(found, apart.max(axis=(1, 2)), rtol=1e-12, atol=1e-14)
    rows = apart.max(axis=1 if form == "sparse" else 2) > bound
    expected = np.where(rows.any(axis=1), rows.argmax(axis=1), -1)
    np.testing.assert_array_equal(culprits(as_given, A, W, bound, mask), expected)


@pytest.mark.parametrize("form", FORMS)
def test_rows_longer_than_a_strip_are_searched_to_their_end(form):
    rng = np.random.default_rng(1)
    length = 2 * STRIP + 7
    D, N = (length, 3) if form == "sparse" else (3, length)
    A, W = factors_of(rng, D, N, M=1)
    X = (A @ W)[0]
    place = (length - 1, 1) if form == "sparse" else (1, length - 1)
    X[place] += 5.0
    as_given, X, mask = laid_out(form, X, rng)
    if mask is not None:
        mask[place] = True
        as_given, X = np.where(mask, (A @ W)[0], 0.0), None
        as_given[place] += 5.0
    np.testing.assert_allclose(largest_deviations(as_given, A, W, mask), 5.0, rtol=1e-12)
    assert culprits(as_given, A, W, 4.9, mask).tolist() == [1]


def test_suspects_are_looked_at_first():
    rng = np.random.default_rng(2)
    X, (A, W) = rng.random((6, 5)), factors_of(rng, 6, 5)
    rows = naive(X, A, W).max(axis=2)
    bound = rows.min() / 2  # every row is beyond it
    for suspect in range(6):
        found = culprits(X, A, W, bound, suspects=np.array([suspect]))
        np.testing.assert_array_equal(found, suspect)


@pytest.fixture(params=["dense", "sparse", "masked"])
def problem(request, small):
    """The small data under a wide threshold."""
    X, mask = small.X, None
    if request.param == "sparse":
        X = sparse.csc_array(np.where(X > np.median(X), X, 0.0))
    if request.param == "masked":
        mask = np.random.default_rng(5).random(X.shape) < 0.7
    data = Dataset.from_array(X, mask=mask)
    model_settings = uniform.Settings(epsilon=EPSILON, rate=RATE)
    return Problem.prepare(data, uniform.MODEL, model_settings, 3)


@pytest.fixture
def pairs(problem):
    """Two good factorizations and two at random."""
    A, W = reference_factors(problem.dataset, 3, 2)
    random = factors_of(np.random.default_rng(1), problem.dataset.D, problem.dataset.N, M=2)
    return np.concatenate([A, random[0]]), np.concatenate([W, random[1]])


def test_the_log_joint_is_the_definition(problem, pairs):
    A, W = pairs
    data = problem.dataset
    apart = naive(data.dense(), A, W, data.mask)
    found = uniform.log_joint(problem, A, W)
    possible = apart.max(axis=(1, 2)) <= EPSILON
    seen = np.ones(apart.shape[1:], bool) if data.mask is None else data.mask
    for m in range(4):
        expected = sum(stats.expon.logpdf(F[m], scale=1 / RATE).sum() for F in (A, W))
        expected += stats.uniform.logpdf(apart[m][seen], -EPSILON, 2 * EPSILON).sum()
        assert found[m] == pytest.approx(expected, rel=1e-11)
        assert np.isfinite(found[m]) == possible[m]
    assert not possible[2:].any()
    np.testing.assert_array_equal(
        uniform.log_likelihood(problem, A, W), np.where(possible, 0.0, -np.inf)
    )
    np.testing.assert_array_equal(uniform.offending(problem, A, W) < 0, possible)


def test_good_factorizations_of_whole_data_are_possible(small):
    model_settings = uniform.Settings(epsilon=EPSILON)
    whole = Problem.prepare(small, uniform.MODEL, model_settings, 3)
    assert np.isfinite(uniform.log_joint(whole, *reference_factors(small, 3, 2))).all()


def test_the_density_of_the_data_integrates_to_one():
    """X (2, 2) around AW: the density is constant on cells whose edges are at ±ε."""
    A, W = np.full((1, 2, 1), 2.0), np.full((1, 1, 2), 3.0)
    model_settings = uniform.Settings(epsilon=0.5, rate=RATE)
    side, total = 0.25, 0.0
    middles = 6.0 + side * (np.arange(-4, 4) + 0.5)
    for X in itertools.product(middles, repeat=4):
        data = Dataset.from_array(np.reshape(X, (2, 2)))
        problem = Problem(data, uniform.MODEL, model_settings, 1)
        of_data = uniform.log_joint(problem, A, W) - priors.EXPONENTIAL.log_density(problem, A, W)
        total += np.exp(of_data[0]) * side**4
    assert total == pytest.approx(1.0, rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("masked", [False, True])
def test_an_open_threshold_is_what_ten_references_need(small, masked):
    mask = np.random.default_rng(5).random(small.X.shape) < 0.7 if masked else None
    data = Dataset.from_array(small.X, mask=mask)
    resolved = uniform.resolve(data, 3, uniform.Settings())
    A, W = reference_factors(data, 3, 10)
    problem = Problem(data, uniform.MODEL, resolved, 3)
    assert (uniform.offending(problem, A, W) < 0).all()
    assert resolved.epsilon == largest_deviations(data.X, A, W, data.mask).max()
    assert resolved.epsilon == pytest.approx(naive(data.X, A, W, mask).max())
    twice = uniform.resolve(data, 3, uniform.Settings(times=2.0))
    assert twice.epsilon == 2 * resolved.epsilon
    assert uniform.resolve(data, 3, twice) == twice
    assert uniform.Settings(epsilon=3.0).sigma == pytest.approx(stats.uniform(-3, 6).std())


def test_the_score_is_that_of_the_prior_and_not_a_number_outside(problem, pairs):
    possible = np.isfinite(uniform.log_joint(problem, *pairs))
    values, *everywhere = uniform.log_joint_and_score(problem, *pairs)
    np.testing.assert_array_equal(values, uniform.log_joint(problem, *pairs))
    for slopes, also_outside in zip(uniform.score(problem, *pairs), everywhere, strict=True):
        np.testing.assert_array_equal(slopes[possible], -RATE)
        assert np.isnan(slopes[~possible]).all()
        np.testing.assert_array_equal(also_outside, -RATE)


def test_the_curvature_is_nought(problem, pairs):
    assert all((part == 0).all() for part in uniform.curvature(problem, *pairs))


def test_the_prior_is_exponential(problem):
    rng = np.random.default_rng(3)
    draws = [uniform.MODEL.prior(problem, rng) for _ in range(40)]
    assert draws[0][0].shape == (12, 3) and draws[0][1].shape == (3, 15)
    for factors in zip(*draws, strict=True):
        entries = np.concatenate([F.ravel() for F in factors])
        assert stats.kstest(entries, "expon", args=(0, 1 / RATE)).pvalue > 1e-4


def test_restarts_say_what_converged_is_meant_of(small):
    """Least squares: all that this likelihood knows is within the threshold or not."""
    made = engine.run(small, RunSpec("random_restarts", 3, "uniform", 2))
    assert made.info["notes"][0].startswith("Convergence refers to the squared error")
    assert "notes" not in engine.run(small, RunSpec("random_restarts", 3, "gaussian", 2)).info
