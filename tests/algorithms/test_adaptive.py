"""The adaptive warm-up waits for a drift to end, and measures a known autocorrelation time."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core import RunSpec, laurberg, run
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import gaussian
from bnmf_core.samplers import gibbs
from bnmf_core.samplers.adaptive import NEEDED, ROWS, WarmUp, expected_sweeps, thinning_of

R = 2
PROBLEM = SimpleNamespace(
    model=SimpleNamespace(log_joint=lambda problem, A, W: np.zeros(A.shape[0]))
)


def warm_up_of(series):
    """The record of one chain whose first component has these totals (T,), one a sweep."""
    A, W = np.ones((1, R, 3)), np.ones((1, R, 4))
    found = WarmUp.begin(A, W)
    for sweep, value in enumerate(series, 1):
        changed = A.copy()
        changed[0, 0] *= np.exp(value)
        found = found.noted(PROBLEM, changed, W, sweep)
    return found


def autoregressive(rng, rho, count):
    values = rng.standard_normal(count)
    for i in range(1, count):
        values[i] = rho * values[i - 1] + np.sqrt(1 - rho**2) * values[i]
    return values


@pytest.mark.parametrize("rho", [0.0, 0.5, 0.8])
def test_the_autocorrelation_time_of_a_known_process_is_measured(rho):
    exact = (1 + rho) / (1 - rho)
    found = [
        warm_up_of(autoregressive(np.random.default_rng(seed), rho, ROWS)).checked()
        for seed in range(30)
    ]
    times = [warm_up.autocorrelation for warm_up, _ in found]
    assert np.median(times) == pytest.approx(exact, rel=0.35)
    if rho < 0.5:
        assert all(enough for _, enough in found)


def test_a_drift_is_not_stationary_and_its_end_is():
    noise = 0.05 * np.random.default_rng(0).standard_normal(ROWS)
    drifting, enough = warm_up_of(np.linspace(0, 1, ROWS) + noise).checked()
    assert not enough and drifting.autocorrelation > ROWS / 2 / NEEDED
    over, enough = warm_up_of(np.minimum(np.linspace(0, 4, ROWS), 1.0) + noise).checked()
    assert enough and over.spacing == 2 and len(over.record) == ROWS // 2


def test_thinning_is_bounded_by_what_the_longest_warm_up_allows():
    warm_up = replace(warm_up_of(np.zeros(3)), autocorrelation=40.0)
    assert thinning_of(warm_up, 1, 100, 100_000) == 60
    assert thinning_of(warm_up, 1, 100, 1_000) == 10
    assert thinning_of(warm_up, 80, 100, 100_000) == 80
    assert expected_sweeps(warm_up, 512, 100, 100_000) >= 512


def test_it_never_runs_longer_than_twice_the_longest():
    data = laurberg("two", noise=0.05, rng=np.random.default_rng(0))
    problem = Problem.prepare(data, gaussian.MODEL, gaussian.Settings(), 3)
    settings = gibbs.Settings(chains=2, longest=600, thinning=1)
    shard = Shard(0, 0, 100, 0)
    rng = shard.generator()
    state = gibbs.init(problem, settings, shard, rng)
    while state.warm_up is not None or state.sweeps < gibbs.total_sweeps(state, settings):
        state, _ = gibbs.step(problem, state, settings, rng)
    assert state.begin == ROWS and state.sweeps <= 2 * settings.longest


def test_chains_with_an_adaptive_warm_up_make_their_draws_and_the_same_bits():
    data = laurberg("two", noise=0.05, rng=np.random.default_rng(0))
    spec = RunSpec("gibbs", 3, particles=40, settings={"chains": 4, "longest": 2_000})
    first, second = run(data, spec), run(data, spec)
    assert np.bincount(first.chain).tolist() == [10] * 4
    np.testing.assert_array_equal(first.A, second.A)
    told = []
    run(data, spec, on_progress=lambda progress: told.append(progress.fraction))
    assert told[-1] == 1.0 and max(told) == 1.0
