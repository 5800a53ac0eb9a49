"""Tempered SMC against plain importance sampling, and against a problem whose masses are known."""

import numpy as np
import pytest
from scipy.special import logsumexp

from bnmf_core import registry
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.settings import build
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.numerics.populations import systematic
from bnmf_core.runs import engine, planning
from bnmf_core.samplers import scale_move, tempered_smc

from .kernels import make_problem
from .masses import mass_of_first

# Large enough for draws from the prior to hit the posterior.
SIGMA = 1.2
MASK = np.array([[1, 1, 0, 1], [1, 0, 1, 1], [1, 1, 1, 0]], dtype=bool)


def tiny(rank, mask=None) -> Dataset:
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(3, rank)) @ rng.exponential(size=(rank, 4))
    return Dataset.from_array(np.abs(X + SIGMA * rng.standard_normal((3, 4))), mask=mask)


def by_importance(data, rank, draws=2_000_000):
    """log p(X) and its relative error, as the mean likelihood of draws from the prior."""
    rng = np.random.default_rng(4)
    seen = np.ones(data.X.shape, dtype=bool) if data.mask is None else data.mask
    logs = []
    for _ in range(draws // 100_000):
        A = rng.exponential(size=(100_000, 3, rank))
        W = rng.exponential(size=(100_000, rank, 4))
        squared = ((data.X - A @ W)[:, seen] ** 2).sum(axis=1)
        logs.append(-squared / (2 * SIGMA**2))
    logs = np.concatenate(logs) - 0.5 * seen.sum() * np.log(2 * np.pi * SIGMA**2)
    mean = logsumexp(logs) - np.log(logs.size)
    return mean, np.sqrt(np.expm1(logsumexp(2 * logs) - np.log(logs.size) - 2 * mean) / logs.size)


@pytest.mark.slow
@pytest.mark.parametrize(("rank", "mask"), [(1, None), (2, None), (2, MASK)])
def test_the_evidence_of_tiny_problems_is_that_of_importance_sampling(rank, mask):
    data = tiny(rank, mask)
    expected, error = by_importance(data, rank)
    settings = {"populations": 16, "population": 300, "sweeps": 2}
    spec = RunSpec(
        "tempered_smc",
        rank,
        particles=160,
        settings=settings,
        model_settings={"sigma": SIGMA, "rate": 1.0},
    )
    info = engine.run(data, spec).info
    assert error < 0.03 and info["log_evidence_error"] < 0.03
    both = np.hypot(error, info["log_evidence_error"])
    assert abs(info["log_evidence"] - expected) < 3 * both


@pytest.mark.slow
def test_two_solutions_have_half_the_mass_each():
    found = [
        mass_of_first(
            engine.run(
                laurberg("two"),
                RunSpec(
                    "tempered_smc",
                    3,
                    particles=1200,
                    seed=seed,
                    settings={"population": 300},
                    model_settings={"sigma": 0.05, "rate": 1.0},
                ),
            )
        )
        for seed in range(4)
    ]
    assert abs(np.mean(found) - 0.5) < 0.06


@pytest.mark.long
def test_two_solutions_have_half_the_mass_each_with_little_noise():
    settings = {"population": 1000, "effective": 0.9}
    found = []
    for seed in range(4):
        sigma = {"sigma": 0.001, "rate": 1.0}
        spec = RunSpec("tempered_smc", 3, "gaussian", 4000, seed, settings, sigma)
        found.append(mass_of_first(engine.run(laurberg("two"), spec)))
    assert abs(np.mean(found) - 0.5) < 0.06


@pytest.mark.long
def test_both_ways_agree_where_two_equal_fits_are_not_equally_probable():
    data, sigma = laurberg("two", noise=0.01), {"sigma": 0.01, "rate": 1.0}
    tempered, jumping = [], []
    for seed in range(4):
        settings = {"population": 1000}
        spec = RunSpec("tempered_smc", 3, "gaussian", 4000, seed, settings, sigma)
        tempered.append(mass_of_first(engine.run(data, spec)))
        settings = {"chains": 40, "sweeps": 1}
        spec = RunSpec("mode_jumps", 3, "gaussian", 40_000, seed, settings, sigma)
        jumping.append(mass_of_first(engine.run(data, spec)))
    errors = [np.std(found, ddof=1) / 2 for found in (tempered, jumping)]
    assert 0.0005 < np.mean(jumping) < 0.02
    assert abs(np.mean(tempered) - np.mean(jumping)) < 4 * np.hypot(*errors) + 1e-3


# Its parts


def test_systematic_resampling_takes_each_as_often_as_its_weight_says():
    rng = np.random.default_rng(0)
    weights = rng.exponential(size=50)
    expected = 50 * weights / weights.sum()
    counts = np.array([np.bincount(systematic(weights, rng), minlength=50) for _ in range(4000)])
    assert (counts >= np.floor(expected)).all() and (counts <= np.ceil(expected)).all()
    assert abs(counts.mean(axis=0) - expected).max() < 0.05


def test_a_rise_leaves_the_part_effective_that_was_asked_for():
    logs = 1e4 * np.random.default_rng(1).standard_normal(200)
    for effective in (0.3, 0.8, 0.95):
        rise = tempered_smc.next_rise(logs, effective, 1.0)
        w = np.exp(rise * (logs - logs.max()))
        assert w.sum() ** 2 / (w**2).sum() == pytest.approx(effective * 200, rel=1e-6)
    assert tempered_smc.next_rise(logs * 1e-9, 0.8, 0.7) == 0.7
    assert tempered_smc.next_rise(np.zeros(9), 0.99, 1.0) == 1.0


def test_after_a_rise_the_population_has_the_weighted_mean():
    data = tiny(2)
    spec = RunSpec(
        "tempered_smc",
        2,
        particles=4,
        settings={"population": 5000, "effective": 0.5},
        model_settings={"sigma": SIGMA, "rate": 1.0},
    )
    plan = planning.make_plan(data, spec)
    rng = np.random.default_rng(3)
    before = tempered_smc.init(plan.problem, plan.settings, plan.shards[0], rng)
    after = tempered_smc._raised(plan.problem, before, plan.settings, rng)

    def log_likelihood(state):
        A, W = state.place
        squared = ((data.X - A.transpose(0, 2, 1) @ W) ** 2).sum(axis=(1, 2))
        return -squared / (2 * SIGMA**2) - 6 * np.log(2 * np.pi * SIGMA**2)

    logs = after.power * log_likelihood(before)
    weights = np.exp(logs - logs.max())
    assert weights.sum() ** 2 / (weights**2).sum() == pytest.approx(2500, rel=1e-6)
    assert after.log_evidence == pytest.approx(np.log(np.exp(logs).mean()), rel=1e-12)

    def size(state):
        A, W = state.place
        return np.log1p(A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))

    of_size = size(before)
    expected = weights @ of_size / weights.sum()
    assert size(after).mean() == pytest.approx(expected, abs=0.003)
    assert abs(expected - of_size.mean()) > 0.03


def test_the_scale_move_keeps_the_product_and_moves():
    rng = np.random.default_rng(2)
    problem = make_problem(np.ones((4, 6)), 2)
    A, W = rng.exponential(size=(500, 2, 4)), rng.exponential(size=(500, 2, 6))
    moved_A, moved_W, accepted = scale_move.move(problem, A, W, rng)
    np.testing.assert_allclose(
        moved_A.transpose(0, 2, 1) @ moved_W, A.transpose(0, 2, 1) @ W, rtol=1e-12
    )
    changed = (moved_A != A).any(axis=2)
    np.testing.assert_array_equal(changed, accepted)
    assert 0.3 < accepted.mean() < 0.95


def test_progress_follows_the_temperature(small):
    spec = RunSpec("tempered_smc", 2, particles=4, settings={"population": 20, "sweeps": 1})
    plan = planning.make_plan(small, spec)
    state = tempered_smc.init(
        plan.problem, plan.settings, plan.shards[0], plan.shards[0].generator()
    )
    assert tempered_smc.fraction(state, plan.settings) == 0.0
    rng, told, powers = np.random.default_rng(0), [], []
    while state.power < 1.0:
        state = tempered_smc._raised(plan.problem, state, plan.settings, rng)
        state = tempered_smc._moved(plan.problem, state, rng)
        told.append(tempered_smc.fraction(state, plan.settings))
        powers.append(state.power)
    assert told == sorted(told) and told[0] > 0 and told[-1] == 1.0
    assert powers == sorted(set(powers))


def test_particles_are_shared_out_among_enough_populations():
    settings = tempered_smc.Settings(populations=4, population=100)
    for particles in (1, 3, 4, 100, 401, 20_000):
        sizes = tempered_smc.shard_sizes(settings, particles)
        assert sum(sizes) == particles and 1 <= min(sizes) and max(sizes) <= 100
        assert len(sizes) >= min(4, particles)


def test_each_population_counts_by_its_own_evidence(small):
    settings = {"population": 10, "sweeps": 1}
    spec = RunSpec("tempered_smc", 2, particles=9, settings=settings)
    plan = planning.make_plan(small, spec)
    logs = {}
    for shard in plan.shards:
        checkpoint, chunk = None, None
        while chunk is None:
            checkpoint, chunk = engine.advance(plan, shard, checkpoint)
        logs[shard.index] = chunk.log_evidence
    particles = engine.run(small, spec)
    mass = np.array([particles.weights[particles.chain == k].sum() for k in range(4)])
    logs = np.array([logs[k] for k in range(4)])
    np.testing.assert_allclose(np.log(mass), logs - logsumexp(logs), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("algorithm", ["tempered_smc", "mode_jumps"])
def test_a_model_without_conditionals_is_refused_before_the_start(small, algorithm):
    with pytest.raises(SettingsError, match="needs conditional draws, which the model"):
        planning.check(small, RunSpec(algorithm, 2, model="silf"))


@pytest.mark.parametrize("algorithm", ["tempered_smc", "mode_jumps"])
def test_a_flat_prior_is_refused_before_the_start(small, algorithm):
    with pytest.raises(SettingsError, match="needs a prior rate λ above 0"):
        planning.check(small, RunSpec(algorithm, 2, model_settings={"rate": 0.0}))


def test_a_population_of_one_shard_has_its_own_prior_draws(small):
    chosen = registry.algorithm("tempered_smc")
    problem = make_problem(small.X, 2)
    settings = build(chosen.Settings, {"population": 10}, chosen.label)
    shards = [Shard(k, k, 1, 7) for k in range(2)]
    starts = [chosen.init(problem, settings, shard, shard.generator()).place for shard in shards]
    assert not np.isclose(starts[0][0], starts[1][0]).any()
