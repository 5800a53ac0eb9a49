"""From a product of gammas to a posterior of counts, every step an exact Gibbs sweep.

Let q be gammas for all entries of A and W, times a multinomial with fixed probabilities for the
latent sources Z (Cemgil 2009). Along q^(1−β) p(X, Z, A, W)^β every conditional stays what it is at
the ends: with φ = exp(E_q log A), exp(E_q log W),

- Z_dn ~ Multinomial(X_dn, ∝ (A_dr W_rn)^β (φ_dr φ_rn)^(1−β));
- A_dr ~ Gamma((1−β) α + β (a + Σ_n Z), (1−β) b_q + β (b + Σ_n W_rn)), and W likewise.

The factorials of Z are in p and in q, and cancel in the weights, so that sums of Z are enough.
Negative binomial counts have a gamma g for every entry besides, and the dispersion k: g stays gamma
along the path, and k is drawn with g integrated out.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import digamma, gammaln

from bnmf_core.core.model import GammaPrior, LogNormal, Sources
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
    """Independent gammas: shape and rate of every entry, (R, n) or (D, N)."""

    shape: np.ndarray
    rate: np.ndarray

    @classmethod
    def of_moments(cls, mean: np.ndarray, variance: np.ndarray) -> "Gammas":
        """Those with these means and variances."""
        variance = np.maximum(variance, np.finfo(float).tiny)
        shape = np.maximum(mean**2 / variance, LEAST_SHAPE)
        return cls(shape, shape / mean)

    def draw(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """Independent draws (count, …)."""
        drawn = rng.standard_gamma(np.broadcast_to(self.shape, (count, *self.shape.shape)))
        return np.maximum(drawn / self.rate, sources.TINY)

    def log_density(self, F: np.ndarray) -> np.ndarray:
        """Of F (m, …), all entries together, (m,)."""
        constant = float((self.shape * np.log(self.rate) - gammaln(self.shape)).sum())
        parts = (self.shape - 1.0) * np.log(F) - self.rate * F
        return constant + parts.reshape(F.shape[0], -1).sum(axis=1)

    @cached_property
    def mean_log(self) -> np.ndarray:
        """E log of every entry."""
        found: np.ndarray = digamma(self.shape) - np.log(self.rate)
        return found


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Gammas around what chains drew near a factorization.

    A, W : of Aᵀ (R, D) and W (R, N). centre : the mean of the draws, of the same shapes.
    g : of every entry of X (D, N), and k, of negative binomial counts; None for Poisson ones.
    """

    A: Gammas
    W: Gammas
    centre: Factors
    g: Gammas | None = None
    k: LogNormal | None = None


def around_prior(problem: Problem) -> Surroundings:
    """The prior itself, and sources that every component shares alike."""
    data, R, priors = problem.dataset, problem.rank, sources.of(problem)

    def same(prior: GammaPrior, shape: tuple[int, ...]) -> Gammas:
        return Gammas(np.full(shape, prior.shape), np.full(shape, prior.rate))

    of_A, of_W = same(priors.A, (R, data.D)), same(priors.W, (R, data.N))
    around = Surroundings(of_A, of_W, (of_A.shape / of_A.rate, of_W.shape / of_W.rate))
    if priors.dispersion is None:
        return around
    k = priors.dispersion.median
    of_g = same(GammaPrior(k, k), (data.D, data.N))
    return replace(around, g=of_g, k=priors.dispersion)


@dataclass(frozen=True, eq=False)
class SourcesPath:
    """The path from the gammas around a factorization to the posterior.

    A place is Aᵀ (m, R, D), W (m, R, N) and the sums of Z over columns and over rows, of the same
    shapes; for negative binomial counts g (m, D, N) and log k (m,) as well.
    """

    problem: Problem
    around: Surroundings

    @cached_property
    def priors(self) -> Sources:
        """Of A, W and k."""
        return sources.of(self.problem)

    @cached_property
    def constant(self) -> float:
        """log q(Z) + Σ log Z!, but for Σ Z log φ."""
        counts = self.problem.counts
        fitted = counts.fitted(np.exp(self.around.A.mean_log).T, np.exp(self.around.W.mean_log))
        return float((gammaln(counts.values + 1.0) - counts.values * np.log(fitted)).sum())

    @cached_property
    def x(self) -> np.ndarray:
        """X, dense."""
        return self.problem.dataset.dense()

    def start(self, count: int, rng: np.random.Generator) -> Population:
        """Independent draws from q."""
        around = self.around
        A, W = around.A.draw(count, rng), around.W.draw(count, rng)
        place = [A, W, *self._sources(A, W, 0.0, rng)]
        if around.g is not None and around.k is not None:
            place.append(around.g.draw(count, rng))
            log_k = np.log(around.k.median) + around.k.spread * rng.standard_normal(count)
            place.append(log_k)
        return self.population(tuple(place))

    def move(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """One sweep over sources, A, W, and what belongs to the dispersion; then over scales."""
        return self.population(self.swept(population.place, power, rng))

    def swept(
        self, place: tuple[np.ndarray, ...], power: float, rng: np.random.Generator
    ) -> tuple[np.ndarray, ...]:
        """The place after :meth:`move`."""
        A, W, _, _, *rest = place
        of_A, of_W = self._sources(A, W, power, rng)
        prior_A, prior_W = self.priors.A, self.priors.W
        A = _drawn(self.around.A, prior_A, power, of_A, self._exposure(W, rest, rows=True), rng)
        W = _drawn(self.around.W, prior_W, power, of_W, self._exposure(A, rest, rows=False), rng)
        A, W = self._rescaled(A, W, power, rng)
        if rest:
            rest = list(self._dispersed(A, W, rest[1], power, rng))
        return A, W, of_A, of_W, *rest

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

    def _exposure(self, F: np.ndarray, rest: list[np.ndarray], rows: bool) -> np.ndarray:
        """Σ_n g_dn W_rn (m, R, D), or Σ_d g_dn A_dr (m, R, N), over the seen entries."""
        seen = self.problem.seen
        if rest:
            g = rest[0] if seen is None else rest[0] * seen
            return F @ g.transpose(0, 2, 1) if rows else F @ g
        return sources.seen_sums(seen, F, rows)

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
            stretch = stretch + sign * shape.sum(axis=1)
            pulls.append((rate * F).sum(axis=2))
            at_centre.append((rate * centre).sum(axis=1))
        t = WALK / np.sqrt(at_centre[0] + at_centre[1]) * rng.standard_normal(pulls[0].shape)
        gained = stretch * t - np.expm1(t) * pulls[0] - np.expm1(-t) * pulls[1]
        accepted = np.log1p(-rng.random(t.shape)) < gained
        s = np.where(accepted, np.exp(t), 1.0)[:, :, None]
        return A * s, W / s

    def _dispersed(
        self,
        A: np.ndarray,
        W: np.ndarray,
        log_k: np.ndarray,
        power: float,
        rng: np.random.Generator,
    ) -> Factors:
        """Log k by a random walk with g integrated out, then g given k."""
        q, at, prior = self.around.g, self.around.k, self.priors.dispersion
        assert q is not None
        assert at is not None
        assert prior is not None
        y = A.transpose(0, 2, 1) @ W

        def gammas(t: np.ndarray) -> Factors:
            k = np.exp(t)[:, None, None]
            shape = (1.0 - power) * q.shape + power * (k + self.x)
            return shape, (1.0 - power) * q.rate + power * (k + y * self._seen)

        if prior.spread:
            then = log_k + WALK * at.spread * rng.standard_normal(log_k.size)

            def height(t: np.ndarray) -> np.ndarray:
                k, (shape, rate) = np.exp(t), gammas(t)
                whole = (gammaln(shape) - shape * np.log(rate)).sum(axis=(1, 2))
                whole += power * self.x.size * (k * t - gammaln(k))
                whole += power * _log_normal(t, prior) + (1.0 - power) * _log_normal(t, at)
                return whole

            gained = height(then) - height(log_k)
            accepted = np.log1p(-rng.random(log_k.size)) < gained
            log_k = np.where(accepted, then, log_k)
        shape, rate = gammas(log_k)
        return np.maximum(rng.standard_gamma(shape) / rate, sources.TINY), log_k

    @property
    def _seen(self) -> np.ndarray | float:
        return 1.0 if self.problem.seen is None else self.problem.seen

    def population(self, place: tuple[np.ndarray, ...]) -> Population:
        """The particles at a place."""
        A, W, of_A, of_W, *rest = place
        around, priors = self.around, self.priors
        parts = (
            (A, of_A, around.A, priors.A),
            (W, of_W, around.W, priors.W),
        )
        ratio = np.full(A.shape[0], -self.constant)
        for F, sums, q, prior in parts:
            ratio += (sums * (np.log(F) - q.mean_log)).sum(axis=(1, 2))
            ratio += prior.log_density(F) - q.log_density(F)
        exposure = self._exposure(A, rest, rows=False)
        ratio -= (W * exposure).sum(axis=(1, 2))
        if rest:
            ratio += self._of_dispersion(*rest)
        return Population(place, ratio)

    def _of_dispersion(self, g: np.ndarray, log_k: np.ndarray) -> np.ndarray:
        """What g and k add to log p − log q."""
        q, at, prior = self.around.g, self.around.k, self.priors.dispersion
        assert q is not None
        assert at is not None
        assert prior is not None
        k, logs = np.exp(log_k), np.log(g)
        found = (self.x * logs).sum(axis=(1, 2)) - q.log_density(g)
        found += self.x.size * (k * log_k - gammaln(k))
        found += (k - 1.0) * logs.sum(axis=(1, 2)) - k * g.sum(axis=(1, 2))
        if prior.spread:
            found += _log_normal(log_k, prior) - _log_normal(log_k, at)
        return found


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


def _log_normal(t: np.ndarray, of: LogNormal) -> np.ndarray:
    """The log density of t = log k."""
    z = (t - np.log(of.median)) / of.spread
    return -0.5 * z**2 - np.log(of.spread) - 0.5 * np.log(2 * np.pi)
