"""Annealed jumps: what they start from, the way back, and the joint distribution of counts."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnmf_core.samplers.annealed_jump import Anchors, climbed, jump, moments

from .kernels import Raised, draw_joint, make_problem, many_problems
from .test_counts import pairs, passes, problem_of, quantities
from .test_tempered_smc import SIGMA, by_importance, tiny

# Few counts, so that a way of two steps is accepted often enough.
FEW = {"rate": 1.5, "shape_A": 0.8, "shape_W": 1.5}
KNOWN = {"gaussian": {"sigma": 0.5, "rate": 1.0}, "poisson": FEW}
D, N, R = 4, 3, 2


def anchored(kind=Anchors, K=2, shape=(3, 4), low=-1.0, high=1.5, narrowest=5.0, steps=32):
    rng = np.random.default_rng(5)
    mean = rng.uniform(low, high, (K, R, sum(shape)))
    variance = 1.0 / rng.uniform(0.3, narrowest, mean.shape)
    return kind(mean, variance, np.linspace(0, 1, steps + 1))


def anchored_counts(kind=Anchors, steps=2):
    rng = np.random.default_rng(3)
    off_prior = [(0.4, 1.0, D), (0.8, 1.5, N)]
    mean, shape = (
        np.concatenate([np.full((2, R, one[-1]), one[i]) for one in off_prior], axis=2)
        for i in (0, 1)
    )
    mean = mean * np.exp(0.3 * rng.standard_normal(mean.shape))
    return kind(mean, mean**2 / shape, np.linspace(0, 1, steps + 1))


@pytest.mark.parametrize("key", ["gaussian", "poisson"])
def test_particles_have_the_density_and_the_ratio_of_their_own_mode(key):
    X, label = np.arange(12.0).reshape(3, 4), np.array([1, 0, 1, 0])
    problem = problem_of(key, X, **KNOWN[key])
    anchors, rng = anchored(low=0.5), np.random.default_rng(6)
    together = anchors.bridge(problem, label)
    population = together.move(together.start(4, rng), 0.4, rng)
    population = together.back(population, 0.4, rng)
    A, W, *others = population.place
    for m, k in enumerate(label):
        alone, place = anchors.bridge(problem, k), tuple(F[m : m + 1] for F in population.place)
        own = alone.log_start(*place[:2])
        np.testing.assert_allclose(together.log_start(A, W)[m], own, rtol=1e-10)
        ratio = population.log_ratio[m]
        if others:
            np.testing.assert_allclose(alone.population(place).log_ratio, ratio, rtol=1e-9)
        else:
            joint = problem.model.log_joint(problem, A[m : m + 1].transpose(0, 2, 1), place[1])
            np.testing.assert_allclose(joint - own, ratio, rtol=1e-9)


@pytest.mark.parametrize("key", ["gaussian", "poisson"])
def test_each_particle_starts_from_its_own_mode(key):
    problem, label = problem_of(key, np.ones((3, 4)), **KNOWN[key]), np.repeat([0, 1], 4000)
    anchors = anchored(low=0.5)
    bridge = anchors.bridge(problem, label)
    population = bridge.start(label.size, np.random.default_rng(7))
    # At the power 0 they stay there.
    population = bridge.move(population, 0.0, np.random.default_rng(8))
    drawn = np.concatenate(population.place[:2], axis=2)
    for k in range(2):
        mean, sd = anchors.mean[k, 1, 2], anchors.variance[k, 1, 2] ** 0.5
        expected = (
            stats.truncnorm(-mean / sd, np.inf, mean, sd)
            if key == "gaussian"
            else stats.gamma((mean / sd) ** 2, scale=sd**2 / mean)
        )
        assert stats.kstest(drawn[label == k, 1, 2], expected.cdf).pvalue > 1e-4


def test_moments_are_those_of_the_conditional_normals():
    rng = np.random.default_rng(8)
    X, A, W = rng.random((3, 4)), rng.random((3, 2)), rng.random((2, 4))
    problem = make_problem(X, 2, sigma=0.7, rate=0.4)
    mean, second = moments(problem, A.T[None], W[None])
    r, d, n = 1, 2, 3
    others = X[d] - A[d] @ W + A[d, r] * W[r]
    assert mean[0, r, d] == pytest.approx((others @ W[r] - 0.4 * 0.49) / (W[r] @ W[r]))
    assert second[0, r, d] - mean[0, r, d] ** 2 == pytest.approx(0.49 / (W[r] @ W[r]))
    others = X[:, n] - A @ W[:, n] + A[:, r] * W[r, n]
    expected = (others @ A[:, r] - 0.4 * 0.49) / (A[:, r] @ A[:, r])
    assert mean[0, r, 3 + n] == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("gaps", [False, True])
def test_the_mean_weight_of_the_way_up_is_the_evidence(gaps):
    mask = np.ones((3, 4), dtype=bool)
    mask[0, 2] = mask[2, 3] = not gaps
    data = tiny(2, mask)
    problem = make_problem(data.X, 2, sigma=SIGMA)
    object.__setattr__(problem, "dataset", data)
    anchors = anchored(K=1, low=0.0, high=1.0, narrowest=1.0)
    bridge, count = anchors.bridge(problem, 0), 2_000 if gaps else 4_000
    _, log_w = climbed(bridge, count, anchors.powers, np.random.default_rng(9))
    w = np.exp(log_w - log_w.max())
    found, error = log_w.max() + np.log(w.mean()), w.std() / w.mean() / np.sqrt(w.size)
    expected, of_expected = by_importance(data, 2)
    assert error < 0.1 and abs(found - expected) < 3 * np.hypot(error, of_expected)


# The way back


def steps_both_ways(key, step_back="back", count=4_000):
    """What tells the first of two places from the second: of those that came up, and went back.

    A place z from the posterior: (z, up from z) is distributed as (back from z, z).
    """
    rng = np.random.default_rng(10)
    if key == "gaussian":
        A, W, X = draw_joint("positive", 10 * count, rng)
        problem = many_problems(X, R, make_problem(X[0], R).model)
        problem.seen = None
        bridge = anchored(Raised, shape=(D, N)).bridge(problem, np.zeros(len(X), dtype=int))
        entered = bridge.entered(A.transpose(0, 2, 1).copy(), W, rng)
        half = np.arange(len(X)) % 2 == 0
        up, back = (getattr(bridge, step)(entered, 1.0, rng).place for step in ("move", step_back))
        seen = told_apart(X, entered.place, up)[:, half]
        return seen, told_apart(X, back, entered.place)[:, ~half]
    found = []
    for i, (problem, A, W, _) in enumerate(pairs("poisson", FEW, rng, 2 * count)):
        bridge = anchored_counts().bridge(problem, 0)
        entered = bridge.entered(A.T[None].copy(), W[None], rng)
        moved = getattr(bridge, step_back if i % 2 else "move")(entered, 1.0, rng)
        order = (moved, entered) if i % 2 else (entered, moved)
        found.append(told_apart(problem.dataset.X, *(one.place for one in order))[:, 0])
    return np.array(found)[::2].T, np.array(found)[1::2].T


def told_apart(X, first, second):
    """Functions of two places in which one is not like the other, (4, c)."""
    (A, W, *Z), (B, V, *_) = first, second

    def off(A, W):
        return ((X - A.transpose(0, 2, 1) @ W) ** 2).sum(axis=(1, 2))

    mixed = np.concatenate([A[:, :1], B[:, 1:]], axis=1), np.concatenate([B[:, :1], A[:, 1:]], 1)
    changed = [off(A, V) - off(B, W), off(mixed[0], W) - off(mixed[1], W)]
    changed += [off(mixed[0], V) - off(mixed[1], V)]
    # Sources are drawn for the place before: they belong to its rows of A.
    of_A = second[2] if Z else B
    return np.array([*changed, (of_A * (A - B)).sum(axis=(1, 2))])


def way_p_values(key, step_back="back"):
    first, second = steps_both_ways(key, step_back)
    return [stats.ks_2samp(*one).pvalue for one in zip(first, second, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("key", ["gaussian", "poisson"])
def test_the_way_back_is_the_time_reversal(key):
    assert passes(way_p_values(key))
    assert not passes(way_p_values(key, step_back="move"))


# Counts


class Weightless(Anchors):
    """The mistake of a path whose weights are not counted."""

    def bridge(self, problem, label):
        bridge = super().bridge(problem, label)
        found = bridge.population

        def unweighted(place):
            population = found(place)
            return replace(population, log_ratio=np.zeros_like(population.log_ratio))

        object.__setattr__(bridge, "population", unweighted)
        return bridge


def jump_p_values(kind, seed, jumps=4, count=4_000):
    """Quantities of pairs from the prior after jumps that were fitted to none of the posteriors."""
    rng, anchors, found, accepted = np.random.default_rng([seed, 0]), anchored_counts(kind), [], 0
    for problem, A, W, k in pairs("poisson", FEW, rng, count):
        place = A.T[None], W[None]
        for _ in range(jumps):
            *place, taken = jump(problem, *place, anchors, rng)
            accepted += taken[0]
        found.append(quantities(problem, place[0][0].T, place[1][0], k))
    assert accepted > 0.05 * jumps * count
    rng = np.random.default_rng([seed, 1])
    fresh = [quantities(*pair) for pair in pairs("poisson", FEW, rng, count)]
    both = zip(np.array(found).T, np.array(fresh).T, strict=True)
    return [stats.ks_2samp(*one).pvalue for one in both]


@pytest.mark.long
def test_a_jump_keeps_the_joint_distribution_of_counts():
    assert passes(jump_p_values(Anchors, 1)) or passes(jump_p_values(Anchors, 2))


@pytest.mark.long
def test_the_same_test_notices_a_mistake():
    assert not passes(jump_p_values(Weightless, 3))
