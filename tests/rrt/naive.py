"""Mixtures at random, and their bound term by term as the paper writes it."""

import numpy as np
from scipy import stats

from bnmf_core.rrt.mixture import Component, Mixture


def mixture_of(centers, variances, weights, log_joint, trace) -> Mixture:
    """A mixture from its parts; components are numbered 10, 11, …"""
    centers = np.asarray(centers, dtype=float)
    squared = np.square(centers[:, None] - centers).sum(axis=2)
    return Mixture(
        centers,
        np.asarray(variances, float),
        np.asarray(weights, float),
        np.asarray(log_joint, float),
        np.asarray(trace, float),
        squared,
        10 + np.arange(len(centers)),
    )


def random_mixture(rng: np.random.Generator, M: int, d: int, apart: float = 1.0) -> Mixture:
    """Centres ``apart`` standard deviations apart in every dimension, on the average."""
    return mixture_of(
        apart * rng.standard_normal((M, d)),
        rng.uniform(0.5, 2.0, M),
        rng.dirichlet(np.ones(M)),
        -10 * rng.exponential(size=M),
        -d * rng.uniform(0.5, 2.0, M),
    )


def random_component(rng: np.random.Generator, d: int, apart: float = 1.0) -> Component:
    """One more of the same kind."""
    return Component(
        apart * rng.standard_normal(d), -10 * rng.exponential(), -d * rng.uniform(0.5, 2.0)
    )


def naive_entropy(mixture: Mixture) -> float:
    """−Σ_m w_m log Σ_j w_j N(μ_m; μ_j, (σ_m² + σ_j²) I): paper 2, equation 2."""
    total = 0.0
    for m in range(mixture.M):
        density = sum(
            w * np.exp(stats.norm.logpdf(mixture.centers[m], mu, np.sqrt(v + v_m)).sum())
            for w, mu, v, v_m in zip(
                mixture.weights,
                mixture.centers,
                mixture.variances,
                np.full(mixture.M, mixture.variances[m]),
                strict=True,
            )
        )
        total -= mixture.weights[m] * np.log(density)
    return total


def naive_elbo(mixture: Mixture) -> float:
    """The entropy's bound and Σ_m w_m (f(μ_m) + ½ σ_m² Tr H_m): paper 2, equations 2 and 3."""
    energy = 0.0
    for w, f, v, trace in zip(
        mixture.weights, mixture.log_joint, mixture.variances, mixture.trace, strict=True
    ):
        energy += w * (f + 0.5 * v * trace)
    return naive_entropy(mixture) + energy
