"""NVI: the bound rises, one component finds a maximum, possible places stay possible."""

from dataclasses import replace

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.rrt import nvi
from bnmf_core.rrt.ascent import bound, climb, collapsed
from bnmf_core.rrt.mixture import best_scale
from bnmf_core.runs import engine, planning
from bnmf_core.solvers import hals, newton
from bnmf_core.solvers.solution import Stopping


def spec(model="gaussian", particles=3, model_settings=None, **settings) -> RunSpec:
    noise = {"uniform": {"epsilon": 0.2}, "gaussian": {"sigma": 0.05}}[model]
    return RunSpec("nvi", 3, model, particles, 0, settings, noise | (model_settings or {}))


@pytest.mark.parametrize("model", ["gaussian", "uniform"])
def test_the_bound_never_falls_with_more_iterations(model):
    data = laurberg("two", noise=0.02)
    plan = planning.make_plan(data, spec(model, iterations=60, per_step=6))
    rng = plan.shards[0].generator()
    state = nvi.init(plan.problem, plan.settings, plan.shards[0], rng)
    bounds = []
    while state.iterations < 60:
        state, batch = nvi.step(plan.problem, state, plan.settings, rng)
        if not (state.unsolved or state.unpolished):
            bounds.append(state.bound)
    assert len(bounds) == 11
    assert (np.diff(bounds) >= -1e-9 * np.abs(bounds[0])).all()
    assert bounds[-1] > bounds[0]
    # What is told of the particles is the bound of the particles.
    told = batch.diagnostics
    again = bound(plan.problem, batch.A, batch.W, np.log(told["variance"]))[0]
    np.testing.assert_allclose(told["bound"], again, rtol=1e-10)


def test_one_component_ends_at_a_local_maximum():
    data = low_rank(8, 9, 3, noise=0.05)
    run = engine.run(data, spec(particles=1, iterations=4000, per_step=4000))
    problem = planning.make_plan(data, run.spec).problem
    log_variance = np.log(run.diagnostics["variance"])
    _, by_A, by_W, by_v = bound(problem, run.A, run.W, log_variance)
    # In units of the component's standard deviation: nats per σ.
    sigma = np.exp(0.5 * log_variance[0])
    for factor, slope in ((run.A, by_A), (run.W, by_W)):
        inside = factor > 0
        assert np.abs(slope[inside] * sigma).max() < 1e-3
        assert (slope[~inside] * sigma < 1e-3).all()
    assert abs(by_v[0]) < 1e-3
    # The variance of one component alone is known in closed form.
    trace = problem.model.curvature(problem, run.A, run.W)[0]
    np.testing.assert_allclose(
        run.diagnostics["variance"], (run.A[0].size + run.W[0].size) / -trace, rtol=1e-3
    )


@pytest.mark.parametrize("seed", range(2))
def test_components_stay_possible_under_the_uniform_likelihood(seed):
    data = laurberg("two", a=0.55, noise=0.02, rng=np.random.default_rng(seed))
    run = engine.run(data, replace(spec("uniform", 4, iterations=40), seed=seed))
    assert np.abs(data.X - run.A @ run.W).max() <= 0.2
    assert np.isfinite(run.log_joint).all()
    # They began at one place and have moved apart.
    assert all(not np.array_equal(run.A[0], run.A[m]) for m in range(1, 4))


def test_no_possible_start_is_refused_with_an_epsilon_that_works():
    data = laurberg("two", noise=0.05)
    with pytest.raises(SettingsError, match="No start is feasible") as refusal:
        engine.run(data, spec("uniform", model_settings={"epsilon": 1e-6}))
    named = float(str(refusal.value).removesuffix(".").split()[-1])
    run = engine.run(data, spec("uniform", iterations=5, model_settings={"epsilon": named}))
    assert np.abs(data.X - run.A @ run.W).max() <= named


def test_components_begin_at_the_best_of_more_starts_once_they_have_converged():
    data = low_rank(20, 30, 3, noise=0.1, rng=np.random.default_rng(0))
    plan = planning.make_plan(data, spec(restarts=4))
    problem, settings, shard = plan.problem, plan.settings, plan.shards[0]
    rng = shard.generator()
    state = nvi.init(problem, settings, shard, rng)
    assert (len(state.A), state.unsolved, state.unpolished) == (12, 12, 3)
    while state.unsolved:
        before = state
        state, _ = nvi.step(problem, state, settings, rng)
    assert before.unsolved and len(state.A) == 3
    solved = [hals.solve(problem, before.A[i : i + 1], before.W[i : i + 1]) for i in range(12)]
    densities = np.sort(
        [problem.model.log_joint(problem, *best_scale(*pair))[0] for pair in solved]
    )
    kept = problem.model.log_joint(problem, *best_scale(state.A, state.W))
    assert kept.min() >= densities[-4]
    while state.unpolished:
        state, _ = nvi.step(problem, state, settings, rng)
    left = newton.measured(problem, state.A, state.W)
    assert Stopping().converged(*left).all()
    assert state.bound == bound(problem, state.A, state.W, state.log_variances)[0]


@pytest.mark.parametrize("sigma", [3.0, 100.0])
def test_where_the_bound_has_no_maximum_the_components_stay_and_a_note_says_so(sigma):
    """With so much noise the components lose all of A W, and the bound grows without end."""
    data = low_rank(12, 15, 2, noise=0.1, rng=np.random.default_rng(3))
    noisy = {"sigma": sigma, "rate": 1.0}
    asked = replace(spec(particles=2, model_settings=noisy, per_step=5), rank=2)
    plan = planning.make_plan(data, asked)
    rng = plan.shards[0].generator()
    state = nvi.init(plan.problem, plan.settings, plan.shards[0], rng)
    batch = None
    while batch is None or not batch.size:
        before = state
        state, batch = nvi.step(plan.problem, state, plan.settings, rng)
    assert "A smaller σ helps" in batch.note
    assert np.array_equal(batch.A, before.A) and np.array_equal(batch.W, before.W)
    # One step further there is nothing left of the data, and the bound has grown by that.
    begun = before.A, before.W, before.log_variances
    A, W, _, further = climb(plan.problem, *begun, plan.settings.per_step)
    assert collapsed(plan.problem, A, W).any() and further > before.bound
    run = engine.run(data, asked)
    assert np.array_equal(run.A, batch.A) and np.isfinite(run.diagnostics["bound"]).all()
    assert not collapsed(plan.problem, run.A, run.W).any()
    assert run.info["notes"] == [batch.note]


def test_a_flat_prior_is_refused():
    with pytest.raises(SettingsError, match="NVI needs a prior rate λ above 0"):
        planning.check(laurberg("two"), spec(model_settings={"rate": 0.0}))


def test_the_part_that_is_done_grows_from_0_to_1():
    model = registry.model("gaussian")
    problem = Problem.prepare(laurberg("two"), model, model.Settings(sigma=0.1), 3)
    settings = nvi.Settings(iterations=50)
    shard = Shard(0, 0, 2, 0)
    rng = shard.generator()
    state, parts = nvi.init(problem, settings, shard, rng), []
    while not parts or parts[-1] < 1.0:
        parts.append(nvi.fraction(state, settings))
        state, _ = nvi.step(problem, state, settings, rng)
    assert parts[0] == 0.0 and parts == sorted(parts)
