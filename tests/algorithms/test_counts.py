"""Samplers of counts leave their posterior invariant, and would not with a mistake.

θ from the prior and X from the likelihood, one pair a problem; then a few sweeps of θ given X: the
pair must be distributed as before (Geweke 2004). Functions of θ alone have known distributions;
those of θ and X are compared with pairs that were drawn afresh.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnmf_core import RunSpec
from bnmf_core.compare.distances.invariants import invariants
from bnmf_core.compare.settled import settled
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.model import GammaPrior
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import MODELS
from bnmf_core.numerics.counts import Counts
from bnmf_core.runs import engine, launch
from bnmf_core.samplers import dispersion, shear_move, sources

D, N, R = 4, 3, 2
SETTINGS = {"rate": 0.2, "shape_A": 0.8, "shape_W": 1.5}
DISPERSED = SETTINGS | {"dispersion": 1.0, "spread": 0.7}
MASK = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
MOVES, PAIRS = 4, 8000


def problem_of(key, X, rank=R, mask=None, **settings):
    data = Dataset(
        X, "counts", tuple(map(str, range(X.shape[0]))), tuple("abcdefghij"[: X.shape[1]])
    )
    data = data if mask is None else replace(data, X=X * mask, mask=mask)
    model = MODELS[key]
    return Problem(data, model, model.Settings(**settings), rank)


def pairs(key, settings, rng, count=PAIRS, mask=None):
    """(problem, A, W, k) with θ from the prior and X from the likelihood."""
    blank = problem_of(key, np.ones((D, N)), **settings)
    for _ in range(count):
        A, W = blank.model.prior(blank, rng)
        k, Y = np.empty(0), A @ W
        if "dispersion" in settings:
            k = np.array([settings["dispersion"] * np.exp(settings["spread"] * rng.normal())])
            Y = Y * rng.gamma(k[0], 1 / k[0], Y.shape)
        X = rng.poisson(Y).astype(float)
        yield problem_of(key, X, mask=mask, **settings), A, W, k


def quantities(problem, A, W, k):
    """Functions of θ, and of θ and X, of one pair."""
    X = problem.dataset.X
    fit = (X * np.log1p(A @ W)).sum()
    return [
        *(A[0, 0], A[:, 1].sum(), W[0, 0], W[1].sum(), (A.sum(axis=0) @ W).sum()),
        *(fit, X[0] @ W[0], A[:, 0] @ X[:, 1], (A @ W * X).max(), *np.log(k)),
    ]


def moved(key, settings, rng, mask=None, change=None):
    """Quantities of all pairs after the sweeps; ``change`` plants a mistake in what is believed."""
    found = []
    for problem, A, W, k in pairs(key, settings, rng, mask=mask):
        believed = problem if change is None else change(problem)
        place = A.T[None], W[None], k
        for _ in range(MOVES):
            place = sources.sweep(believed, *place, rng)
        found.append(quantities(problem, place[0][0].T, place[1][0], place[2]))
    return np.array(found)


def p_values(key, settings, seed, mask=None, change=None):
    found = moved(key, settings, np.random.default_rng([seed, 0]), mask, change)
    rng = np.random.default_rng([seed, 1])
    fresh = np.array([quantities(*pair) for pair in pairs(key, settings, rng, mask=mask)])
    a, rate_A = settings["shape_A"], settings["shape_A"] * D
    c, rate_W = settings["shape_W"], settings["rate"]
    exact = [
        stats.gamma(a, scale=1 / rate_A),
        stats.gamma(a * D, scale=1 / rate_A),
        stats.gamma(c, scale=1 / rate_W),
        stats.gamma(c * N, scale=1 / rate_W),
    ]
    known = [stats.kstest(found[:, i], of.cdf).pvalue for i, of in enumerate(exact)]
    return [*known, *(stats.ks_2samp(*pair).pvalue for pair in zip(found.T, fresh.T, strict=True))]


def passes(values, family=1e-4):
    return min(values) * len(values) > family


CASES = {
    "Poisson": ("poisson", SETTINGS, None),
    "Poisson with gaps": ("poisson", SETTINGS, MASK),
    "negative binomial": ("negative_binomial", DISPERSED, None),
    "negative binomial with gaps": ("negative_binomial", DISPERSED, MASK),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_a_sweep_keeps_the_joint_distribution(name):
    key, settings, mask = CASES[name]
    assert passes(p_values(key, settings, 1, mask)) or passes(p_values(key, settings, 2, mask))


def without_prior(problem):
    return replace(problem, model_settings=replace(problem.model_settings, rate=1e-9))


def from_the_wrong_row(problem):
    wrong = replace(problem)
    vars(wrong)["counts"] = replace(problem.counts, rows=(problem.counts.rows + 1) % D)
    return wrong


def gaps_taken_for_zeros(problem):
    return replace(problem, dataset=replace(problem.dataset, mask=None))


def another_dispersion(problem):
    return replace(problem, model_settings=replace(problem.model_settings, dispersion=3.0))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "mistake"),
    [
        ("Poisson", without_prior),
        ("Poisson", from_the_wrong_row),
        ("Poisson with gaps", gaps_taken_for_zeros),
        ("negative binomial", another_dispersion),
        ("negative binomial", from_the_wrong_row),
    ],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_the_same_test_notices_a_mistake(name, mistake):
    key, settings, mask = CASES[name]
    assert not passes(p_values(key, settings, 3, mask, mistake))


def test_the_dispersion_is_drawn_from_its_density():
    """Given A and W: a chain of draws against its density on a fine grid."""
    rng = np.random.default_rng(4)
    A, W = rng.gamma(1.0, 1.0, (6, 2)), rng.gamma(1.0, 5.0, (2, 5))
    X = rng.poisson(A @ W * rng.gamma(2.0, 0.5, (6, 5))).astype(float)
    counts = Counts.of(X, None)
    prior = sources.of(problem_of("negative_binomial", X, **DISPERSED)).dispersion
    line = np.linspace(-4, 6, 4001)
    heights = stats.norm.logpdf(line, np.log(prior.median), prior.spread)
    heights += [stats.nbinom.logpmf(X, k, k / (k + A @ W)).sum() for k in np.exp(line)]
    mass = np.exp(heights - heights.max())
    mass /= mass.sum()
    k, chains = np.full(400, 0.01), (np.repeat(F[None], 400, axis=0) for F in (A.T, W))
    chains = tuple(chains)
    for _ in range(15):
        k = dispersion.draw(counts, prior, *chains, k, rng)
    assert stats.kstest(np.log(k), lambda t: np.interp(t, line, mass.cumsum())).pvalue > 1e-3


@pytest.mark.parametrize("shape", [1.0, 0.6])
def test_a_shear_moves_components_and_leaves_their_product(shape):
    rng = np.random.default_rng(7)
    A, W = rng.gamma(1.0, 1.0, (50, 3, 6)), rng.gamma(1.0, 1.0, (50, 3, 4))
    prior = GammaPrior(shape, 2.0)
    moved_A, moved_W = shear_move.move(A, W, prior, prior, rng)
    product, moved = (a.transpose(0, 2, 1) @ w for a, w in ((A, W), (moved_A, moved_W)))
    np.testing.assert_allclose(moved, product, rtol=1e-9, atol=1e-12)
    assert (moved_A >= 0).all() and (moved_W >= 0).all()
    assert (np.abs(moved_A - A).max(axis=(1, 2)) > 1e-6).mean() > 0.9


@pytest.mark.parametrize("size", [3, 10**9])
def test_sources_sum_to_the_counts_and_are_multinomial(size):
    """Also of a thousand million counts in one entry, which must not overflow."""
    rng = np.random.default_rng(5)
    A, W = rng.gamma(1.0, 1.0, (1, 3, 2)), rng.gamma(1.0, 1.0, (1, 3, 1))
    X = np.array([[size], [0.0]])
    counts = Counts.of(X, None)
    drawn = np.array([sources.allocate(counts, A, W, rng)[1][0, :, 0] for _ in range(3000)])
    np.testing.assert_array_equal(drawn.sum(axis=1), size)
    p = A[0, :, 0] * W[0, :, 0]
    p /= p.sum()
    error = np.sqrt(size * p * (1 - p) / len(drawn))
    np.testing.assert_array_less(np.abs(drawn.mean(axis=0) - size * p), 4.5 * error)
    covariance = size * (np.diag(p) - np.outer(p, p))
    np.testing.assert_allclose(np.cov(drawn.T), covariance, atol=0.12 * covariance.max())


def test_zeros_everywhere_in_a_line_leave_the_prior():
    """A row and a column of zeros: their entries are drawn, and finite."""
    X = np.array([[3.0, 0.0, 2.0], [0.0, 0.0, 0.0], [1.0, 0.0, 5.0]])
    for key in ("poisson", "negative_binomial"):
        found = engine.run(Dataset.from_array(X), RunSpec("gibbs", 2, key, particles=20))
        assert np.isfinite(found.log_joint).all()
        assert (np.isfinite(found.A) & (found.A > 0)).all()


@pytest.mark.parametrize(
    ("X", "sentence"),
    [
        (np.array([[0.5, 1.0], [2.0, 3.0]]), "holds 0.5, and counts are whole numbers"),
        (np.array([[9e15, 1.0], [2.0, 9e15]]), "sum to 1.8e\\+16"),
    ],
)
def test_what_are_no_counts_is_refused_in_a_sentence(X, sentence):
    with pytest.raises(DataError, match=sentence):
        engine.run(Dataset.from_array(X), RunSpec("gibbs", 1, "poisson", particles=2))


BINS, KEPT = 8, 63


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("key", ["poisson", "negative_binomial"])
def test_what_the_button_runs_is_calibrated(key):
    """Simulation-based calibration (Talts and others 2018), chains that do not settle included."""
    settings = SETTINGS if key == "poisson" else DISPERSED
    rng, ranks, unsettled = np.random.default_rng(6), [], 0
    for i, (problem, A, W, _) in enumerate(pairs(key, settings, rng, 60)):
        if not problem.dataset.X.any():
            continue
        spec = replace(launch.chains_of(problem.dataset, R, i, model=key), model_settings=settings)
        found = engine.run(problem.dataset, spec)
        unsettled += not settled(found.A, found.W, found.log_joint, found.chain).settled
        chosen = np.linspace(0, found.M - 1, KEPT).round().astype(int)
        truth = problem.model.log_joint(problem, A[None], W[None])
        told = np.stack([*invariants(found.A[chosen], found.W[chosen]).values()])
        true = np.stack([*invariants(A[None], W[None]).values()])
        below = [(told < true).sum(axis=1), [(found.log_joint[chosen] < truth).sum()]]
        ranks.append(np.concatenate(below))
    bins = np.array(ranks).T * BINS // (KEPT + 1)
    assert passes([stats.chisquare(np.bincount(one, minlength=BINS)).pvalue for one in bins], 1e-3)
    assert unsettled <= 0.1 * len(ranks)
