"""From a product of normals to a posterior by Hamiltonian steps, for models without Gibbs.

The path is that of :mod:`bnmf_core.samplers.gibbs_path`, q^(1−β) π^β, in coordinates in which A and
W move freely, π with its Jacobian. q is a product of normals around what chains drew there, cut at
the walls. Trajectories are accepted by Metropolis, so that every kernel is exact; their step is
measured in standard deviations of q and follows how often they were accepted.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numba
import numpy as np
from scipy.special import log_ndtr

from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.evidence.dispersed_coordinates import DispersedCoordinates
from bnmf_core.numerics.populations import Population
from bnmf_core.samplers import sources
from bnmf_core.samplers.coordinates import Coordinates, coordinates
from bnmf_core.samplers.hamiltonian import Density, Point, reasonable_step, transition

# Chains that look around, their trajectories before and after their scales are known, leapfrog
# steps of a trajectory.
CHAINS, UNSEEN, SEEN, LEAPFROG = 8, 300, 300, 10
# Steps grow where more than this part of the trajectories is accepted, and shrink where less is.
ACCEPTED, ADJUSTED = 0.8, 1.1
WIDER = 1.5


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Normals around what chains drew near a factorization.

    mean, sd : (R, K) of every coordinate. step : of a trajectory, in units of sd.
    centre : the mean of the draws, Aᵀ (R, D) and W (R, N).
    """

    mean: np.ndarray
    sd: np.ndarray
    step: float
    centre: tuple[np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class SmoothPosterior:
    """A posterior through the slopes of its density."""

    problem: Problem

    @cached_property
    def coordinates(self) -> Coordinates:
        """In which A and W move freely, and the dispersion of counts that have one."""
        problem = self.problem
        if sources.serve(problem):
            return DispersedCoordinates(problem.dataset.D)
        return coordinates(problem)

    @cached_property
    def density(self) -> Density:
        """Log density and gradient at positions (c, R, K), Jacobian included."""
        return self.coordinates.density(self.problem)

    @cached_property
    def constant(self) -> float:
        """Difference of the log joint and the log density."""
        return self.coordinates.log_constant(self.problem)

    def around(
        self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator, stopped: Stopped = never
    ) -> Surroundings:
        """Explore the surroundings of A (D, R), W (R, N) by chains."""
        place = self.coordinates
        start = place.to_position(*place.lift(*self.problem.model.scale(A[None], W[None])))
        positions = np.repeat(start, CHAINS, axis=0)
        sd, step = np.ones(start.shape[1:]), 0.0
        drawn: list[np.ndarray] = []
        for count in (UNSEEN, SEEN):
            positions, step, drawn = self._walk(positions, sd, count, rng, stopped)
            sd = np.maximum(np.std(drawn[count // 2 :], axis=(0, 1)), 1e-6)
        mean = np.mean(drawn[SEEN // 2 :], axis=(0, 1))
        A_drawn, W_drawn = place.to_factors(np.concatenate(drawn[SEEN // 2 :]))
        centre = A_drawn.mean(axis=0).T, W_drawn.mean(axis=0)
        return Surroundings(mean, np.sqrt(WIDER) * sd, step, centre)

    def path(self, around: Surroundings) -> "HamiltonianPath":
        """The way from there to the posterior."""
        return HamiltonianPath(self, around)

    def _walk(
        self,
        positions: np.ndarray,
        sd: np.ndarray,
        count: int,
        rng: np.random.Generator,
        stopped: Stopped,
    ) -> tuple[np.ndarray, float, list[np.ndarray]]:
        """Trajectories of chains: where they end, the step that suits them, all their draws."""
        density, wall = in_units(self.density, sd), self.coordinates.reflected
        point = at(density, positions / sd)
        step, drawn = reasonable_step(density, point, rng, wall), []
        for _ in range(count):
            raise_if_cancelled(stopped, "the evidence")
            made = transition(density, point, step, rng, wall, LEAPFROG)
            point = made.point
            step = step * np.where(made.probability > ACCEPTED, ADJUSTED, 1 / ADJUSTED)
            drawn.append(point.q * sd)
        return drawn[-1], float(np.median(step)), drawn


@dataclass(frozen=True, eq=False)
class HamiltonianPath:
    """The path from a product of normals to the posterior; a place is a position and a step."""

    effective: ClassVar[float] = 0.99
    posterior: SmoothPosterior
    around: Surroundings

    def start(self, count: int, rng: np.random.Generator) -> Population:
        """Independent draws from the product of normals, cut at the walls."""
        mean, sd = self.around.mean, self.around.sd
        q = mean + sd * rng.standard_normal((count, *mean.shape))
        if (wall := self.posterior.coordinates.reflected) is not None:
            while (below := q[..., wall] < 0).any():  # a normal cut at 0, by rejection
                again = mean + sd * rng.standard_normal(q.shape)
                q[..., wall] = np.where(below, again[..., wall], q[..., wall])
        return self._population(q, np.full(count, self.around.step))

    def move(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """One trajectory of each particle."""
        q, step = population.place
        sd, wall = self.around.sd, self.posterior.coordinates.reflected
        density = self._between(power)
        made = transition(density, at(density, q / sd), step, rng, wall, LEAPFROG)
        factor = ADJUSTED if made.probability.mean() > ACCEPTED else 1 / ADJUSTED
        return self._population(made.point.q * sd, step * factor)

    def factors(self, population: Population) -> tuple[np.ndarray, np.ndarray]:
        """A (m, D, R) and W (m, R, N)."""
        return self.posterior.coordinates.to_factors(population.place[0])

    def _population(self, q: np.ndarray, step: np.ndarray) -> Population:
        with np.errstate(all="ignore"):
            away = ((q - self.around.mean) / self.around.sd).reshape(q.shape[0], -1)
            log_start = -0.5 * np.vecdot(away, away) - self._log_total
            value = self.posterior.density(q)[0] + self.posterior.constant - log_start
        return Population((q, step), np.where(np.isfinite(value), value, -np.inf))

    @cached_property
    def _log_total(self) -> float:
        mean, sd = self.around.mean, self.around.sd
        total = float((0.5 * np.log(2 * np.pi) + np.log(sd)).sum())
        wall = self.posterior.coordinates.reflected
        if wall is not None:
            total += float(log_ndtr(mean[..., wall] / sd[..., wall]).sum())
        return total

    def _between(self, power: float) -> Density:
        """(1 − β) log q + β log π and its gradient, at places in standard deviations of q."""
        posterior, sd = self.posterior.density, self.around.sd
        centre, total = self.around.mean / sd, self._log_total

        def density(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            last, slope = posterior(u * sd)
            squares = _blend(u, centre, sd, power, slope)
            return (power - 1.0) * (0.5 * squares + total) + power * last, slope

        return density


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _blend(
    u: np.ndarray, centre: np.ndarray, sd: np.ndarray, power: float, slope: np.ndarray
) -> np.ndarray:
    """‖u − centre‖² of each chain, (c,); turns the slopes (c, R, K), in place, into the blend's."""
    squares = np.zeros(u.shape[0])
    for c in range(u.shape[0]):
        for r in range(u.shape[1]):
            square = 0.0
            for k in range(u.shape[2]):
                # A slope in q is sd of it in u, and that of the normals is centre − u.
                away = u[c, r, k] - centre[r, k]
                square += away * away
                slope[c, r, k] = power * sd[r, k] * slope[c, r, k] - (1.0 - power) * away
            squares[c] += square
    return squares


def in_units(density: Density, sd: np.ndarray) -> Density:
    """A density of positions that are measured in standard deviations (R, K)."""

    def scaled(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        value, gradient = density(u * sd)
        return value, gradient * sd

    return scaled


def at(density: Density, u: np.ndarray) -> Point:
    """The density at positions."""
    return Point(u, *density(u))
