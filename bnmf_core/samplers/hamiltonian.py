"""Hamiltonian dynamics of many chains side by side, each with its own step size.

The mass is 1. A density is ``q → (log density (c,), gradient (c, …))``, so the same code walks a
run's chains and the many small posteriors of a proof. Coordinates that must stay ≥ 0 are
reflected within the leapfrog step: where the drift would take one below zero, its place and its
momentum change sign (paper 3, §6.2). Reflection keeps volume and can be run backwards, so the
accept step makes the kernel exact.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

Density = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# An energy error beyond this is a trajectory that has left the ground (Stan's limit).
DIVERGENT = 1000.0


@dataclass(frozen=True, eq=False)
class Point:
    """Positions q (c, …), their log densities (c,) and gradients (c, …)."""

    q: np.ndarray
    value: np.ndarray
    gradient: np.ndarray


class Outcome(NamedTuple):
    """State of the chains after a trajectory, and its diagnostics (c,)."""

    point: Point
    accepted: np.ndarray
    probability: np.ndarray
    divergent: np.ndarray


def transition(
    density: Density,
    point: Point,
    step: np.ndarray,
    rng: np.random.Generator,
    reflected: slice | None = None,
    count: int = 1,
) -> Outcome:
    """One HMC update: fresh momenta, ``count`` leapfrog steps of size ``step`` (c,), accept."""
    momentum = rng.standard_normal(point.q.shape)
    end, last = leapfrog(density, point, momentum, step, count, reflected)
    return accept(point, energy(point, momentum), end, last, rng)


def leapfrog(
    density: Density,
    point: Point,
    momentum: np.ndarray,
    step: np.ndarray,
    count: int,
    reflected: slice | None = None,
) -> tuple[Point, np.ndarray]:
    """``count`` whole leapfrog steps: the end point and its momentum, new arrays."""
    half = half_kick(momentum, point.gradient, step)
    end, half = glide(density, point, half, step, count, reflected)
    with np.errstate(invalid="ignore"):  # where a chain has left the ground
        return end, half_kick(half, end.gradient, -step)


def half_kick(momentum: np.ndarray, gradient: np.ndarray, step: np.ndarray) -> np.ndarray:
    """The momentum half a step later; earlier for a negative step."""
    return momentum + _by_chain(0.5 * step, gradient) * gradient


def glide(
    density: Density,
    point: Point,
    half: np.ndarray,
    step: np.ndarray,
    count: int,
    reflected: slice | None = None,
) -> tuple[Point, np.ndarray]:
    """``count`` drifts and full kicks, from momenta half a step ahead to the same.

    A trajectory may be cut between any two of them without changing a bit of it.
    """
    step = _by_chain(step, half)
    q, half, value, gradient = point.q.copy(), half.copy(), point.value, point.gradient
    change = np.empty_like(q)
    with np.errstate(all="ignore"):  # a chain that has left the ground is rejected at the end
        for _ in range(count):
            q += np.multiply(half, step, out=change)
            if reflected is not None:
                place = q[..., reflected]
                half[..., reflected] *= np.copysign(1.0, place)
                np.abs(place, out=place)
            value, gradient = density(q)
            half += np.multiply(gradient, step, out=change)
    return Point(q, value, gradient), half


def accept(
    start: Point, before: np.ndarray, end: Point, last: np.ndarray, rng: np.random.Generator
) -> Outcome:
    """Go to the end, or stay: with probability min(1, exp(−ΔH)) for each chain.

    ``before`` (c,) is the energy at the start, ``last`` the momentum at the end.
    """
    with np.errstate(all="ignore"):
        error = energy(end, last) - before
        whole = np.isfinite(error) & np.isfinite(_flat(end.gradient).sum(axis=1))
        error = np.where(whole, error, np.inf)
        probability = np.exp(-np.maximum(error, 0.0))
    accepted = rng.random(error.size) < probability
    pairs = ((end.q, start.q), (end.value, start.value), (end.gradient, start.gradient))
    point = Point(*(np.where(_by_chain(accepted, new), new, old) for new, old in pairs))
    return Outcome(point, accepted, probability, error > DIVERGENT)


def energy(point: Point, momentum: np.ndarray) -> np.ndarray:
    """H = −log density + ‖momentum‖²/2 of each chain: (c,)."""
    flat = _flat(momentum)
    return 0.5 * np.vecdot(flat, flat) - point.value


def reasonable_step(
    density: Density, point: Point, rng: np.random.Generator, reflected: slice | None = None
) -> np.ndarray:
    """For each chain, the largest of 1, ½, ¼, … with which one leapfrog step is likely accepted.

    Likely means with probability above ½. After Hoffman & Gelman (2014), algorithm 4, with one
    draw of momenta for all sizes.
    """
    momentum = rng.standard_normal(point.q.shape)
    step = np.ones(point.value.size)
    for _ in range(60):
        with np.errstate(all="ignore"):
            end, last = leapfrog(density, point, momentum, step, 1, reflected)
            error = energy(end, last) - energy(point, momentum)
        too_large = ~(error < np.log(2.0))
        if not too_large.any():
            break
        step = np.where(too_large, 0.5 * step, step)
    return step


def _by_chain(values: np.ndarray, like: np.ndarray) -> np.ndarray:
    return values.reshape(-1, *(1,) * (like.ndim - 1))


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(array.shape[0], -1)
