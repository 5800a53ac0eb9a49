"""Jumps between modes where dimensions are many: a proposal annealed from near a mode up to π.

Around every mode k stands a product q_k of known total, one factor an entry of A and W. A proposal
starts at a draw of q_k and goes through π_t ∝ q_k^(1−β_t) π^β_t, β from 0 to 1, by Gibbs sweeps
K_t, each exact for its π_t: from truncated normals where noise is Gaussian, see
:mod:`bnmf_core.samplers.gibbs_path`, from gammas where X are counts, see
:mod:`bnmf_core.samplers.sources_path`. Along the way it collects the weight
w = Π π_t(z_{t−1})/π_{t−1}(z_{t−1}) of annealed importance sampling (Neal 2001).

Why the posterior is left invariant, whatever the q_k and however few the steps: let z_T, a label k
drawn with probability r_k(z_T) and a path drawn downwards by the time reversals L_t of the K_t have
the joint density π(z_T) r_k(z_T) Π L_t(z_{t−1} | z_t); its marginal in z_T is the posterior. The
jump first draws the label and the path anew given z_T, and then proposes all of it independently
from q_k(z_0) Π K_t(z_t | z_{t−1})/K with a uniform label. As L_t(a | b) = π_t(a) K_t(b | a)/π_t(b),
the ratio of both densities is K r_k(z_T) w, so min(1, r_k'(z'_T) w'/(r_k(z_T) w)) is a
Metropolis–Hastings step on that joint density (Andrieu, Doucet & Holenstein 2010, §2.4). A sweep is
gone back by doing its parts in the reverse order. Of counts z has the latent sources besides: they
are drawn anew given A and W before a path goes down, and forgotten once it is up; r_k, the part of
q_k(A, W) in the sum over all k, does not depend on them.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.special import log_softmax

from bnmf_core.core.problem import Problem
from bnmf_core.numerics.populations import Path, Population
from bnmf_core.samplers import sources
from bnmf_core.samplers.entries import conditional_moments
from bnmf_core.samplers.gibbs_path import WIDER, ConditionalPosterior, Neighbourhood
from bnmf_core.samplers.sources_path import Gammas, SourcesPath, Surroundings
from bnmf_core.samplers.truncated_normals import TruncatedNormals


class Bridge(Path, Protocol):
    """A path that can be gone back, each of its particles perhaps from a q of its own."""

    def entered(self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> Population:
        """Particles of the posterior at A (m, R, D), W (m, R, N)."""

    def back(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """The particles after the time reversal of ``move`` at this power."""

    def log_start(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """log q of A (m, R, D), W (m, R, N): (m,)."""


@dataclass(frozen=True)
class Anchors:
    """Moments of entries around each of K modes, and the powers of the annealing.

    mean, variance : (K, R, D + N), of q's entries, before they are cut; A's before W's.
    powers : (T + 1,), from 0 to 1.
    """

    mean: np.ndarray
    variance: np.ndarray
    powers: np.ndarray

    @classmethod
    def of_moments(cls, first: np.ndarray, second: np.ndarray, steps: int) -> "Anchors":
        """From the means over draws of what :func:`moments` found, (K, R, D + N) each."""
        variance = np.maximum(second - first**2, np.finfo(float).tiny)
        u = np.linspace(0.0, 1.0, steps + 1)
        # Wider than what was seen: too narrow a start misses more. Steps are small at both ends,
        # where densities change most.
        return cls(first, WIDER * variance, u**2 * (3.0 - 2.0 * u))

    def bridge(self, problem: Problem, label: np.ndarray | int) -> Bridge:
        """The way to the posterior from mode ``label``, or for particles (m,) each from its own."""
        D = problem.dataset.D
        mean, variance = self.mean[label], self.variance[label]
        parts = [(mean[..., part], variance[..., part]) for part in (slice(D), slice(D, None))]
        if sources.serve(problem):
            of_A, of_W = (Gammas.of_moments(*part) for part in parts)
            return SourcesPath(problem, Surroundings(of_A, of_W, (parts[0][0], parts[1][0])))
        posterior = ConditionalPosterior(problem)
        near = [
            TruncatedNormals.of(*part, entries.largest)
            for part, entries in zip(parts, posterior.priors, strict=True)
        ]
        return posterior.path(Neighbourhood(near[0], near[1], (near[0].mean, near[1].mean)))


def moments(problem: Problem, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Summands of moments over draws A (c, R, D), W (c, R, N): two arrays (c, R, D + N).

    Of counts z and z²; where noise is Gaussian m and m² + v, the moments of entries' conditional
    normals before they are cut.
    """
    if sources.serve(problem):
        both = np.concatenate((A, W), axis=2)
        return both, both**2
    posterior = ConditionalPosterior(problem)
    of_A, of_W = posterior.priors
    found = (
        conditional_moments(A, posterior.given_W(W), posterior.heat, of_A),
        conditional_moments(W, posterior.given_A(A), posterior.heat, of_W),
    )
    mean, variance = (np.concatenate(part, axis=2) for part in zip(*found, strict=True))
    return mean, mean**2 + variance


def jump(
    problem: Problem, A: np.ndarray, W: np.ndarray, anchors: Anchors, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One proposal for every chain: new A (c, R, D), W (c, R, N) and accepted (c,) bool."""
    c, K = A.shape[0], anchors.mean.shape[0]
    now = log_labels(problem, anchors, A, W)
    # The largest of log r + Gumbel noise is at k with probability r_k.
    label: np.ndarray = (now + rng.gumbel(size=now.shape)).argmax(axis=1)
    log_w = descended(anchors.bridge(problem, label), A, W, anchors.powers, rng)
    proposed = rng.integers(K, size=(c,))
    risen, new_log_w = climbed(anchors.bridge(problem, proposed), c, anchors.powers, rng)
    new_A, new_W, *_ = risen.place
    chains = np.arange(c)
    gained = new_log_w + log_labels(problem, anchors, new_A, new_W)[chains, proposed]
    gained -= log_w + now[chains, label]
    accepted = np.log1p(-rng.random(c)) < gained
    chosen = accepted[:, None, None]
    return np.where(chosen, new_A, A), np.where(chosen, new_W, W), accepted


def log_labels(problem: Problem, anchors: Anchors, A: np.ndarray, W: np.ndarray) -> np.ndarray:
    """log r_k of each chain's place, (c, K): q_k as a part of the sum over all."""
    labels = range(anchors.mean.shape[0])
    each = [anchors.bridge(problem, k).log_start(A, W) for k in labels]
    found: np.ndarray = log_softmax(np.stack(each, axis=1), axis=1)
    return found


def climbed(
    bridge: Bridge, count: int, powers: np.ndarray, rng: np.random.Generator
) -> tuple[Population, np.ndarray]:
    """Up from q to the posterior: so many particles, and log w (count,) of each."""
    population, log_w = bridge.start(count, rng), np.zeros(count)
    for power, rise in zip(powers[1:], np.diff(powers), strict=True):
        log_w += rise * population.log_ratio
        population = bridge.move(population, power, rng)
    return population, log_w


def descended(
    bridge: Bridge, A: np.ndarray, W: np.ndarray, powers: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Down from places A (c, R, D), W (c, R, N) by the reversed sweeps: log w (c,)."""
    population, log_w = bridge.entered(A, W, rng), np.zeros(A.shape[0])
    for power, rise in zip(powers[:0:-1], np.diff(powers)[::-1], strict=True):
        population = bridge.back(population, power, rng)
        log_w += rise * population.log_ratio
    return log_w
