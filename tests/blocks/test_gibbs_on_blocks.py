"""Sweeps over blocks leave the posterior invariant, and would not with a mistake.

As in ``tests/algorithms``: θ from the prior and X from the likelihood; after sweeps of θ given X
the pair is distributed as before (Geweke 2004).
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import MODELS, gaussian
from bnmf_core.runs import engine
from bnmf_core.samplers import gibbs_on_blocks
from tests.algorithms.kernels import Kernel
from tests.algorithms.test_invariance import passes, prior_p_values
from tests.blocks.arrays import Cut, in_blocks
from tests.same import assert_same

DRAWS, MOVES = 4000, 3


def problem_of(X, model, **settings):
    names = ("feature",) * X.shape[0], ("observation",) * X.shape[1]
    data = Dataset(np.abs(X), "matrix", *names, whole=Cut(X, 2))
    return Problem(data, model, model.Settings(**settings), 2)


def swept(problem, A, W, rng, seed, change=lambda sums: sums):
    """One sweep of A (1, R, D), W (1, R, N), block after block."""
    parts, sums = [], None
    for i in range(2):
        before = W[:, :, :2] if i == 0 else W[:, :, 2:]
        drawn, _ = gibbs_on_blocks._block(problem, i, A, before, (seed, 0))
        parts.append(drawn.W)
        pairs = zip(sums or [0.0] * len(drawn.sums), drawn.sums, strict=True)
        sums = tuple(one + other for one, other in pairs)
    return gibbs_on_blocks._bases(problem, A, change(sums), rng), np.concatenate(parts, axis=2)


def kernel(sigma=1.0, change=lambda sums: sums) -> Kernel:
    """Sweeps of every chain given its own X, that believe in this noise."""

    def move(A, W, X, rng, times):
        A, W = A.copy(), W.copy()
        for c in range(len(A)):
            problem = problem_of(X[c], gaussian.MODEL, sigma=sigma, rate=1.0)
            place = A[c].T[None], W[c][None]
            for _ in range(times):
                place = swept(problem, *place, rng, int(rng.integers(2**62)), change)
            A[c], W[c] = place[0][0].T, place[1][0]
        return A, W

    return Kernel("positive", move, move)


@pytest.mark.slow
def test_a_sweep_keeps_the_joint_distribution():
    first, second = np.random.default_rng([21, 0]), np.random.default_rng([21, 1])
    assert passes(prior_p_values(kernel(), DRAWS, MOVES, first)) or passes(
        prior_p_values(kernel(), 2 * DRAWS, MOVES, second)
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "mutant",
    [kernel(sigma=1.5), kernel(change=lambda sums: (sums[0], 2.0 * sums[1]))],
    ids=["noise", "a Gram matrix added twice"],
)
def test_the_same_test_notices_a_mistake(mutant):
    assert not passes(prior_p_values(mutant, DRAWS, MOVES, np.random.default_rng(22)))


SETTINGS = {"rate": 0.2, "shape_A": 0.8, "shape_W": 1.5}


def count_p_values(seed, change=lambda sums: sums):
    rng, D, N, model = np.random.default_rng(seed), 4, 3, MODELS["poisson"]
    blank = problem_of(np.ones((D, N)), model, **SETTINGS)
    found = []
    for _ in range(DRAWS):
        A, W = model.prior(blank, rng)
        problem = problem_of(rng.poisson(A @ W).astype(float), model, **SETTINGS)
        place = A.T[None], W[None]
        for _ in range(MOVES):
            place = swept(problem, *place, rng, int(rng.integers(2**62)), change)
        found.append([place[0][0, 0, 0], place[0][0, 1].sum(), *place[1][0, :, 2]])
    rate = 0.8 * D
    laws = [stats.gamma(0.8, scale=1 / rate), stats.gamma(0.8 * D, scale=1 / rate)]
    laws += [stats.gamma(1.5, scale=5.0)] * 2
    return [
        stats.kstest(of, law.cdf).pvalue for of, law in zip(np.array(found).T, laws, strict=True)
    ]


@pytest.mark.slow
def test_a_sweep_of_counts_keeps_the_joint_distribution():
    assert passes(count_p_values(31)) or passes(count_p_values(32))
    forgets = lambda sums: (sums[0], 0.5 * sums[1])  # noqa: E731
    assert not passes(count_p_values(33, forgets))


@pytest.mark.parametrize("model", ["gaussian", "poisson"])
def test_a_recorded_state_is_told_as_in_memory(model):
    rng = np.random.default_rng(4)
    X = rng.poisson(8 * rng.random((6, 2)) @ rng.random((2, 50))).astype(float)
    data = in_blocks(X, (0, 20, 35, 50), np.arange(50), "all")
    spec = RunSpec("gibbs", 2, model, particles=6, settings={"chains": 2, "warm_up": 10})
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(3) as three:
        found = engine.run(data, spec, executor=one)
        assert_same(found, engine.run(data, spec, executor=three))
    # The sample is everything here, so the model itself can say what was recorded.
    law = MODELS[model]
    whole = replace(data, whole=None)
    problem = Problem(whole, law, law.Settings(**found.info["model_settings"]), 2)
    f = problem.loss.values(problem, found.A, found.W)
    log_joint = law.log_joint(problem, found.A, found.W, f)
    np.testing.assert_allclose(found.log_joint, log_joint, rtol=1e-10)
    np.testing.assert_allclose(found.error, problem.loss.measured(whole, f), rtol=1e-6)
