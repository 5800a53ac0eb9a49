"""The entries of one factor given the other: what they are drawn from, and draws of them.

Densities ∝ exp(heat·(⟨C, F⟩ − ½⟨F, G F⟩) + ⟨linear, F⟩ − ½⟨precision, F²⟩) on 0 ≤ F ≤ largest, with
C the other factor times X and G its Gram matrix: a likelihood at some power, and for every entry
a prior of its own. Factors are (m, R, n), Aᵀ or W.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.model import EntryPrior
from bnmf_core.samplers.truncated_normal import draw_factors_between, draw_factors_within
from bnmf_core.solvers.solution import gram, seen_grams

# Of a random walk on the logarithm of a scale, in units of its standard deviation (Roberts,
# Gelman & Gilks 1997, one dimension).
SCALE_STEP = 2.4
# Where neither data nor prior give a precision, a normal this flat stands for an exponential.
FLAT = 1e-12


@dataclass(frozen=True, eq=False)
class Entries:
    """linear, precision : (R, n) of every entry's own prior. largest : where entries end.

    (m, R, n) where each of m particles has its own.
    """

    linear: np.ndarray
    precision: np.ndarray
    largest: float

    @classmethod
    def of(cls, prior: EntryPrior, shape: tuple[int, ...]) -> "Entries":
        """The same prior for all entries."""
        return cls(np.full(shape, -prior.rate), np.full(shape, prior.precision), prior.largest)

    def towards(self, other: "Entries", power: float) -> "Entries":
        """self^(1−power) · other^power, densities on the same interval."""
        return Entries(
            (1 - power) * self.linear + power * other.linear,
            (1 - power) * self.precision + power * other.precision,
            self.largest,
        )

    def log_density(self, F: np.ndarray) -> np.ndarray:
        """⟨linear, F⟩ − ½⟨precision, F²⟩ of each factor (m, R, n): (m,)."""
        flat = F.reshape(F.shape[0], -1)
        linear, precision = (part.reshape(-1, flat.shape[1]) for part in self._parts)
        found: np.ndarray = np.vecdot(flat, linear) - 0.5 * np.vecdot(flat * flat, precision)
        return found

    def by_particle(self) -> tuple[np.ndarray, np.ndarray]:
        """linear and precision, (m, R, n), or (1, R, n) where all particles have the same."""
        linear, precision = (part.reshape(-1, *part.shape[-2:]) for part in self._parts)
        return linear, precision

    def turned(self) -> "Entries":
        """The components from the last to the first."""
        linear, precision = (_turned(part) for part in self._parts)
        return Entries(linear, precision, self.largest)

    @property
    def _parts(self) -> tuple[np.ndarray, np.ndarray]:
        return self.linear, self.precision


@dataclass(frozen=True, eq=False)
class Given:
    """The other factor (m, R, k) and its products with X, C (m, R, n).

    seen : (k, n) 1 where X was seen; None where all of it was.
    """

    other: np.ndarray
    C: np.ndarray
    seen: np.ndarray | None

    def turned(self) -> "Given":
        """The components from the last to the first."""
        return Given(_turned(self.other), _turned(self.C), self.seen)

    def grams(self, p: int) -> Iterator[tuple[slice, np.ndarray]]:
        """The Gram matrix for every column, of particle p: (columns, (R, R, columns))."""
        if self.seen is not None:
            yield from seen_grams(self.other[p], self.seen)
            return
        G = self.other[p] @ self.other[p].T
        yield slice(None), np.broadcast_to(G[:, :, None], (*G.shape, self.C.shape[2]))


def _turned(F: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(F[..., ::-1, :])


def redraw(
    F: np.ndarray,
    given: Given,
    heat: float,
    entries: Entries,
    rng: np.random.Generator,
    backwards: bool = False,
) -> None:
    """Draw every entry of F (m, R, n) in place, one row after the other.

    ``backwards`` : from the last to the first, the time reversal.
    """
    if backwards:
        turned = _turned(F)
        redraw(turned, given.turned(), heat, entries.turned(), rng)
        F[:] = turned[:, ::-1]
        return
    uniform = 1.0 - rng.random(F.shape)  # in (0, 1]
    linear, precision = entries.by_particle()
    if given.seen is None and np.isinf(entries.largest) and precision.min() > 0.0:
        G = gram(given.other)
        draw_factors_between(F, given.C, G, heat, linear, precision, uniform)
        return
    for p in range(F.shape[0]):
        for columns, G in given.grams(p):
            part, C, u = (array[p, :, columns].copy() for array in (F, given.C, uniform))
            its = p % linear.shape[0]
            own = linear[its, :, columns].copy(), precision[its, :, columns].copy()
            draw_factors_within(part, C, G, heat, *own, entries.largest, u)
            F[p, :, columns] = part


def conditional_moments(
    F: np.ndarray, given: Given, heat: float, entries: Entries
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance, before they are cut, of the normals that entries of F are drawn from.

    Of each entry given all others as they are: two arrays (m, R, n).
    """
    mean, variance = np.empty_like(F), np.empty_like(F)
    floor = FLAT * np.abs(entries.linear) ** 2 + np.finfo(float).tiny
    for p in range(F.shape[0]):
        for columns, G in given.grams(p):
            f, size = F[p, :, columns], np.einsum("rrn->rn", G)
            pull = given.C[p, :, columns] - np.einsum("krn,kn->rn", G, f) + size * f
            own = entries.linear[:, columns], entries.precision[:, columns]
            narrow = np.maximum(heat * size + own[1], floor[:, columns])
            mean[p, :, columns] = (heat * pull + own[0]) / narrow
            variance[p, :, columns] = 1.0 / narrow
    return mean, variance


def rescale(
    A: np.ndarray,
    W: np.ndarray,
    of_A: Entries,
    of_W: Entries,
    centre: tuple[np.ndarray, np.ndarray],
    rng: np.random.Generator,
) -> None:
    """Move every component's scale, (s A_r, W_r/s), in place, by one Metropolis step on log s.

    AW stays as it is, so only the entries' own priors and the Jacobian s^(D−N) decide. Step sizes
    come from the priors at a ``centre`` that does not depend on where the particles are: the kernel
    is exact. A (m, R, D), W (m, R, N), no entry bounded above.
    """
    excess = A.shape[2] - W.shape[2]
    terms = _terms(A, W, of_A, of_W)
    bend = _bend(*_terms(*centre, of_A, of_W))
    size = SCALE_STEP / np.sqrt(np.maximum(bend, 1.0))
    step = size * rng.standard_normal(A.shape[:2])
    gain = _log_density(step, *terms) - _log_density(np.zeros_like(step), *terms) + excess * step
    accepted = np.log(1.0 - rng.random(step.shape)) < gain
    s = np.exp(np.where(accepted, step, 0.0))[:, :, None]
    A *= s
    W /= s


def _terms(
    A: np.ndarray, W: np.ndarray, of_A: Entries, of_W: Entries
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Terms of every component, (m, R): ⟨linear, A⟩, ⟨precision, A²⟩ and the same of W."""
    a1, w1 = np.vecdot(A, of_A.linear), np.vecdot(W, of_W.linear)
    return a1, np.vecdot(A * A, of_A.precision), w1, np.vecdot(W * W, of_W.precision)


def _log_density(
    step: np.ndarray, a1: np.ndarray, a2: np.ndarray, w1: np.ndarray, w2: np.ndarray
) -> np.ndarray:
    s = np.exp(step)
    return a1 * s - 0.5 * a2 * s * s + w1 / s - 0.5 * w2 / (s * s)


def _bend(a1: np.ndarray, a2: np.ndarray, w1: np.ndarray, w2: np.ndarray) -> np.ndarray:
    """−d²/d(log s)² of the log density at s = 1."""
    return 2.0 * (a2 + w2) - a1 - w1
