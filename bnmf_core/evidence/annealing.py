"""Annealing a population from a density with a known total to the posterior, and the ratio.

Along π_β ∝ q^(1−β) π^β, β from 0 to 1, weighted particles follow (Neal 2001; Del Moral, Doucet &
Jasra 2006): at every step they are weighted by the change of the density, resampled where their
weights have become unequal, and moved by a kernel that leaves the new density invariant. The
product of the mean incremental weights is an unbiased estimate of the integral of π over what the
particles reach, for steps that are set beforehand; here the steps follow the particles.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import RunError, raise_if_cancelled
from bnmf_core.numerics.populations import Path, systematic

# Particles are resampled when the effective sample size falls below this fraction.
RESAMPLED_BELOW = 0.5
# Maximum number of steps to the posterior.
MOST_STEPS = 10_000

Stopped = Callable[[], bool]


def never() -> bool:
    """Nobody stops this."""
    return False


@dataclass(frozen=True, eq=False)
class Annealed:
    """Result of one population.

    Attributes
    ----------
    log_evidence : of the region that it reached, in nats.
    variance : of the log evidence, were the particles of every step independent: what is left
        when nothing else goes wrong.
    powers : β of every step, 0 first and 1 last.
    A, W : (m, D, R), (m, R, N) the particles at the end. weights : (m,) theirs, summing to 1.
    """

    log_evidence: float
    variance: float
    powers: np.ndarray
    A: np.ndarray
    W: np.ndarray
    weights: np.ndarray


def anneal(
    path: Path,
    count: int,
    rng: np.random.Generator,
    powers: np.ndarray | None = None,
    stopped: Stopped = never,
) -> Annealed:
    """Take ``count`` particles from q to π.

    ``powers`` : β of every step, 0 first and 1 last; None: each step as long as the particles'
    weights allow.

    Raises
    ------
    Cancelled
        When ``stopped()`` returned True.
    RunError
        When the posterior is not reached in ``MOST_STEPS`` steps.
    """
    population = path.start(count, rng)
    weights = np.full(count, 1.0 / count)
    log_evidence, variance, done = 0.0, 0.0, [0.0]
    while done[-1] < 1.0:
        raise_if_cancelled(stopped, "the evidence")
        if len(done) > MOST_STEPS:
            raise RunError(
                f"After {MOST_STEPS:,} steps the way from a mode's neighbourhood to the posterior "
                f"had come {done[-1]:.0%} far, so it was given up: around this mode the posterior "
                "has a shape that normal distributions do not come near."
            )
        if powers is None:
            step = _longest_step(population.log_ratio, weights, 1.0 - done[-1], path.effective)
        else:
            step = float(powers[len(done)]) - done[-1]
        change = step * population.log_ratio
        top = change.max()
        grown = weights * np.exp(change - top)
        log_evidence += top + np.log(grown.sum())
        variance += (1.0 / _effective(change, weights) - 1.0) / count
        weights = grown / grown.sum()
        # What is left of 1 after many steps is rounding.
        done.append(1.0 if done[-1] + step > 1.0 - 1e-12 else done[-1] + step)
        if 1.0 / (weights @ weights) < RESAMPLED_BELOW * count:
            population = population.take(systematic(weights, rng))
            weights = np.full(count, 1.0 / count)
        population = path.move(population, done[-1], rng)
    A, W = path.factors(population)
    return Annealed(float(log_evidence), float(variance), np.array(done), A, W, weights)


def halved(powers: np.ndarray) -> np.ndarray:
    """The same steps, each in two."""
    between = 0.5 * (powers[1:] + powers[:-1])
    return np.sort(np.concatenate((powers, between)))


def _effective(change: np.ndarray, weights: np.ndarray) -> float:
    """The part of the weighted particles that counts after the change (Zhou et al. 2016, CESS)."""
    grown = np.exp(change - change.max())
    return float((weights @ grown) ** 2 / (weights @ (grown * grown)))


def _longest_step(
    log_ratio: np.ndarray, weights: np.ndarray, left: float, effective: float
) -> float:
    """The longest step, at most what is left, after which this part of the weight is in effect."""
    if _effective(left * log_ratio, weights) >= effective:
        return left
    low, high = 0.0, left
    for _ in range(40):
        middle = 0.5 * (low + high)
        if _effective(middle * log_ratio, weights) >= effective:
            low = middle
        else:
            high = middle
    # Densities may differ by more than steps can bridge; a step of nothing would never end.
    return max(low, 1e-12)
