"""The evidence of counts: against quadrature and importance sampling, and on planted data."""

from itertools import permutations
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import optimize, special, stats
from scipy.special import gammaln, logsumexp

from bnmf_core import RunSpec, rank_study, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import anneal
from bnmf_core.evidence.counts_posterior import CountsPosterior
from bnmf_core.evidence.paths import posterior_of
from bnmf_core.findings.ranks import of_counts
from bnmf_core.likelihoods import MODELS, gammas
from bnmf_core.samplers import sources
from bnmf_core.samplers.sources_path import Gammas

TALL = np.array([[3.0, 0, 9], [1, 14, 0]])
SQUARE = np.array([[3.0, 0, 9], [1, 14, 0], [2, 2, 2]])


def problem_of(X, rank, key="poisson", **settings):
    data, model = Dataset.from_array(X), MODELS[key]
    return Problem.prepare(data, model, model.Settings(**settings), rank)


def annealed(problem, count=400, repeats=4):
    """Log evidence of what populations from the best of some restarts reach, and its error."""
    spec = RunSpec("random_restarts", problem.rank, problem.model.key, 10)
    found = run(problem.dataset, spec)
    best, rng = int(found.log_joint.argmax()), np.random.default_rng(1)
    path = posterior_of(problem, 1.0)
    assert isinstance(path, CountsPosterior)
    around = path.around(found.A[best], found.W[best], rng)
    values = [anneal(path.path(around), count, rng).log_evidence for _ in range(repeats)]
    return logsumexp(values) - np.log(repeats), np.std(values, ddof=1) / np.sqrt(repeats)


def exact_of_one(problem, points=400):
    """The evidence at rank 1: W is integrated exactly, A (2,) by quadrature over log a."""
    X, (of_A, of_W) = problem.dataset.X, gammas.of_entries(problem.model_settings, 2)
    line = np.linspace(-12, 5, points)
    a = np.exp(np.stack(np.meshgrid(line, line, indexing="ij"), axis=-1).reshape(-1, 2))
    of_rows, of_columns = X.sum(axis=1), X.sum(axis=0)
    height = (of_rows * np.log(a)).sum(axis=1) - gammaln(X + 1).sum()
    shape, rate = of_W.shape + of_columns, of_W.rate + a.sum(axis=1)[:, None]
    height += (of_W.shape * np.log(of_W.rate) - gammaln(of_W.shape)) * X.shape[1]
    height += (gammaln(shape) - shape * np.log(rate)).sum(axis=1)
    height += stats.gamma(of_A.shape, scale=1 / of_A.rate).logpdf(a).sum(axis=1)
    return logsumexp(height + np.log(a).sum(axis=1)) + 2 * np.log(line[1] - line[0])


@pytest.mark.parametrize("shapes", [(1.0, 1.0), (0.5, 0.7), (2.0, 1.5)])
def test_one_component_has_the_evidence_of_quadrature(shapes):
    problem = problem_of(TALL, 1, shape_A=shapes[0], shape_W=shapes[1])
    found, error = annealed(problem)
    assert found == pytest.approx(exact_of_one(problem), abs=4 * error + 0.01)


def met(problem, A, W, rng):
    """Gammas around what Gibbs chains from a factorization meet."""
    A, W = problem.model.scale(A[None], W[None])
    A, W = (np.repeat(np.maximum(F, 1e-9), 8, axis=0) for F in (A.transpose(0, 2, 1), W))
    k, seen = sources.first_dispersion(problem, 8), []
    for _ in range(150):
        A, W, k = sources.sweep(problem, A, W, k, rng)
        seen.append((A, W))
    draws = (np.concatenate(parts[50:]) for parts in zip(*seen, strict=True))
    return SimpleNamespace(
        **{
            name: Gammas.of_moments(F.mean(axis=0), 1.2 * F.var(axis=0))
            for name, F in zip("AW", draws, strict=True)
        }
    )


def by_importance(problem, count=200_000):
    """The evidence from draws of a mixture: the prior, and all relabellings of what chains met."""
    rng, key, R = np.random.default_rng(0), problem.model.key, problem.rank
    D, N = problem.dataset.X.shape
    starts = run(problem.dataset, RunSpec("random_restarts", R, key, 12))
    around = [met(problem, A, W, rng) for A, W in zip(starts.A, starts.W, strict=True)]
    parts = [(one, np.array(order)) for one in around for order in permutations(range(R))]
    of_A, of_W = gammas.of_entries(problem.model_settings, D)
    A = rng.gamma(of_A.shape, 1 / of_A.rate, (count, R, D))
    W = rng.gamma(of_W.shape, 1 / of_W.rate, (count, R, N))
    chosen = np.where(rng.random(count) < 0.1, -1, rng.integers(len(parts), size=count))
    for i, (one, order) in enumerate(parts):
        index = np.flatnonzero(chosen == i)
        A[index] = one.A.draw(index.size, rng)[:, order]
        W[index] = one.W.draw(index.size, rng)[:, order]
    logs = [np.log(0.1) + of_A.log_density(A) + of_W.log_density(W)]
    for one, order in parts:
        back = np.argsort(order)
        inside = one.A.log_density(A[:, back]) + one.W.log_density(W[:, back])
        logs.append(np.log(0.9 / len(parts)) + inside)
    Y, data = A.transpose(0, 2, 1) @ W, problem.dataset.X
    if key == "poisson":
        log_likelihood = stats.poisson.logpmf(data, Y)
    else:
        chosen = problem.model_settings
        k = chosen.dispersion * np.exp(chosen.spread * rng.standard_normal((count, 1, 1)))
        log_likelihood = stats.nbinom.logpmf(data, k, k / (k + Y))
    seen = np.ones((D, N), bool) if problem.dataset.mask is None else problem.dataset.mask
    weights = log_likelihood[:, seen].sum(axis=1) + of_A.log_density(A) + of_W.log_density(W)
    weights -= logsumexp(logs, axis=0)
    w = np.exp(weights - weights.max())
    error = w.std() / w.mean() / np.sqrt(count)
    return logsumexp(weights) - np.log(count), error


@pytest.mark.slow
@pytest.mark.parametrize(
    "X",
    [pytest.param(TALL, id="2×3"), pytest.param(SQUARE, id="3×3", marks=pytest.mark.long)],
)
@pytest.mark.parametrize("key", ["poisson", "negative_binomial"])
def test_the_evidence_of_a_rank_is_that_of_importance_sampling(X, key):
    """Relabelled components count R! times, once each."""
    study = rank_study(
        Dataset.from_array(X), [1, 2], model=key, restarts=10, rng=np.random.default_rng(3)
    )
    for R, found, error in study.table[["rank", "log_evidence", "error"]].to_numpy():
        expected, off = by_importance(problem_of(X, int(R), key))
        assert found == pytest.approx(expected, abs=4 * np.hypot(error, off) + 0.02), R
    chosen = study.criteria["evidence"].chosen
    assert next(iter(study.of_noise)) == key and len(study.of_noise) == 2
    for other, one in study.of_noise.items():
        expected, off = by_importance(problem_of(X, chosen, other))
        assert one.log_evidence == pytest.approx(expected, abs=4 * np.hypot(one.error, off) + 0.02)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True])
def test_populations_from_the_prior_have_that_evidence(gaps):
    mask = np.array([[1, 1, 0], [1, 1, 1], [1, 0, 1]], dtype=bool) if gaps else None
    data, model = Dataset.from_array(SQUARE, mask=mask), MODELS["poisson"]
    settings = {"populations": 32, "population": 300, "sweeps": 2}
    spec = RunSpec("tempered_smc", 2, "poisson", particles=160, settings=settings)
    info = run(data, spec).info
    problem = Problem.prepare(data, model, model.Settings(), 2)
    expected, off = by_importance(problem, 1_000_000)
    both = np.hypot(off, info["log_evidence_error"])
    assert both < 0.05
    assert info["log_evidence"] == pytest.approx(expected, abs=4 * both)


# Four kinds at four places, with counts up to thousands.
LARGE = np.array([[12.0, 99, 197, 0], [2027, 2112, 160, 17], [0, 9, 0, 0], [2070, 3481, 126, 19]])


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 0.01])
def test_large_counts_have_the_evidence_of_the_negative_binomial_distribution(scale):
    """Where g is tied to AW no sweep moves far: the size of the counts must not matter."""
    X = np.round(scale * LARGE)
    problem = problem_of(X[:, X.any(axis=0)], 1, "negative_binomial")
    rng = np.random.default_rng(0)
    restarts = run(problem.dataset, RunSpec("random_restarts", 1, problem.model.key, 4))
    path = posterior_of(problem, 1.0)
    around = path.around(restarts.A[0], restarts.W[0], rng)
    values = [anneal(path.path(around), 200, rng).log_evidence for _ in range(4)]
    expected, off = of_one_by_importance(problem, restarts.A[0], restarts.W[0])
    assert off < 0.05
    assert np.mean(values) == pytest.approx(expected, abs=4 * np.hypot(off, np.std(values)) + 0.02)


def of_one_by_importance(problem, A, W, count=400_000):
    """The evidence at rank 1, from a t distribution around the mode of log A, log W and log k."""
    chosen, X, rng = problem.model_settings, problem.dataset.X, np.random.default_rng(1)
    of_A, of_W = gammas.of_entries(chosen, X.shape[0])
    D = X.shape[0]

    def log_joint(z):
        a, w, log_k = np.exp(z[:, :D]), np.exp(z[:, D:-1]), z[:, -1]
        k, Y = np.exp(log_k)[:, None, None], a[:, :, None] * w[:, None, :]
        found = stats.nbinom.logpmf(X, k, k / (k + Y)).sum(axis=(1, 2)) + z[:, :-1].sum(axis=1)
        found += of_A.log_density(a[:, None]) + of_W.log_density(w[:, None])
        return found + stats.norm.logpdf(log_k, np.log(chosen.dispersion), chosen.spread)

    A, W = problem.model.scale(A[None], W[None])
    start = np.log(np.maximum(np.concatenate([A[0, :, 0], W[0, 0], [chosen.dispersion]]), 1e-3))
    at = optimize.minimize(lambda z: -log_joint(z[None])[0], start, method="BFGS")
    steps = 1e-3 * np.eye(start.size)
    bends = [
        [
            log_joint((at.x + one + other)[None])[0]
            - log_joint((at.x + one - other)[None])[0]
            - log_joint((at.x - one + other)[None])[0]
            + log_joint((at.x - one - other)[None])[0]
            for other in steps
        ]
        for one in steps
    ]
    proposal = stats.multivariate_t(at.x, 1.3 * np.linalg.inv(-np.array(bends) / 4e-6), df=6)
    z = proposal.rvs(count, random_state=rng)
    weights = log_joint(z) - proposal.logpdf(z)
    w = np.exp(weights - weights.max())
    return logsumexp(weights) - np.log(count), w.std() / w.mean() / np.sqrt(count)


def planted(rank, dispersion, seed, shape=(24, 20), counts=800.0):
    """Counts of a few components, which vary as Poisson allows, or with this dispersion."""
    rng = np.random.default_rng(seed)
    A = rng.dirichlet(np.full(shape[0], 0.15), rank).T
    Y = A @ rng.gamma(0.7, counts / rank / 0.7, (rank, shape[1]))
    if np.isfinite(dispersion):
        Y = Y * rng.gamma(dispersion, 1 / dispersion, Y.shape)
    X = rng.poisson(Y).astype(float)
    return Dataset.from_array(X[X.any(axis=1)][:, X.any(axis=0)])


def test_hidden_counts_are_measured_with_the_same_dispersion_at_all_ranks(monkeypatch):
    """With each rank's own dispersion, which grows with the rank, one component looks best."""
    for module in ("rank_study", "rank_evidence"):
        place = f"bnmf_core.evidence.{module}.why_no_evidence"
        monkeypatch.setattr(place, lambda problem: "It is not needed here.")
    data = planted(2, 15.0, 0, shape=(20, 16))
    rng = np.random.default_rng(0)
    study = rank_study(data, [1, 2, 3, 4], model="negative_binomial", restarts=2, rng=rng)
    assert study.criteria["hidden"].chosen == 2
    # So is the fit of the best restarts: with the dispersion of one of these ranks.
    own = [problem_of(data.X, rank, "negative_binomial").model_settings for rank in study.best]

    def unexplained(k):
        whole = deviance(data.X, np.full(data.X.shape, data.X.mean()), k)
        return [deviance(data.X, A @ W, k) / whole for A, W in study.best.values()]

    found = [np.abs(study.table["fit"] - unexplained(one.dispersion)).max() for one in own]
    assert min(found) < 1e-4 < np.median(found)


def deviance(X, Y, k):
    Y = np.maximum(Y, 1e-12)
    return (special.xlogy(X, X / Y) - (X + k) * np.log((X + k) / (Y + k))).sum()


@pytest.mark.long
def test_the_evidence_tells_poisson_from_negative_binomial_and_finds_the_rank():
    """On dispersed counts Poisson explains noise by components; there it loses by far."""
    for dispersion, right in ((np.inf, "poisson"), (5.0, "negative_binomial")):
        data = planted(3, dispersion, 2)
        found = {}
        for key in ("poisson", "negative_binomial"):
            rng = np.random.default_rng(0)
            study = rank_study(data, [2, 3, 4], model=key, restarts=6, most_modes=2, rng=rng)
            found[key] = study.table["log_evidence"]
            if key == right:
                assert study.criteria["evidence"].chosen == 3
            (told,) = of_counts(study)
            if right == "poisson":
                assert told.key == "counts_alike"
            else:
                assert told.key == "counts_differ"
                assert told.values["first"] == MODELS[right].label
        if right == "poisson":  # which the other one has as its limit
            assert found["poisson"].max() > found["negative_binomial"].max() - 5
        else:
            assert found["negative_binomial"].max() > found["poisson"].max() + 100
