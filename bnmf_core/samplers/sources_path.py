"""From a product of gammas to a posterior of counts, every step an exact Gibbs sweep.

Let q be gammas for all entries of A and W, times a multinomial with fixed probabilities for the
latent sources Z (Cemgil 2009). Along q^(1−β) p(X, Z, A, W)^β every conditional stays what it is at
the ends: with φ = exp(E_q log A), exp(E_q log W),

- Z_dn ~ Multinomial(X_dn, ∝ (A_dr W_rn)^β (φ_dr φ_rn)^(1−β));
- A_dr ~ Gamma((1−β) α + β (a + Σ_n Z), (1−β) b_q + β (b + Σ_n W_rn)), and W likewise.

The factorials of Z are in p and in q, and cancel in the weights, so that sums of Z are enough.
Negative binomial counts have no such path: the gamma g that each entry has besides is tied to AW
where counts are large, so that sweeps hardly move and gammas apart do not come near.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from scipy.special import digamma, gammaln

from bnmf_core.core.model import GammaPrior, Sources
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.populations import Population
from bnmf_core.samplers import sources

# Of a random walk on a logarithm, in standard deviations (Roberts, Gelman & Gilks 1997).
WALK = 2.4
# No shape is taken to be less than this part of one.
LEAST_SHAPE = 1e-3

Factors = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Gammas:
    """Independent gammas: shape and rate of every entry, (R, n), or (D, N).

    (m, R, n) where each of m particles has its own.
    """

    shape: np.ndarray
    rate: np.ndarray

    @classmethod
    def of_moments(cls, mean: np.ndarray, variance: np.ndarray) -> "Gammas":
        """Gamma distributions with these means and variances."""
        variance = np.maximum(variance, np.finfo(float).tiny)
        shape = np.maximum(mean**2 / variance, LEAST_SHAPE)
        return cls(shape, shape / mean)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws (count, …)."""
        drawn = rng.standard_gamma(np.broadcast_to(self.shape, (count, *self.shape.shape[-2:])))
        return np.maximum(drawn / self.rate, sources.TINY)

    def log_density(self, F: np.ndarray) -> np.ndarray:
        """Log density of F (m, …), all entries together, (m,)."""
        parts = (self.shape - 1.0) * np.log(F) - self.rate * F
        found: np.ndarray = self.constant + parts.reshape(F.shape[0], -1).sum(axis=1)
        return found

    @cached_property
    def constant(self) -> np.ndarray:
        """Constant of the log density."""
        parts = self.shape * np.log(self.rate) - gammaln(self.shape)
        return np.asarray(parts.sum(axis=(-2, -1)))

    @cached_property
    def mean_log(self) -> np.ndarray:
        """E log of every entry."""
        found: np.ndarray = digamma(self.shape) - np.log(self.rate)
        return found


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Gammas around what chains drew near a factorization.

    A, W : of Aᵀ (R, D) and W (R, N). centre : the mean of the draws, of the same shapes.
    """

    A: Gammas
    W: Gammas
    centre: Factors


def around_prior(problem: Problem) -> Surroundings:
    """The prior itself, and sources that every component shares alike."""
    data, R, priors = problem.dataset, problem.rank, sources.of(problem)

    def same(prior: GammaPrior, shape: tuple[int, ...]) -> Gammas:
        return Gammas(np.full(shape, prior.shape), np.full(shape, prior.rate))

    of_A, of_W = same(priors.A, (R, data.D)), same(priors.W, (R, data.N))
    return Surroundings(of_A, of_W, (of_A.shape / of_A.rate, of_W.shape / of_W.rate))


@dataclass(frozen=True, eq=False)
class SourcesPath:
    """The path from the gammas around a factorization to the posterior.

    A place is Aᵀ (m, R, D), W (m, R, N) and the sums of Z over columns and over rows, of the same
    shapes.
    """

    effective: ClassVar[float] = 0.9
    problem: Problem
    around: Surroundings

    @cached_property
    def priors(self) -> Sources:
        """Priors of A and W."""
        return sources.of(self.problem)

    @cached_property
    def constant(self) -> np.ndarray:
        """log q(Z) + Σ log Z!, but for Σ Z log φ: (m,), or (1,) where all particles have one q."""
        counts = self.problem.counts
        of_A, of_W = (np.exp(q.mean_log) for q in (self.around.A, self.around.W))
        pairs = zip(*(F.reshape(-1, *F.shape[-2:]) for F in (of_A, of_W)), strict=True)
        fits = np.array([counts.values @ np.log(counts.fitted(A.T, W)) for A, W in pairs])
        return counts.log_factorials - fits

    def start(self, count: int, rng: np.random.Generator) -> Population:
        """Independent draws from q."""
        around = self.around
        A, W = around.A.draw(count, rng), around.W.draw(count, rng)
        return self.population((A, W, *self._sources(A, W, 0.0, rng)))

    def move(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """One sweep over sources, A and W; then one over the components' scales."""
        return self.population(self.swept(population.place, power, rng))

    def swept(
        self, place: tuple[np.ndarray, ...], power: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """The place after :meth:`move`."""
        A, W, *_ = place
        of_A, of_W = self._sources(A, W, power, rng)
        A = self._drawn_A(W, of_A, power, rng)
        W = self._drawn_W(A, of_W, power, rng)
        return *self._rescaled(A, W, power, rng), of_A, of_W

    def back(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """The time reversal of :meth:`move`: its parts in the reverse order."""
        A, W, of_A, of_W = population.place
        A, W = self._rescaled(A, W, power, rng)
        W = self._drawn_W(A, of_W, power, rng)
        A = self._drawn_A(W, of_A, power, rng)
        return self.population((A, W, *self._sources(A, W, power, rng)))

    def entered(self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> Population:
        """Particles of the posterior at A (m, R, D), W (m, R, N): with sources drawn given them."""
        return self.population((A, W, *self._sources(A, W, 1.0, rng)))

    def log_start(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """log q of A (m, R, D), W (m, R, N): (m,)."""
        return self.around.A.log_density(A) + self.around.W.log_density(W)

    def factors(self, population: Population) -> Factors:
        """A (m, D, R) and W (m, R, N)."""
        A, W, *_ = population.place
        return np.ascontiguousarray(A.transpose(0, 2, 1)), W

    def _sources(
        self, A: np.ndarray, W: np.ndarray, power: float, rng: np.random.Generator
    ) -> Factors:
        between = [
            np.exp(power * np.log(F) + (1.0 - power) * q.mean_log)
            for F, q in ((A, self.around.A), (W, self.around.W))
        ]
        return sources.allocate(self.problem.counts, between[0], between[1], rng)

    def _drawn_A(
        self, W: np.ndarray, sums: np.ndarray, power: float, rng: np.random.Generator
    ) -> np.ndarray:
        exposure = sources.seen_sums(self.problem.seen, W, of_rows=True)
        return _drawn(self.around.A, self.priors.A, power, sums, exposure, rng)

    def _drawn_W(
        self, A: np.ndarray, sums: np.ndarray, power: float, rng: np.random.Generator
    ) -> np.ndarray:
        exposure = sources.seen_sums(self.problem.seen, A, of_rows=False)
        return _drawn(self.around.W, self.priors.W, power, sums, exposure, rng)

    def _rescaled(
        self, A: np.ndarray, W: np.ndarray, power: float, rng: np.random.Generator
    ) -> Factors:
        """A_r → s A_r, W_r → W_r/s by a random walk on log s, which leaves AW alone."""
        stretch, pulls, at_centre = 0.0, [], []
        sides = (
            (A, self.around.A, self.priors.A, 1.0, self.around.centre[0]),
            (W, self.around.W, self.priors.W, -1.0, self.around.centre[1]),
        )
        for F, q, prior, sign, centre in sides:
            rate = (1.0 - power) * q.rate + power * prior.rate
            shape = (1.0 - power) * q.shape + power * prior.shape
            stretch = stretch + sign * shape.sum(axis=-1)
            pulls.append((rate * F).sum(axis=2))
            at_centre.append((rate * centre).sum(axis=-1))
        t = WALK / np.sqrt(at_centre[0] + at_centre[1]) * rng.standard_normal(pulls[0].shape)
        gained = stretch * t - np.expm1(t) * pulls[0] - np.expm1(-t) * pulls[1]
        accepted = np.log1p(-rng.random(t.shape)) < gained
        s = np.where(accepted, np.exp(t), 1.0)[:, :, None]
        return A * s, W / s

    def population(self, place: tuple[np.ndarray, ...]) -> Population:
        """The particles at a place."""
        A, W, of_A, of_W = place
        around, priors = self.around, self.priors
        parts = (
            (A, of_A, around.A, priors.A),
            (W, of_W, around.W, priors.W),
        )
        ratio = np.repeat(-self.constant, A.shape[0] // self.constant.size)
        for F, sums, q, prior in parts:
            ratio += (sums * (np.log(F) - q.mean_log)).sum(axis=(1, 2))
            ratio += prior.log_density(F) - q.log_density(F)
        exposure = sources.seen_sums(self.problem.seen, A, of_rows=False)
        ratio -= (W * exposure).sum(axis=(1, 2))
        return Population(place, ratio)


def _drawn(
    q: Gammas,
    prior: GammaPrior,
    power: float,
    sums: np.ndarray,
    exposure: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    shape = (1.0 - power) * q.shape + power * (prior.shape + sums)
    rate = (1.0 - power) * q.rate + power * (prior.rate + exposure)
    return np.maximum(rng.standard_gamma(shape) / rate, sources.TINY)
