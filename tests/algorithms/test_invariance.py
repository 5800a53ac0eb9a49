"""Every Markov kernel leaves the posterior invariant; three kinds of proof, one for all samplers.

1. Draw θ from the prior and X from the likelihood, move θ by the kernel: θ is again distributed as
   the prior (Geweke 2004; Gandy & Scott 2020), in 16 functions with known distributions.
2. Simulation-based calibration (Talts and others 2018): the rank of the true θ among other states
   of its chain is uniform, for quantities free of the components' order.
3. Posterior means of a 2×2 problem of rank one against quadrature.

The first two also show that they would notice the known mistakes.
"""

import numpy as np
import pytest
from scipy import special, stats

from bnmf_core.compare.distances.invariants import INVARIANTS, invariants
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine

from .kernels import (
    RATE,
    SIGMA,
    D,
    N,
    R,
    annealed_kernel,
    draw_joint,
    fitted_kernel,
    gibbs_kernel,
    hmc_kernel,
    metropolis_kernel,
    scale_kernel,
    tempered_kernel,
)

pytestmark = pytest.mark.slow

# Half of X is unseen, the whole second row but for one entry among it.
MASK = np.array([[1, 0, 1], [0, 1, 0], [1, 1, 0], [0, 0, 1]], dtype=bool)
KERNELS = {
    "gibbs": gibbs_kernel(),
    "gibbs with gaps": gibbs_kernel(mask=MASK),
    "hmc_log": hmc_kernel("positive"),
    "hmc_simplex": hmc_kernel("simplex"),
    "gibbs at a power of the likelihood": tempered_kernel(),
    "scale move": scale_kernel(),
    "fitted jump": fitted_kernel(),
    "annealed jump": annealed_kernel(),
    "metropolis_log": metropolis_kernel("positive"),
    "metropolis_simplex": metropolis_kernel("simplex"),
}
MUTANTS = {
    "gibbs without the prior rate": gibbs_kernel(assumed_rate=0.0),
    "gibbs that takes gaps for zeros": gibbs_kernel(mask=MASK, zeros=True),
    "gibbs at a power it does not know": tempered_kernel(told=False),
    "hmc_log without the Jacobian": hmc_kernel("positive", jacobian=False),
    "hmc_simplex without the Jacobian": hmc_kernel("simplex", jacobian=False),
    "hmc_log without the accept step": hmc_kernel("positive", accept=False),
    "hmc_simplex without the accept step": hmc_kernel("simplex", accept=False),
    "hmc_simplex that stops at the wall": hmc_kernel("simplex", wall="clamp"),
    "metropolis_log without the Jacobian": metropolis_kernel("positive", jacobian=False),
    "metropolis_log that rejects nothing": metropolis_kernel("positive", accept=False),
    "metropolis_simplex without the Jacobian": metropolis_kernel("simplex", jacobian=False),
    "metropolis_simplex that stops at the wall": metropolis_kernel("simplex", wall=False),
}
MOVES = 3


def passes(p_values, family=1e-4) -> bool:
    return min(p_values) * len(p_values) > family


# 1. The joint distribution


def likelihood_p_values(A, W, X, mask) -> list[float]:
    residual = ((X - A @ W) / SIGMA)[:, mask]
    count = residual.shape[1]
    return [
        stats.kstest((residual**2).sum(axis=1), stats.chi2(count).cdf).pvalue,
        stats.kstest(residual.sum(axis=1) / np.sqrt(count), "norm").pvalue,
        stats.kstest(residual[:, 0], "norm").pvalue,
    ]


def share(parts) -> np.ndarray:
    """The first of (draws, k) as a part of their sum; −1 where a mutant has sent all to zero."""
    total = parts.sum(axis=1)
    return np.divide(parts[:, 0], total, out=np.full(total.size, -1.0), where=total > 0)


def weight_p_values(W) -> list[float]:
    W = RATE * W
    sums = W.sum(axis=2)
    return [
        stats.kstest(W[:, 0, 0], "expon").pvalue,
        stats.kstest(W[:, 1, 2], "expon").pvalue,
        stats.kstest(W.sum(axis=(1, 2)), stats.gamma(R * N).cdf).pvalue,
        stats.kstest(W.min(axis=(1, 2)), stats.expon(scale=1 / (R * N)).cdf).pvalue,
        stats.kstest(sums.max(axis=1), lambda t: stats.gamma.cdf(t, N) ** R).pvalue,
        stats.kstest(share(sums), stats.beta(N, N).cdf).pvalue,
    ]


def positive_basis_p_values(A, W) -> list[float]:
    A, W = RATE * A, RATE * W
    sums = A.sum(axis=1)
    root = 2 * np.sqrt(np.maximum(A[:, 0, 0] * W[:, 0, 0], 1e-300))
    return [
        stats.kstest(A[:, 0, 0], "expon").pvalue,
        stats.kstest(A[:, D - 1, 1], "expon").pvalue,
        stats.kstest(A.sum(axis=(1, 2)), stats.gamma(D * R).cdf).pvalue,
        stats.kstest(A.min(axis=(1, 2)), stats.expon(scale=1 / (D * R)).cdf).pvalue,
        stats.kstest(sums.max(axis=1), lambda t: stats.gamma.cdf(t, D) ** R).pvalue,
        stats.kstest(share(sums), stats.beta(D, D).cdf).pvalue,
        # P(EE' ≤ t) = 1 − 2√t K₁(2√t) for two independent Exp(1).
        stats.kstest(1 - root * special.k1(root), "uniform").pvalue,
    ]


def simplex_basis_p_values(A) -> list[float]:
    one = stats.beta(1, D - 1).cdf
    return [
        stats.kstest(A[:, 0, 0], one).pvalue,
        stats.kstest(A[:, 1, 1], one).pvalue,
        stats.kstest(A[:, D - 1, 1], one).pvalue,
        stats.kstest(A[:, 0, 0] + A[:, D - 1, 0], stats.beta(2, D - 2).cdf).pvalue,
        stats.kstest(A[:, 0].max(axis=1), lambda t: one(t) ** R).pvalue,
        # P(every entry > t) = (1 − D t)^(D − 1) for one column.
        stats.kstest(A.min(axis=(1, 2)), lambda t: 1 - (1 - D * t) ** (R * (D - 1))).pvalue,
        stats.kstest(share(A[:, 2:, 0]), "uniform").pvalue,
    ]


def prior_p_values(kernel, draws, moves, rng) -> list[float]:
    """16 Kolmogorov–Smirnov tests of θ after the moves against the prior, X included."""
    A, W, X = draw_joint(kernel.support, draws, rng)
    A, W = kernel.move(A, W, X, rng, moves)
    basis = (
        positive_basis_p_values(A, W)
        if kernel.support == "positive"
        else (simplex_basis_p_values(A))
    )
    p_values = [*likelihood_p_values(A, W, X, kernel.mask), *weight_p_values(W), *basis]
    assert len(p_values) == 16
    return p_values


def assert_prior_is_kept(kernel, draws, seed):
    first, second = np.random.default_rng([seed, 0]), np.random.default_rng([seed, 1])
    # One rerun with four times the draws: a chance of 1e-4 becomes 1e-8.
    assert passes(prior_p_values(kernel, draws, MOVES, first)) or passes(
        prior_p_values(kernel, 4 * draws, MOVES, second)
    )


@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_keeps_the_joint_distribution(name):
    assert_prior_is_kept(KERNELS[name], draws=20_000, seed=11)


@pytest.mark.parametrize("name", MUTANTS)
def test_the_same_test_notices_a_mistake(name):
    assert not passes(prior_p_values(MUTANTS[name], 20_000, MOVES, np.random.default_rng(12)))


@pytest.mark.long
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_keeps_the_joint_distribution_in_the_long_run(name):
    assert_prior_is_kept(KERNELS[name], draws=200_000, seed=13)


@pytest.mark.long
@pytest.mark.parametrize(
    "mutant",
    [
        hmc_kernel("simplex", wall="keep"),
        gibbs_kernel(assumed_rate=0.95 * RATE),
        hmc_kernel("positive", rate=0.95 * RATE),
        hmc_kernel("simplex", rate=0.95 * RATE),
    ],
    ids=["momentum kept at the wall", "gibbs, rate", "hmc_log, rate", "hmc_simplex, rate"],
)
def test_the_long_test_notices_smaller_mistakes(mutant):
    """A prior rate that is 5 % off, and a reflection that forgets the momentum."""
    assert not passes(prior_p_values(mutant, 200_000, MOVES, np.random.default_rng(14)))


# 2. Ranks

REPLICATIONS, OTHERS, BINS, APART = 1000, 63, 16, 5


def rank_p_values(kernel, replications, rng) -> list[float]:
    """Chi-squared tests of the true θ's rank among 63 other states of its chain, one a quantity.

    θ stands at a random place of a chain that is run from it in both directions (Gandy & Scott
    2020, §3.3), so its rank is uniform however slowly the chain moves.
    """
    A, W, X = draw_joint(kernel.support, replications, rng)

    def quantities(A, W) -> np.ndarray:
        squared = ((X - A @ W) ** 2)[:, kernel.mask].sum(axis=1)
        log_joint = -squared / (2 * SIGMA**2) - RATE * (A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))
        free_of_labels = invariants(A, W)
        assert set(free_of_labels) == set(INVARIANTS)
        return np.stack([*free_of_labels.values(), squared, log_joint])

    truth = quantities(A, W)
    place = rng.integers(OTHERS + 1, size=replications)
    below, equal = np.zeros_like(truth, dtype=int), np.zeros_like(truth, dtype=int)
    for move, states in ((kernel.move, OTHERS - place), (kernel.back, place)):
        a, w = A, W
        for number in range(OTHERS):
            a, w = move(a, w, X, rng, APART)
            values, counted = quantities(a, w), number < states
            # A rejected move comes back from its coordinates with another last digit.
            same = np.isclose(values, truth, rtol=1e-9, atol=1e-12)
            below += (values < truth) & ~same & counted
            equal += same & counted
    ranks = below + rng.integers(equal + 1)
    bins = ranks * BINS // (OTHERS + 1)
    return [stats.chisquare(np.bincount(one, minlength=BINS)).pvalue for one in bins]


@pytest.mark.long
@pytest.mark.parametrize("name", KERNELS)
def test_the_rank_of_the_truth_is_uniform(name):
    first, second = np.random.default_rng([15, 0]), np.random.default_rng([15, 1])
    assert passes(rank_p_values(KERNELS[name], REPLICATIONS, first)) or passes(
        rank_p_values(KERNELS[name], 4 * REPLICATIONS, second)
    )


@pytest.mark.long
@pytest.mark.parametrize(
    "mutant",
    [
        gibbs_kernel(assumed_rate=0.6 * RATE),
        hmc_kernel("positive", jacobian=False),
        hmc_kernel("simplex", jacobian=False),
    ],
    ids=["gibbs, rate 40 % off", "hmc_log, no Jacobian", "hmc_simplex, no Jacobian"],
)
def test_the_ranks_notice_a_mistake(mutant):
    assert not passes(rank_p_values(mutant, REPLICATIONS, np.random.default_rng(16)))


# 3. Quadrature

SMALL_X = np.array([[1.2, 0.4], [0.5, 2.0]])
SMALL_SIGMA, SMALL_RATE = 0.7, 0.8
WALK = {"start": "prior", "thinning": 10, "warm_up": 1000}
JUMPS = {"sweeps": 1, "restarts": 4, "pilot": 30}


def weight_moments(A):
    """For bases A (P, 2): the weights' evidence ∫p(X|A,w)p(w)dw up to a constant, and E[w | A]."""
    precision, evidence, means = (A**2).sum(axis=1) / SMALL_SIGMA**2, 1.0, []
    for n in range(2):
        linear = A @ SMALL_X[:, n] / SMALL_SIGMA**2 - SMALL_RATE
        mean, sd = linear / precision, precision**-0.5
        below = special.log_ndtr(mean / sd)
        evidence = evidence * sd * np.exp(0.5 * linear * mean + below)
        means.append(mean + sd * np.exp(stats.norm.logpdf(mean / sd) - below))
    return evidence, np.stack(means, axis=1)


def exact_means(support) -> dict[str, float]:
    """Posterior means of rank one by Gauss–Legendre quadrature over A; W is integrated exactly."""
    nodes, weights = np.polynomial.legendre.leggauss(400)
    if support == "simplex":
        x = 0.5 * (nodes + 1)
        A, measure = np.stack([x, 1 - x], axis=1), weights
    else:  # a = t/(1 − t), with a t for each entry
        t = 0.5 * (nodes + 1)
        a, stretch = t / (1 - t), weights / (1 - t) ** 2
        A = np.stack(np.meshgrid(a, a), axis=-1).reshape(-1, 2)
        measure = np.outer(stretch, stretch).ravel() * np.exp(-SMALL_RATE * A.sum(axis=1))
    evidence, w = weight_moments(A)
    p = measure * evidence
    p /= p.sum()
    return {
        "A first": p @ A[:, 0],
        "A share": p @ (A[:, 0] / A.sum(axis=1)),
        "W first": p @ w[:, 0],
        "W second": p @ w[:, 1],
        "total": p @ (A.sum(axis=1) * w.sum(axis=1)),
        "entry": p @ (A[:, 0] * w[:, 0]),
    }


@pytest.mark.parametrize(
    ("algorithm", "model", "support", "chosen"),
    [
        ("gibbs", "gaussian", "positive", {"start": "prior", "thinning": 2}),
        ("hmc", "gaussian", "positive", {"start": "prior", "leapfrog_steps": 15}),
        ("hmc", "gaussian_simplex", "simplex", {"start": "prior", "leapfrog_steps": 15}),
        ("metropolis", "gaussian", "positive", WALK),
        ("metropolis", "gaussian_simplex", "simplex", WALK),
        ("mode_jumps", "gaussian", "positive", JUMPS | {"proposal": "fitted"}),
        ("mode_jumps", "gaussian", "positive", JUMPS | {"proposal": "annealed", "bridge": 3}),
    ],
)
@pytest.mark.parametrize("draws", [200, pytest.param(800, marks=pytest.mark.long)])
def test_posterior_means_are_those_of_quadrature(algorithm, model, support, chosen, draws):
    chains = 32
    settings = {"chains": chains} | chosen
    spec = RunSpec(
        algorithm,
        1,
        model,
        particles=chains * draws,
        seed=21,
        settings=settings,
        model_settings={"sigma": SMALL_SIGMA, "rate": SMALL_RATE},
    )
    particles = engine.run(Dataset.from_array(SMALL_X), spec)
    A, W = particles.A[:, :, 0], particles.W[:, 0]
    found = {
        "A first": A[:, 0],
        "A share": A[:, 0] / A.sum(axis=1),
        "W first": W[:, 0],
        "W second": W[:, 1],
        "total": A.sum(axis=1) * W.sum(axis=1),
        "entry": A[:, 0] * W[:, 0],
    }
    for name, expected in exact_means(support).items():
        # Chains are independent: the spread of their means tells the error of all of them.
        means = np.array([found[name][particles.chain == c].mean() for c in range(chains)])
        assert abs(means.mean() - expected) < 5 * means.std(ddof=1) / np.sqrt(chains), name
