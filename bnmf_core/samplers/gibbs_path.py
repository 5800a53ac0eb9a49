"""From a product of truncated normals to a posterior, every step an exact Gibbs sweep.

Where the conditional of an entry is normal under the posterior π, and q is a product of truncated
normals, it is so under every q^(1−β) π^β: its precision is β·h + (1−β)·p and its linear term
β·c + (1−β)·l, with h and c those of the posterior, p and l those of q. So no step is rejected, and
X enters through the same two products as in any Gibbs sweep.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.model import Conditionals, required
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.populations import Population
from bnmf_core.numerics.residuals import squared_errors
from bnmf_core.samplers.entries import Entries, Given, conditional_moments, redraw, rescale
from bnmf_core.samplers.truncated_normals import TruncatedNormals
from bnmf_core.solvers.solution import gram

# Chains that look at the neighbourhood of a mode, and their sweeps, the first of them unseen.
CHAINS, SWEEPS, UNSEEN = 8, 150, 50
# q is this much wider, in variance, than what it was fitted to: the way from a density that
# covers another one is shorter than from one that is covered.
WIDER = 1.2

# Standard deviations below 0 from which on what is left of a normal is as good as an exponential.
FAR = 3.0

Factors = tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Region visited by chains that start at a factorization.

    A, W : truncated normals around their draws of Aᵀ (R, D) and W (R, N).
    centre : the mean of their draws, Aᵀ (R, D) and W (R, N).
    """

    A: TruncatedNormals
    W: TruncatedNormals
    centre: Factors


@dataclass(frozen=True, eq=False)
class ConditionalPosterior:
    """A posterior through the conditionals of its entries, with its likelihood to a power.

    beta : that power; 1 for the posterior itself, less where the noise model is believed less
        (coarsened posterior, Miller & Dunson 2019).
    """

    problem: Problem
    beta: float = 1.0

    @cached_property
    def drawn(self) -> Conditionals:
        """Conditionals of entries."""
        return required(self.problem.model.conditionals)(self.problem.model_settings)

    @cached_property
    def heat(self) -> float:
        """The power of the likelihood over σ²."""
        return self.beta / self.drawn.noise_variance

    @cached_property
    def priors(self) -> tuple[Entries, Entries]:
        """Priors of the entries of Aᵀ (R, D) and of W (R, N)."""
        data, R = self.problem.dataset, self.problem.rank
        return Entries.of(self.drawn.A, (R, data.D)), Entries.of(self.drawn.W, (R, data.N))

    @property
    def bounded(self) -> bool:
        """Whether entries of a factor end somewhere above."""
        return any(np.isfinite(entries.largest) for entries in self.priors)

    @cached_property
    def constant(self) -> float:
        """The constant term of the log joint, independent of A and W."""
        data, R = self.problem.dataset, self.problem.rank
        A, W = np.full((1, R, data.D), 0.5), np.full((1, R, data.N), 0.5)
        squared = squared_errors(data.X, A.transpose(0, 2, 1), W, data.mask)
        whole = self.problem.model.log_joint(self.problem, A.transpose(0, 2, 1), W, squared)
        plain = -0.5 * squared / self.drawn.noise_variance
        return float((whole - plain - self.log_prior(A, W))[0])

    def given_W(self, W: np.ndarray) -> Given:
        """Conditional of Aᵀ."""
        seen = self.problem.seen
        return Given(W, self.problem.times_rows(W), None if seen is None else seen.T)

    def given_A(self, A: np.ndarray) -> Given:
        """Conditional of W, given A (m, R, D)."""
        return Given(A, self.problem.times_columns(A), self.problem.seen)

    def log_joint(self, A: np.ndarray, W: np.ndarray, known: Given) -> np.ndarray:
        """Log joint of A (m, R, D) and W (m, R, N), (m,); ``known`` : conditional of W."""
        return self.log_likelihood(A, W, known) + self.log_prior(A, W)

    def log_likelihood(self, A: np.ndarray, W: np.ndarray, known: Given) -> np.ndarray:
        """:meth:`log_joint` minus :meth:`log_prior`: it depends on AW only.

        ``known`` may also be what Aᵀ was drawn from, given this W.
        """
        data = self.problem.dataset
        if self.problem.seen is not None:
            squared = squared_errors(data.X, A.transpose(0, 2, 1), W, data.mask)
        else:
            drawn = A if known.other is W else W
            overlap = np.einsum("mrn,mrn->m", drawn, known.C)
            size = np.einsum("mrs,mrs->m", gram(A), gram(W))
            squared = np.maximum(data.squared_norm - 2.0 * overlap + size, 0.0)
        return self.constant - 0.5 * self.heat * squared

    def around(
        self,
        A: np.ndarray,
        W: np.ndarray,
        rng: np.random.Generator,
        stopped: Callable[[], bool] | None = None,
    ) -> Neighbourhood:
        """Explore the surroundings of A (D, R), W (R, N) by chains."""
        start_A, start_W = self.problem.model.scale(A[None], W[None])
        chains = [
            np.repeat(F, CHAINS, axis=0).copy() for F in (start_A.transpose(0, 2, 1), start_W)
        ]
        centre = chains[0][0].copy(), chains[1][0].copy()
        met = _Met(centre[0].shape), _Met(centre[1].shape)
        for sweep in range(SWEEPS):
            raise_if_cancelled(stopped, "the evidence")
            for this, other in ((0, 1), (1, 0)):
                F, entries = chains[this], self.priors[this]
                known = (self.given_W, self.given_A)[this](chains[other])
                if sweep >= UNSEEN:
                    moments = conditional_moments(F, known, self.heat, entries)
                    met[this].conditionals(*moments)
                redraw(F, known, self.heat, entries, rng)
            if not self.bounded:
                rescale(chains[0], chains[1], *self.priors, centre, rng)
            if sweep >= UNSEEN:
                for F, noted in zip(chains, met, strict=True):
                    noted.draws += F.mean(axis=0) / (SWEEPS - UNSEEN)
        of_A, of_W = (
            noted.fitted(entries.largest) for noted, entries in zip(met, self.priors, strict=True)
        )
        return Neighbourhood(of_A, of_W, (met[0].draws, met[1].draws))

    def path(self, around: Neighbourhood) -> "GibbsPath":
        """The way from there to the posterior."""
        return GibbsPath(self, around)

    def log_prior(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Log prior of A (m, R, D) and W (m, R, N), (m,), without its constants."""
        of_A, of_W = self.priors
        return of_A.log_density(A) + of_W.log_density(W)


@dataclass(frozen=True, eq=False)
class GibbsPath:
    """The path from a neighbourhood's truncated normals to the posterior."""

    effective: ClassVar[float] = 0.9
    posterior: ConditionalPosterior
    around: Neighbourhood

    def start(self, count: int, rng: np.random.Generator) -> Population:
        """Independent draws from the product of truncated normals."""
        return self.entered(self.around.A.draw(count, rng), self.around.W.draw(count, rng), rng)

    def move(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """One sweep over A and W, then one over the components' scales."""
        A, W = (part.copy() for part in population.place)
        of_A, of_W, heat = self._between(power)
        redraw(A, self.posterior.given_W(W), heat, of_A, rng)
        known = self.posterior.given_A(A)
        redraw(W, known, heat, of_W, rng)
        likelihood = self.posterior.log_likelihood(A, W, known)
        if not self.posterior.bounded:
            rescale(A, W, of_A, of_W, self.around.centre, rng)
        return self._population(A, W, likelihood + self.posterior.log_prior(A, W))

    def back(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """The time reversal of :meth:`move`."""
        A, W = (part.copy() for part in population.place)
        of_A, of_W, heat = self._between(power)
        if not self.posterior.bounded:
            rescale(A, W, of_A, of_W, self.around.centre, rng)
        redraw(W, self.posterior.given_A(A), heat, of_W, rng, backwards=True)
        known = self.posterior.given_W(W)
        redraw(A, known, heat, of_A, rng, backwards=True)
        return self._population(A, W, self.posterior.log_joint(A, W, known))

    def entered(self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator) -> Population:
        """Particles at A (m, R, D), W (m, R, N)."""
        return self._population(A, W, self.posterior.log_joint(A, W, self.posterior.given_A(A)))

    def log_start(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """log q of A (m, R, D), W (m, R, N): (m,)."""
        return self.around.A.log_density(A) + self.around.W.log_density(W)

    def factors(self, population: Population) -> Factors:
        """A (m, D, R) and W (m, R, N)."""
        A, W = population.place
        return np.ascontiguousarray(A.transpose(0, 2, 1)), W

    def _population(self, A: np.ndarray, W: np.ndarray, log_joint: np.ndarray) -> Population:
        return Population((A, W), log_joint - self.log_start(A, W))

    def _between(self, power: float) -> tuple[Entries, Entries, float]:
        """Priors of entries of A and of W at this power, and the power of X over σ²."""
        ends = zip((self.around.A, self.around.W), self.posterior.priors, strict=True)
        of_A, of_W = (near.entries.towards(prior, power) for near, prior in ends)
        return of_A, of_W, power * self.posterior.heat


class _Met:
    """Sums over what chains have met: conditional means, their squares, variances, draws."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.count = 0
        self.means, self.squares, self.variances, self.draws = np.zeros((4, *shape))

    def conditionals(self, means: np.ndarray, variances: np.ndarray) -> None:
        """Note the normals of all chains at one state.

        Far below 0 the mean and the width of a normal tell nothing of what is left of it above 0,
        an exponential of the rate -mean / variance: a normal nearer to 0 that has this rate stands
        for it. Otherwise an entry that X says nothing of for a moment would decide the average.
        """
        far = means < -FAR * np.sqrt(variances)
        scale = np.divide(variances, -means, out=np.ones_like(means), where=far)
        means = np.where(far, -(FAR**2) * scale, means)
        variances = np.where(far, (FAR * scale) ** 2, variances)
        self.count += means.shape[0]
        self.means += means.sum(axis=0)
        self.squares += np.einsum("mrn,mrn->rn", means, means)
        self.variances += variances.sum(axis=0)

    def fitted(self, largest: float) -> TruncatedNormals:
        """Truncated normals that cover them."""
        mean = self.means / self.count
        between = np.maximum(self.squares / self.count - mean * mean, 0.0)
        return TruncatedNormals.of(mean, WIDER * (self.variances / self.count + between), largest)
