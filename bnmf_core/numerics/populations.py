"""Populations of weighted particles: resampled, and their estimates of one evidence combined."""

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from bnmf_core.lazy import lazy

special = lazy("scipy.special")


@dataclass(frozen=True)
class Combined:
    """Combined evidence of P populations.

    Attributes
    ----------
    log_evidence : log of the mean estimate, nats; None where the populations disagree.
    error : its standard error, nats; None likewise.
    effective : how many populations carry the mean, (ΣẐ)²/ΣẐ², between 1 and P.
    disagreement : why there is no number, in a sentence; "" where there is one.
    """

    log_evidence: float | None
    error: float | None
    effective: float
    disagreement: str


def combine(log_estimates: np.ndarray) -> Combined:
    """The log of the mean of unbiased estimates Ẑ of one evidence, from log Ẑ (P,).

    The mean, not the mean of logs, is unbiased whatever the spread. Its error is the jackknife's on
    the log scale (Efron & Stein 1981): for close estimates the standard deviation of log Ẑ over √P,
    and where one outweighs the rest about the distance to them, while the relative standard
    deviation of the Ẑ never says more than 1 nat.

    Populations disagree where fewer than two carry the mean, that is where one outweighs all others
    together: of four, about where the largest leads by 1.9 nats. Nothing then tells whether it
    found what the others missed, or whether a fifth would outweigh it as well. Populations that
    agree may still all have missed the same.
    """
    count = log_estimates.size
    mean = float(special.logsumexp(log_estimates)) - np.log(count)
    effective = float(
        np.exp(2 * special.logsumexp(log_estimates) - special.logsumexp(2 * log_estimates))
    )
    if count < 2:
        return Combined(
            None,
            None,
            effective,
            "Only one population came to its end, and one cannot tell how far off it is, so no "
            "evidence and no mass of modes is shown; let at least two finish, or compare modes by "
            "their own evidence (mode_evidence).",
        )
    if effective < 2:
        apart = float(np.ptp(log_estimates))
        return Combined(
            None,
            None,
            effective,
            f"The {count} populations disagree by {apart:.1f} nats and one outweighs the others "
            "together, so no evidence and no mass of modes is shown; take more particles in a "
            "population or more sweeps, or compare modes by their own evidence (mode_evidence).",
        )
    without = np.array(
        [special.logsumexp(np.delete(log_estimates, k)) - np.log(count - 1) for k in range(count)]
    )
    error = float(np.sqrt((count - 1) * without.var()))
    return Combined(float(mean), error, effective, "")


def systematic(weights: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Systematic resampling (Kitagawa 1996): m rising indices, one uniform for all, (m,).

    weights : (m,) ≥ 0, not all 0. Each is taken m·weight/Σ times, rounded up or down.
    """
    m = weights.size
    cumulative = np.cumsum(weights)
    places = (rng.random() + np.arange(m)) / m * cumulative[-1]
    return np.minimum(np.searchsorted(cumulative, places, side="right"), m - 1)


@dataclass(frozen=True, eq=False)
class Population:
    """m particles on a path, and by how much the posterior's density exceeds q's at each.

    place : arrays (m, …), whatever the path moves. log_ratio : (m,) log π − log q.
    """

    place: tuple[np.ndarray, ...]
    log_ratio: np.ndarray

    def take(self, index: np.ndarray) -> "Population":
        """The particles at these positions, some perhaps more than once."""
        return Population(tuple(part[index] for part in self.place), self.log_ratio[index])


class Path(Protocol):
    """A way from a density q of known total to a posterior π.

    effective : a step goes as far as leaves this part of the particles' weight in effect.
    """

    effective: ClassVar[float]

    def start(self, count: int, rng: np.random.Generator) -> Population:
        """Independent draws from q."""

    def move(self, population: Population, power: float, rng: np.random.Generator) -> Population:
        """The particles after a kernel that leaves q^(1−β) π^β invariant, β the power."""

    def factors(self, population: Population) -> tuple[np.ndarray, np.ndarray]:
        """A (m, D, R) and W (m, R, N) of the particles."""
