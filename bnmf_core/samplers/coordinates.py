"""Coordinates in which (A, W) can move freely, with their Jacobians.

A position q is (c, R, K): for each of c chains and R components, the coordinates of a column of
A followed by those of a row of W, so that one array operation serves both factors.

- ``EntryCoordinates`` (entries ≥ 0, of A, of W or of both no larger than 1): q = log x of every
  entry, and log(x/(1 − x)) where they end at 1, K = D + N; the density gains Σ log dx/dq.
- ``SimplexCoordinates`` (columns of A that sum to 1, W ≥ 0): each column of A by stick-breaking,
  D − 1 free numbers; W in units of ``unit`` and kept ≥ 0 by reflection (paper 3, §6.2);
  K = D − 1 + N.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Protocol

import numba
import numpy as np
from scipy.special import logit

from bnmf_core.core.model import Support, required
from bnmf_core.core.problem import Problem
from bnmf_core.samplers.starting import LIFT, lifted

Density = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
# Numbers between 1 and 2 that can be multiplied before a logarithm is taken.
FACTORS = 1000
# The supports, of A and of W, that there are coordinates for.
ENTRYWISE = (Support.POSITIVE, Support.UNIT_INTERVAL)
SUPPORTS = frozenset([*product(ENTRYWISE, ENTRYWISE), (Support.SIMPLEX, Support.POSITIVE)])


class Coordinates(Protocol):
    """A change of variables of (A, W)."""

    @property
    def reflected(self) -> slice | None:
        """The coordinates that are kept ≥ 0."""

    def lift(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The nearest A, W that have a position: zeros are lifted where they have none."""

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """A (c, D, R), W (c, R, N) → q (c, R, K)."""

    def to_factors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q (c, R, K) → A (c, D, R), W (c, R, N)."""

    def density(self, problem: Problem) -> Density:
        """``q → (log density (c,), gradient (c, R, K))`` of the posterior in q, Jacobian included.

        The log density keeps every constant of the log joint but those of the change of
        variables itself, see :meth:`log_constant`.
        """

    def log_constant(self, problem: Problem) -> float:
        """Constant that turns the log density in q into that of the posterior in (A, W)."""


def coordinates(problem: Problem) -> Coordinates:
    """The coordinates for a model whose supports are among ``SUPPORTS``."""
    data, rank = problem.dataset, problem.rank
    support_A, support_W = problem.model.support
    if support_A is not Support.SIMPLEX:
        bounded = Support.UNIT_INTERVAL
        return EntryCoordinates(data.D, support_A is bounded, support_W is bounded)
    # ΣX = ΣW where the columns of A sum to 1, so this is the mean of W; a step then moves W and
    # the free numbers of A by comparable parts of themselves, whatever X's unit.
    return SimplexCoordinates(data.D, data.total / (rank * data.observed / data.D))


@dataclass(frozen=True)
class EntryCoordinates:
    """q = log x of every entry, and log(x/(1 − x)) where entries lie between 0 and 1.

    D : rows of A. bounded_A, bounded_W : whether entries of A and of W end at 1.
    """

    D: int
    bounded_A: bool = False
    bounded_W: bool = False

    @property
    def reflected(self) -> None:
        """No coordinate is reflected."""

    @property
    def _parts(self) -> tuple[tuple[slice, bool], tuple[slice, bool]]:
        return (slice(None, self.D), self.bounded_A), (slice(self.D, None), self.bounded_W)

    def lift(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Entries off 0, see :func:`bnmf_core.samplers.starting.lifted`, and off 1."""
        A, W = lifted(A, axis=1), lifted(W, axis=2)
        return (
            np.clip(A, LIFT, 1.0 - LIFT) if self.bounded_A else A,
            np.clip(W, LIFT, 1.0 - LIFT) if self.bounded_W else W,
        )

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Logarithms and logits."""
        q = np.concatenate((A.transpose(0, 2, 1), W), axis=2)
        for part, bounded in self._parts:
            q[:, :, part] = logit(q[:, :, part]) if bounded else np.log(q[:, :, part])
        return q

    def to_factors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Their inverses."""
        F, _ = self._entries(q)
        return F[:, :, : self.D].transpose(0, 2, 1), F[:, :, self.D :]

    def log_constant(self, problem: Problem) -> float:
        """Nothing."""
        return 0.0

    def density(self, problem: Problem) -> Density:
        """log p + Σ log x′, and x′ ∘ ∇log p + x″/x′ with x′ = dx/dq.

        Of a logarithm x′ = x and x″/x′ = 1, of a logit x(1 − x) and 1 − 2x.
        """
        log_joint_and_score, D = required(problem.model.log_joint_and_score), self.D

        def log_density_and_gradient(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            F, e = self._entries(q)
            values, by_A, by_W = log_joint_and_score(
                problem, F[:, :, :D].transpose(0, 2, 1), F[:, :, D:]
            )
            gradient = np.empty_like(q)
            gradient[:, :, :D], gradient[:, :, D:] = by_A.transpose(0, 2, 1), by_W
            for part, bounded in self._parts:
                x, slope, place = F[:, :, part], gradient[:, :, part], q[:, :, part]
                if bounded:
                    values = values + _to_logits(place, e[:, :, part], x, slope)
                else:
                    slope *= x
                    slope += 1.0
                    values = values + place.sum(axis=(1, 2))
            return values, gradient

        return log_density_and_gradient

    def _entries(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The entries, and exp(−|q|) where they are bounded."""
        if not (self.bounded_A or self.bounded_W):
            return np.exp(q), q
        F, e = np.empty_like(q), np.empty_like(q)
        for part, bounded in self._parts:
            place, x, small = q[:, :, part], F[:, :, part], e[:, :, part]
            if bounded:
                np.exp(np.negative(np.abs(place, out=small), out=small), out=small)
                _from_logits(place, small, x)
            else:
                np.exp(place, out=x)
        return F, e


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _from_logits(q: np.ndarray, e: np.ndarray, x: np.ndarray) -> None:
    """x = 1/(1 + exp(−q)), all (c, R, K), in place; e = exp(−|q|)."""
    for c in range(q.shape[0]):
        for r in range(q.shape[1]):
            for k in range(q.shape[2]):
                small = e[c, r, k]
                x[c, r, k] = (1.0 if q[c, r, k] >= 0.0 else small) / (1.0 + small)


@numba.njit(cache=True, nogil=True, error_model="numpy", fastmath={"reassoc"})
def _to_logits(q: np.ndarray, e: np.ndarray, x: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """Σ log x(1 − x) of each chain, (c,); turns slopes in x into those in q, in place."""
    total = np.zeros(q.shape[0])
    for c in range(q.shape[0]):
        for r in range(q.shape[1]):
            for first in range(0, q.shape[2], FACTORS):
                # x(1 − x) = e/(1 + e)², e = exp(−|q|), keeps its digits where x is near 1.
                away, product = 0.0, 1.0
                for k in range(first, min(first + FACTORS, q.shape[2])):
                    above = 1.0 + e[c, r, k]
                    away += abs(q[c, r, k])
                    product *= above
                    slope[c, r, k] = slope[c, r, k] * (e[c, r, k] / (above * above)) + (
                        1.0 - 2.0 * x[c, r, k]
                    )
                total[c] -= away + 2.0 * np.log(product)
    return total


@dataclass(frozen=True)
class SimplexCoordinates:
    """Stick-breaking for the columns of A, W/unit as it is (Betancourt 2012, eq. 4, logits).

    x_k = z_1 ⋯ z_{k−1} (1 − z_k) for k < D and x_D = z_1 ⋯ z_{D−1}, with
    z_k = 1/(1 + exp(−y_k)/(D − k)): y = 0 is the uniform column. x_k depends on y_1 … y_k only,
    and ∂x_k/∂y_k = −x_k z_k, so the Jacobian is x_1 ⋯ x_{D−1} · z_1 ⋯ z_{D−1} = x_1 ⋯ x_D.
    """

    D: int
    unit: float = 1.0

    @property
    def reflected(self) -> slice:
        """The coordinates of W."""
        return slice(self.D - 1, None)

    def log_constant(self, problem: Problem) -> float:
        """Constant from the unit of W."""
        return problem.rank * problem.dataset.N * float(np.log(self.unit))

    @cached_property
    def _left(self) -> np.ndarray:
        return np.arange(self.D - 1, 0, -1.0)  # D − k for k = 1 … D − 1

    def lift(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A, its columns summing to 1 again; W may be zero."""
        A = lifted(A, axis=1)
        return A / A.sum(axis=1, keepdims=True), W

    def to_position(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """Logits of the sticks and W/unit."""
        x = A.transpose(0, 2, 1)
        tail = np.cumsum(x[:, :, ::-1], axis=2)[:, :, ::-1]  # what is left before each break
        y = np.log(tail[:, :, 1:] / x[:, :, :-1]) - np.log(self._left)
        return np.concatenate((y, W / self.unit), axis=2)

    def to_factors(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The columns that the sticks break into; W in its own unit."""
        y, V = q[:, :, : self.D - 1], q[:, :, self.D - 1 :]
        return self._columns(y)[0].transpose(0, 2, 1), V * self.unit

    def density(self, problem: Problem) -> Density:
        """log p and its gradient, with the sticks' Jacobian."""
        log_joint_and_score = required(problem.model.log_joint_and_score)
        D, unit = self.D, self.unit

        def log_density_and_gradient(q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            y, V = q[:, :, : D - 1], q[:, :, D - 1 :]
            x, z, rest = self._columns(y)
            values, by_A, by_W = log_joint_and_score(problem, x.transpose(0, 2, 1), V * unit)
            gradient = np.empty_like(q)
            np.multiply(by_W, unit, out=gradient[:, :, D - 1 :])
            # With g_i = ∂/∂x_i (log p + Σ log x): ∂/∂y_k = (1 − z_k) Σ_{i>k} x_i g_i − z_k x_k g_k.
            weighted = x * by_A.transpose(0, 2, 1)
            weighted += 1.0
            rest *= np.add.accumulate(weighted[:, :, :0:-1], axis=2)[:, :, ::-1]
            z *= weighted[:, :, :-1]
            np.subtract(rest, z, out=gradient[:, :, : D - 1])
            np.log(x, out=x)
            return values + x.reshape(q.shape[0], -1).sum(axis=1), gradient

        return log_density_and_gradient

    def _columns(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        # x (c, R, D), and z and 1 − z of the breaks, (c, R, D − 1).
        rest = np.exp(-y)
        rest /= self._left
        z = np.reciprocal(1.0 + rest)
        rest *= z
        x = np.empty((*y.shape[:2], self.D))
        x[:, :, 0] = 1.0
        np.multiply.accumulate(z, axis=2, out=x[:, :, 1:])
        x[:, :, :-1] *= rest
        return x, z, rest
