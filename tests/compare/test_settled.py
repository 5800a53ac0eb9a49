"""The verdict on chains: independent draws pass, and chains that are known to be unsettled fail."""

import numpy as np
import pytest
from scipy import stats

from bnmf_core.compare.settled import component_series, settled
from bnmf_core.core.errors import DataError

CHAINS, DRAWS, R = 4, 100, 10


def factors(rng, count, spread=0.1):
    """Positive factors around one pair: A (count, 12, R), W (count, R, 15)."""
    A = rng.gamma(2.0, size=(12, R)) * rng.lognormal(0.0, spread, (count, 12, R))
    W = rng.gamma(2.0, size=(R, 15)) * rng.lognormal(0.0, spread, (count, R, 15))
    return A, W


def of_chains(rng, chains=CHAINS, draws=DRAWS):
    A, W = factors(rng, chains * draws)
    return A, W, rng.standard_normal(chains * draws), np.repeat(np.arange(chains), draws)


@pytest.mark.slow
@pytest.mark.parametrize("chains", [1, 2, 3, 4])
@pytest.mark.parametrize("tries", [15, pytest.param(60, marks=pytest.mark.long)])
def test_independent_draws_of_the_default_length_pass_19_times_in_20(chains, tries):
    rng = np.random.default_rng(chains)
    passed = sum(settled(*of_chains(rng, chains)).settled for _ in range(tries))
    # With a chance of 0.95 fewer pass less than once in a hundred times.
    assert passed >= stats.binom.ppf(0.01, tries, 0.95)


@pytest.mark.parametrize("what", ["drift", "apart", "slow", "short"])
def test_chains_that_have_not_settled_fail(what):
    rng = np.random.default_rng(0)
    A, W, log_joint, chain = of_chains(rng)
    if what == "drift":  # one component of all chains turns by a standard deviation and a half
        A[:, 0, 3] *= np.exp(0.15 * np.tile(np.linspace(-1.7, 1.7, DRAWS), CHAINS))
        log_joint = log_joint + np.tile(np.linspace(-1, 1, DRAWS), CHAINS)
    elif what == "apart":  # one chain of four is elsewhere
        log_joint = log_joint + 1.5 * (chain == 2)
    elif what == "slow":  # correlated over 50 draws
        noise = rng.standard_normal((CHAINS, DRAWS))
        for i in range(1, DRAWS):
            noise[:, i] = 0.96 * noise[:, i - 1] + 0.28 * noise[:, i]
        log_joint = noise.ravel()
    else:
        kept = np.tile(np.arange(DRAWS), CHAINS) < 25
        A, W, log_joint, chain = A[kept], W[kept], log_joint[kept], chain[kept]
    found = settled(A, W, log_joint, chain)
    assert not found.settled
    assert "R̂" in found.reason


def test_chains_in_different_modes_are_judged_mode_by_mode():
    rng = np.random.default_rng(1)
    A, W, log_joint, chain = of_chains(rng)
    others = factors(rng, 2 * DRAWS)
    A[chain >= 2], W[chain >= 2] = others
    log_joint = log_joint + 40.0 * (chain >= 2)
    together = settled(A, W, log_joint, chain)
    apart = settled(A, W, log_joint, chain, np.array([0, 0, 1, 1]))
    assert not together.settled
    assert apart.settled and apart.modes == 2
    assert set(apart.table["group"]) == {0, 1}


def test_neither_order_nor_scale_of_components_changes_the_verdict():
    rng = np.random.default_rng(2)
    A, W, *_ = of_chains(rng)
    reference = A[0], W[0]
    scale = rng.uniform(0.1, 10.0, (len(A), R))
    order = np.array([rng.permutation(R) for _ in A])
    turned = np.take_along_axis(A * scale[:, None, :], order[:, None, :], axis=2)
    weights = np.take_along_axis(W / scale[:, :, None], order[:, :, None], axis=1)
    for plain, other in zip(
        component_series(A, W, *reference).values(),
        component_series(turned, weights, *reference).values(),
        strict=True,
    ):
        np.testing.assert_allclose(plain, other, rtol=1e-9, atol=1e-5)


def test_a_quantity_that_nothing_leaves_open_passes_and_one_stuck_chain_does_not():
    rng = np.random.default_rng(3)
    A, W, log_joint, chain = of_chains(rng)
    constant = settled(A, W, np.full(log_joint.size, 3.0), chain)
    assert constant.settled
    stuck = np.where(chain == 1, 0.0, log_joint)
    assert not settled(A, W, stuck, chain).settled


def test_as_many_modes_as_chains_are_needed():
    rng = np.random.default_rng(4)
    with pytest.raises(DataError, match="4 chains need as many modes"):
        settled(*of_chains(rng), groups=np.array([0, 1]))


def test_components_are_numbered_by_what_they_explain():
    """The reference's second component is the larger one, so it is component 1 in what is said."""
    rng = np.random.default_rng(0)
    A, W = rng.gamma(50.0, size=(400, 5, 2)), rng.gamma(50.0, size=(400, 2, 6))
    A[:, :, 1] *= 9.0
    A[200:, 0, 1] *= 4.0  # the larger one changes half-way
    found = settled(A, W, rng.normal(size=400), np.repeat(np.arange(4), 100))
    assert not found.settled
    assert "component 1" in found.reason or "weights 1" in found.reason
