"""Components that join and leave: what each is worth, against bounds computed from scratch."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit

from bnmf_core.rrt.mixture import Component, Mixture, component_of
from bnmf_core.rrt.online import (
    REASONS,
    OnlineSettings,
    _Bound,
    best_joining,
    propose,
    propose_all,
    prune,
)
from tests.generated import generated

from .naive import mixture_of, random_component, random_mixture

SEEDS = st.integers(0, 2**32 - 1)
TOLERANCE = OnlineSettings().tolerance


@given(SEEDS, st.integers(1, 5), st.integers(1, 20))
def test_joining_at_weight_zero_gives_the_old_bound(seed, M, d):
    rng = np.random.default_rng(seed)
    mixture = random_mixture(rng, M, d)
    joined = mixture.joined(random_component(rng, d), 0.6, 0.0, 3)
    assert joined.elbo == pytest.approx(mixture.elbo, rel=1e-12, abs=1e-10)


@given(SEEDS, st.integers(1, 5), st.integers(1, 20), st.floats(-6, 6), st.floats(-2, 2))
def test_the_gain_is_the_difference_of_bounds_and_its_slopes_are_differences(
    seed, M, d, logit, log_variance
):
    rng = np.random.default_rng(seed)
    mixture, component = random_mixture(rng, M, d), random_component(rng, d)
    bound = _Bound(mixture, component, mixture.distances(component.center))
    x, h = np.array([logit, log_variance]), 1e-5
    value, slopes = bound.loss(x)
    joined = mixture.joined(component, np.exp(log_variance), expit(logit), 3)
    assert -value == pytest.approx(joined.elbo - mixture.elbo, rel=1e-9, abs=1e-8)
    for i, step in enumerate(h * np.eye(2)):
        difference = (bound.loss(x + step)[0] - bound.loss(x - step)[0]) / (2 * h)
        assert slopes[i] == pytest.approx(difference, rel=1e-5, abs=1e-5)


@pytest.mark.slow
def test_no_weight_and_variance_on_a_grid_gain_more():
    rng = np.random.default_rng(4)
    for d in (1, 3, 8):
        mixture, component = random_mixture(rng, 3, d), random_component(rng, d)
        apart = mixture.distances(component.center)
        gain = best_joining(mixture, component, apart, component.best_variance, False)[2]
        bound = _Bound(mixture, component, apart)
        places = np.stack(np.meshgrid(np.linspace(-12, 12, 49), np.linspace(-4, 4, 41)), axis=-1)
        on_grid = max(-bound.loss(x)[0] for x in places.reshape(-1, 2))
        assert gain >= on_grid - 1e-6


@given(SEEDS, st.integers(2, 25), st.integers(1, 10), st.sampled_from([1e-4, 1e-2, 0.5]))
@generated(40)
def test_who_joins_gains_the_tolerance_and_who_leaves_costs_less(seed, count, d, tolerance):
    rng = np.random.default_rng(seed)
    mixture = Mixture.empty(d)
    for number in range(count):
        component = random_component(rng, d, apart=2.0)
        after, decision = propose(mixture, component, number, tolerance)
        assert decision.reason in REASONS
        assert decision.elbo == pytest.approx(after.elbo)
        assert decision.entropy + decision.energy == decision.elbo
        assert decision.components == after.M
        assert after.weights.sum() == pytest.approx(1)
        if decision.joined and mixture.M:
            assert decision.gain >= tolerance
            before_leaving = mixture.joined(
                component, decision.variance, decision.weight, number
            ).elbo
            assert before_leaving - mixture.elbo == pytest.approx(decision.gain, abs=1e-8)
            allowed = tolerance * len(decision.removed)
            assert after.elbo >= before_leaving - allowed - 1e-9
            assert {*after.numbers} == {*mixture.numbers, number} - {*decision.removed}
        elif not decision.joined:
            assert after is mixture
            assert decision.gain < tolerance
        mixture = after
    if mixture.M > 1:
        without = [mixture.without(m).elbo for m in range(mixture.M)]
        assert (mixture.elbo - np.array(without) >= tolerance - 1e-9).all()


@pytest.mark.parametrize("better", [-5.0, 0.0, 3.0])
def test_far_apart_a_component_gains_what_two_bounds_sum_to(better):
    d = 4
    mixture = mixture_of(np.zeros((1, d)), [1.0], [1.0], [-2.0], [-float(d)])
    component = Component(np.full(d, 1e4), -2.0 + better, -float(d))
    _, decision = propose(mixture, component, 1, TOLERANCE)
    assert decision.gain == pytest.approx(np.log1p(np.exp(better)), rel=1e-9)
    assert decision.weight == pytest.approx(expit(better), rel=1e-6)
    assert decision.variance == pytest.approx(component.best_variance, rel=1e-4)


@given(SEEDS, st.integers(1, 30))
def test_a_duplicate_gains_nothing(seed, d):
    component = random_component(np.random.default_rng(seed), d)
    mixture, decisions = propose_all([component] * 3, TOLERANCE)
    assert [decision.reason for decision in decisions] == ["first", "gain", "gain"]
    assert mixture.M == 1
    assert all(decision.gain < 1e-9 for decision in decisions[1:])


def test_what_is_impossible_never_joins():
    never = Component(np.zeros(3), -np.inf, -1.0)
    mixture, decisions = propose_all([never, never], TOLERANCE)
    assert [decision.reason for decision in decisions] == ["impossible"] * 2
    assert mixture.M == 0 and np.isnan(decisions[0].elbo)
    after, decision = propose(random_mixture(np.random.default_rng(0), 2, 3), never, 8, TOLERANCE)
    assert (after.M, decision.joined, decision.reason) == (2, False, "impossible")


def test_without_curvature_there_is_no_variance_to_choose():
    flat = Component(np.zeros(3), -1.0, 0.0)
    assert propose_all([flat], TOLERANCE)[1][0].reason == "flat"
    assert propose_all([flat], TOLERANCE, variance=0.2)[1][0].reason == "first"


def test_millions_of_nats_leave_one_component():
    components = [Component(np.full(5, float(i)), 1e6 * i, -5.0) for i in range(4)]
    mixture, decisions = propose_all(components, TOLERANCE)
    assert list(mixture.numbers) == [3]
    assert mixture.weights == pytest.approx(1.0)
    assert [decision.removed for decision in decisions] == [(), (0,), (1,), (2,)]
    backwards, decisions = propose_all(components[::-1], TOLERANCE)
    assert list(backwards.numbers) == [0]
    assert [decision.reason for decision in decisions[1:]] == ["gain"] * 3


@pytest.mark.parametrize(("deviations", "reason"), [(0.9, "near"), (1.1, "joined")])
def test_at_a_fixed_variance_a_component_keeps_its_distance(deviations, reason):
    d, variance = 6, 0.3
    first = Component(np.zeros(d), -4.0, 0.0)
    second = Component(np.full(d, deviations * np.sqrt(variance)), -4.0, 0.0)
    mixture, decisions = propose_all([first, second], 1e-12, variance)
    assert decisions[1].reason == reason
    assert decisions[1].gain > 1e-12
    np.testing.assert_array_equal(mixture.variances, variance)


def test_the_lightest_leaves_first_and_someone_stays():
    # Three at one place: two are superfluous.
    mixture = mixture_of(np.zeros((3, 4)), [1.0] * 3, [0.5, 0.2, 0.3], [-1.0] * 3, [-4.0] * 3)
    left, removed = prune(mixture, TOLERANCE)
    assert removed == (11, 12)
    assert list(left.numbers) == [10] and left.weights == pytest.approx(1.0)
    assert prune(left, 1e6)[0].M == 1


def test_solved_factorizations_are_numbered_in_their_order(problem, factors):
    pairs = zip(*factors, strict=True)
    components = [component_of(problem, A, W, rescale=True) for A, W in pairs]
    mixture, decisions = propose_all(components, TOLERANCE)
    assert [decision.number for decision in decisions] == [0, 1, 2]
    assert {*mixture.numbers} <= {0, 1, 2}
    assert mixture.elbo >= max(c.bound(c.best_variance) for c in components) - 3 * TOLERANCE
