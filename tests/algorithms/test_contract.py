"""What every registered algorithm must do; registering one is enough to have it tested."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse, stats

from bnmf_core import registry
from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import BNMFError, NotFoundError, RunError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import declarations
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine, planning
from bnmf_core.runs.planning import describe
from bnmf_core.solvers import hals, solution
from bnmf_core.solvers.solution import random_start
from bnmf_core.store.chunks import assemble
from bnmf_core.store.folders import FolderSink
from tests.suited import BRIEF, OF_EACH_STATE, model_of, suited

ALGORITHMS = list(registry.ALGORITHMS.values())
FACTORS = ("A", "W", "log_joint", "error", "ids", "chain", "draw", "weights")


def with_known(dataset: Dataset) -> Dataset:
    """The dataset with a factorization that counts as known for every rank used here."""
    problem = Problem.without_model(dataset, 1)
    known = []
    for rank in (1, 4, 12):
        A, W = random_start(dataset, rank, np.random.default_rng(rank))
        A, W = hals.solve(replace(problem, rank=rank), A[None], W[None], 50)
        known.append(Truth(f"rank {rank}", A[0], W[0]))
    return replace(dataset, truth=tuple(known))


@pytest.fixture(scope="module", params=ALGORITHMS, ids=lambda algorithm: algorithm.key)
def algorithm(request):
    return request.param


@pytest.fixture(scope="module")
def small(small, algorithm) -> Dataset:
    """The shared dataset; some explorers start at known factorizations of it."""
    return with_known(suited(small, model_of(algorithm.key)))


# Settings of the models, and their log priors.
EXPECTED = {
    "gaussian": (
        {"sigma": 0.2, "rate": 0.7},
        lambda F: stats.expon.logpdf(F, scale=1 / 0.7).sum(),
    ),
    "boolean": (
        {"sigma": 0.2, "prior": "laplace"},
        lambda F: stats.truncexpon.logpdf(F, b=0.5, scale=2.0).sum(),
    ),
}


def make_spec(algorithm, **changes) -> RunSpec:
    # Rank 4 is above Q-Transform's transfer rank, so that its random padding takes part.
    usual = {"algorithm": algorithm.key, "rank": 4, "particles": 7, "seed": 5}
    usual |= {"model": model_of(algorithm.key)}
    return RunSpec(**usual | {"settings": BRIEF.get(algorithm.key, {})} | changes)


def take_small_steps(monkeypatch) -> None:
    """So that shards are left in the middle too."""
    monkeypatch.setattr("bnmf_core.core.algorithm.STEP_WORK", 5e6)
    monkeypatch.setattr(solution, "STEP_WORK", 2e6)


def assert_same_bits(one, other):
    for name in FACTORS:
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert set(one.diagnostics) == set(other.diagnostics)
    for key in one.diagnostics:
        np.testing.assert_array_equal(one.diagnostics[key], other.diagnostics[key], err_msg=key)


@pytest.fixture(scope="module")
def made(small):
    """By the key of an algorithm: what it makes, what it was given, and X as it was before."""

    @cache
    def make(key):
        X, given = small.X.copy(), dict(BRIEF.get(key, {}))
        algorithm = registry.algorithm(key)
        model_settings = dict(EXPECTED[model_of(algorithm.key)][0])
        spec = make_spec(algorithm, settings=given, model_settings=model_settings)
        particles = engine.run(small, spec)
        return SimpleNamespace(particles=particles, X=X, given=(given, model_settings))

    return make


@pytest.fixture(scope="module")
def usual(small):
    """By the key of an algorithm and a number: so many particles of its usual run."""
    return cache(
        lambda key, count: engine.run(small, make_spec(registry.algorithm(key), particles=count))
    )


def test_particles_are_non_negative_factorizations(algorithm, small, made):
    particles = made(algorithm.key).particles
    assert particles.A.shape == (7, small.D, 4)
    assert particles.W.shape == (7, 4, small.N)
    for name in ("A", "W", "log_joint", "error", "seconds", "weights"):
        values = getattr(particles, name)
        assert values.dtype == np.float64
        assert np.isfinite(values).all()
    assert (particles.A >= 0).all() and (particles.W >= 0).all()
    for values in particles.diagnostics.values():
        assert values.shape == (7,)
    assert particles.info["stop_reason"] == "complete"


@pytest.mark.slow
def test_particles_are_numbered_once(algorithm, usual):
    particles = usual(algorithm.key, 25)
    np.testing.assert_array_equal(np.sort(particles.ids), np.arange(25))
    assert len(set(zip(particles.chain, particles.draw, strict=True))) == 25
    for chain in np.unique(particles.chain):
        draws = particles.draw[particles.chain == chain]
        np.testing.assert_array_equal(draws, np.arange(draws.size))
        assert (np.diff(particles.seconds[particles.chain == chain]) >= 0).all()
    assert particles.weights.sum() == pytest.approx(1.0, abs=1e-12)


@pytest.mark.slow
def test_the_seed_decides_every_bit(algorithm, small, usual):
    first = usual(algorithm.key, 7)
    assert_same_bits(first, engine.run(small, make_spec(algorithm)))
    other = engine.run(small, make_spec(algorithm, seed=6))
    assert not np.array_equal(first.A, other.A)


def test_inputs_are_left_alone(algorithm, small, made):
    np.testing.assert_array_equal(small.X, made(algorithm.key).X)
    brief = BRIEF.get(algorithm.key, {})
    assert made(algorithm.key).given == (brief, EXPECTED[model_of(algorithm.key)][0])


def test_recorded_density_and_error_follow_from_their_definitions(algorithm, small, made):
    particles, log_prior = made(algorithm.key).particles, EXPECTED[model_of(algorithm.key)][1]
    for m in range(particles.M):
        A, W = particles.A[m], particles.W[m]
        expected = stats.norm.logpdf(small.X, A @ W, 0.2).sum() + log_prior(A) + log_prior(W)
        assert particles.log_joint[m] == pytest.approx(expected, rel=1e-11)
        relative = np.sqrt(((small.X - A @ W) ** 2).sum() / (small.X**2).sum())
        assert particles.error[m] == pytest.approx(relative, rel=1e-11)


def test_every_setting_says_what_it_is(algorithm):
    for model in filter(algorithm.works_with, registry.MODELS.values()):
        for declared_by in (algorithm.Settings, model.Settings):
            for field, declaration in declarations(declared_by).values():
                assert declaration.label and declaration.help.endswith("."), field.name


def test_settings_out_of_range_are_named(algorithm, small):
    for name, (_, declared) in declarations(algorithm.Settings).items():
        wrong = ["nonsense", float("nan"), [1]]
        if declared.minimum is not None:
            wrong.append(declared.minimum - 1)
        if declared.maximum is not None:
            wrong.append(declared.maximum + 1)
        for value in wrong:
            with pytest.raises(SettingsError, match=declared.label):
                engine.run(small, make_spec(algorithm, settings={name: value}))


def test_an_unknown_setting_or_model_is_answered_with_the_known_ones(algorithm, small):
    with pytest.raises(SettingsError, match="no setting called 'nonsense'") as caught:
        engine.run(small, make_spec(algorithm, settings={"nonsense": 1}))
    for name in declarations(algorithm.Settings):
        assert name in str(caught.value)
    with pytest.raises(SettingsError, match="no setting called 'nonsense'.*sigma"):
        engine.run(small, make_spec(algorithm, model_settings={"nonsense": 1}))
    with pytest.raises(NotFoundError, match="no model 'nonsense'; there are gaussian"):
        engine.run(small, make_spec(algorithm, model="nonsense"))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"rank": 0}, "The rank was 0"),
        ({"rank": 2.5}, "The rank was 2.5"),
        ({"rank": 13}, "between 1 and 12"),
        ({"rank": 9, "holdout": 0.5}, "7 observations, so the rank must be between 1 and 7"),
        ({"particles": 0}, "0 factorizations were asked for"),
        ({"particles": -3}, "-3 factorizations were asked for"),
        ({"seed": -1}, "The seed was -1"),
        ({"holdout": 0.9}, "held-out fraction was 0.9"),
        ({"holdout": float("nan")}, "held-out fraction was nan"),
    ],
)
def test_what_does_not_fit_is_refused_with_a_sentence(algorithm, small, changes, sentence):
    with pytest.raises(BNMFError, match=sentence) as caught:
        planning.check(small, make_spec(algorithm, **changes))
    assert str(caught.value).endswith(".")
    with pytest.raises(BNMFError, match=sentence):
        engine.run(small, make_spec(algorithm, **changes))


def with_gaps(dataset: Dataset, under: float) -> Dataset:
    """A fifth of the entries unseen; ``under`` is what the matrix holds there before."""
    mask = np.random.default_rng(3).random(dataset.X.shape) > 0.2
    masked = Dataset.from_array(np.where(mask, dataset.X, under), mask=mask)
    return replace(masked, truth=dataset.truth)


@pytest.mark.slow
def test_entries_that_were_not_seen_do_not_count_or_the_run_is_refused(algorithm, small):
    spec = make_spec(algorithm)
    data = with_gaps(small, under=0.0)
    try:
        planning.check(data, spec)
    except BNMFError as refusal:
        assert str(refusal).endswith(".") and "were not seen" in str(refusal)
        with pytest.raises(type(refusal)):
            engine.run(data, spec)
        return
    particles = engine.run(data, spec)
    assert_same_bits(engine.run(with_gaps(small, under=1e6), spec), particles)
    residual = (small.X - particles.A @ particles.W)[:, data.mask]
    norm = np.linalg.norm(small.X[data.mask])
    np.testing.assert_allclose(particles.error, np.linalg.norm(residual, axis=1) / norm, rtol=1e-11)


@pytest.mark.slow
def test_a_mask_that_hides_nothing_changes_no_bit(algorithm, small, usual):
    masked = replace(small, mask=np.ones(small.X.shape, dtype=bool))
    assert_same_bits(engine.run(masked, make_spec(algorithm)), usual(algorithm.key, 7))


def test_a_feature_of_which_nothing_was_seen_is_named(algorithm):
    X = np.ones((5, 6))
    X[1] = np.nan
    with pytest.raises(RunError, match="No entry of the feature 'feature 2' was seen"):
        planning.check(Dataset.from_array(X), make_spec(algorithm))
    X = np.ones((5, 6))
    X[:, [2, 4]] = np.nan
    with pytest.raises(RunError, match="the observation 'observation 3', nor of 1 other, was"):
        planning.check(Dataset.from_array(X), make_spec(algorithm))


@pytest.mark.slow
@pytest.mark.parametrize("rank", [1, 12])
def test_the_smallest_and_the_largest_rank_work(algorithm, small, rank):
    particles = engine.run(small, make_spec(algorithm, rank=rank, particles=3))
    assert particles.A.shape == (3, 12, rank)
    assert np.isfinite(particles.A).all() and np.isfinite(particles.W).all()
    # The best product of rank one leaves an error that the SVD tells.
    singular = np.linalg.svd(small.X, compute_uv=False)
    bound = np.sqrt((singular[rank:] ** 2).sum() / (singular**2).sum())
    assert (particles.error >= bound - 1e-12).all()
    if algorithm.key != "boolean_gibbs":  # the ordinary product counts a cell once for every tile
        assert (particles.error <= 1.0).all()


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", OF_EACH_STATE, ids=lambda one: one.key, indirect=True)
def test_cancelling_keeps_what_is_there(algorithm):
    rng = np.random.default_rng(2)
    X = rng.random((60, 5)) @ rng.random((5, 40)) + 0.1 * rng.random((60, 40))
    cancel, told = threading.Event(), []

    def on_progress(progress):
        if progress.done and not cancel.is_set():
            told.append(time.monotonic())
            cancel.set()

    spec = make_spec(algorithm, particles=20_000)
    data = with_known(suited(Dataset.from_array(X), spec.model))
    particles = engine.run(data, spec, on_progress, cancel)
    assert time.monotonic() - told[0] < 2
    assert particles.info["stop_reason"] == "cancelled"
    assert 0 < particles.M < 20_000
    assert len(set(particles.ids)) == particles.M


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", OF_EACH_STATE, ids=lambda one: one.key, indirect=True)
def test_resuming_after_every_step_changes_no_bit(algorithm, small, usual, tmp_path, monkeypatch):
    spec = make_spec(algorithm, particles=25)
    whole = usual(algorithm.key, 25)
    take_small_steps(monkeypatch)
    parts = 0
    while True:
        plan, sink, cancel = (
            planning.make_plan(small, spec),
            FolderSink(tmp_path),
            threading.Event(),
        )
        with ThreadPoolExecutor(engine.WORKERS) as executor:
            outcome = engine.drive(
                plan, sink, executor, lambda _, cancel=cancel: cancel.set(), cancel
            )
        parts += 1
        if outcome.stop_reason == "complete":
            break
    assert parts > 2
    starts = [shard.start for shard in plan.shards]
    assert_same_bits(assemble(sink.chunks(), starts, spec, describe(plan)), whole)


@pytest.mark.slow
def test_sparse_and_dense_storage_give_the_same_particles(algorithm, small):
    X = np.where(small.X > np.quantile(small.X, 0.4), small.X, 0.0)
    # Two trajectories of a sampler part by a factor at every sweep, however close they begin.
    short = {"warm_up": 0} if "warm_up" in declarations(algorithm.Settings) else {}
    spec = make_spec(algorithm, particles=3, settings=BRIEF.get(algorithm.key, {}) | short)
    data = with_known(Dataset.from_array(X))
    dense = engine.run(data, spec)
    stored = engine.run(replace(data, X=sparse.csc_array(X)), spec)
    # Sparse products add in another order and the SVD is found by Lanczos iteration; over some
    # hundred iterations the rounding grows from 1e-16, but no more than that of X itself.
    for factor in ("A", "W"):
        one, other = getattr(dense, factor), getattr(stored, factor)
        if np.abs(other - one).max() > 1e-6 * one.max():
            noise = 1e-15 * np.random.default_rng(0).standard_normal(X.shape)
            rounded = engine.run(with_known(Dataset.from_array(X * (1 + noise))), spec)
            bound = min(3 * np.abs(getattr(rounded, factor) - one).max(), 1e-5 * one.max())
            np.testing.assert_allclose(other, one, rtol=0, atol=bound)
    np.testing.assert_allclose(stored.log_joint, dense.log_joint, rtol=1e-6)
    np.testing.assert_allclose(stored.error, dense.error, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", OF_EACH_STATE, ids=lambda one: one.key, indirect=True)
def test_progress_never_goes_back_and_ends_at_one(algorithm, small, monkeypatch):
    take_small_steps(monkeypatch)
    seen = []
    engine.run(small, make_spec(algorithm, particles=25), seen.append)
    fractions, done = [p.fraction for p in seen], [p.done for p in seen]
    assert fractions == sorted(fractions) and done == sorted(done)
    assert fractions[0] > 0 and fractions[-1] == 1.0 and done[-1] == 25
    assert all(p.total == 25 and p.remaining >= 0 for p in seen)
    assert seen[-1].remaining == 0


@pytest.mark.slow
@pytest.mark.parametrize("block", [1, 7])
def test_particles_do_not_depend_on_the_block_size(algorithm, small, usual, block):
    if "block" not in declarations(algorithm.Settings):
        pytest.skip("makes its particles one after the other")
    whole = usual(algorithm.key, 25)
    settings = BRIEF.get(algorithm.key, {}) | {"block": block}
    other = engine.run(small, make_spec(algorithm, particles=25, settings=settings))
    np.testing.assert_array_equal(other.ids, whole.ids)
    # Products of wider matrices add in another order; the rounding grows over the iterations.
    np.testing.assert_allclose(other.A, whole.A, rtol=0, atol=1e-6 * whole.A.max())
    np.testing.assert_allclose(other.W, whole.W, rtol=0, atol=1e-6 * whole.W.max())
    np.testing.assert_array_equal(other.diagnostics["iterations"], whole.diagnostics["iterations"])
