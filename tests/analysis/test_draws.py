"""Chains within one mode: what they make, step by step."""

import numpy as np

from bnmf_core import laurberg, registry
from bnmf_core.analysis import posterior
from bnmf_core.core.algorithm import Batch
from bnmf_core.core.problem import Problem
from bnmf_core.samplers import gibbs


def test_a_step_of_which_nothing_is_recorded_changes_no_draw(monkeypatch):
    data, model = laurberg("two", noise=0.01), registry.model("gaussian")
    problem = Problem.prepare(data, model, model.Settings(), 3)
    truth = data.truth[0]

    def drawn():
        rng = np.random.default_rng(0)
        return posterior.sample_within(problem, truth.A, truth.W, 0, 5, 40, rng)

    before, step, empty = drawn(), gibbs.step, [Batch(np.empty((0, 6, 3)), np.empty((0, 3, 6)))]

    def late(problem, state, settings, rng):
        return (state, empty.pop()) if empty else step(problem, state, settings, rng)

    monkeypatch.setattr(gibbs, "step", late)
    for one, other in zip(before, drawn(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert not empty
