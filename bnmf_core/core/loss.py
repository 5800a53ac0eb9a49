"""Losses of AW against X, minimized by maximum likelihood."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from bnmf_core.core.names import percent

if TYPE_CHECKING:  # a problem has a loss, and a loss is taken of a problem
    from bnmf_core.core.dataset import Dataset
    from bnmf_core.core.problem import Problem

Slopes = tuple[np.ndarray, np.ndarray]
ByObservation = Callable[
    ["Problem", np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
]
# Name of the measure of fit for any loss.
MEASURE = "measure of fit"
# Words of a loss that is half a deviance, and shown as a part of that of the mean.
AS_DEVIANCE: dict[str, Any] = {
    "measure": "unexplained deviance",
    "explains": "deviance",
    "ends": "0 fits everything, 1 no better than the mean of X",
}
# Dataset → key of the loss → f(X, mean of X).
_OF_MEANS: WeakKeyDictionary[Dataset, dict[str, float]] = WeakKeyDictionary()


# A particle's number, rows and columns of a part of X, and φ'' and φ' of its entries.
Part = tuple[int, slice, slice, np.ndarray, np.ndarray]


def slopes_along(
    parts: Iterable[Part], A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
) -> Slopes:
    """(φ'' ∘ ẏ) Wᵀ + φ' Ẇᵀ and Aᵀ(φ'' ∘ ẏ) + Ȧᵀφ', with ẏ = ȦW + AẆ."""
    along_A, along_W = np.zeros(A.shape), np.zeros(W.shape)
    for m, rows, columns, bend, slope in parts:
        basis, weights = A[m, rows], W[m][:, columns]
        moved_basis, moved_weights = moved_A[m, rows], moved_W[m][:, columns]
        change = moved_basis @ weights + basis @ moved_weights
        change *= bend
        along_A[m, rows] += change @ weights.T + slope @ moved_weights.T
        along_W[m][:, columns] += basis.T @ change + moved_basis.T @ slope
    return along_A, along_W


class Loss(ABC):
    """f(X, AW) ≥ 0 over the seen entries of X, 0 where AW = X.

    All methods take M factorizations at once, A (M, D, R) and W (M, R, N), and derivatives have
    these shapes. Every entry of A and W is free: no constraint is taken into account.

    Attributes
    ----------
    key : by which settings name it. label : what it is called in a sentence.
    measure, axis : what is shown of f, in words and on an axis; see :meth:`measured`.
    explains : of which what is shown is the part that AW leaves unexplained, and sentences and
        tables say the part that it explains; "" where they say what is shown.
    expected : what is shown where only noise is left, about; None where that is not known.
    ends : what its ends mean.
    """

    key: str
    label: str
    measure: str
    axis: str
    explains: str = ""
    expected: float | None = None
    ends: str = "0 fits everything"

    @property
    def of_observations(self) -> ByObservation | None:
        """f of each column of X, with derivatives by its own weights; None: not offered.

        ``(problem, A, W)`` → values (M, N), slopes (M, R, N), second derivatives (M, N, R, R), and
        these as they are expected, never below 0.
        """
        return None

    @abstractmethod
    def values(self, problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """f of each particle, (M,)."""

    @abstractmethod
    def values_and_gradients(
        self, problem: Problem, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f (M,) and its gradients in A and W."""

    @abstractmethod
    def gradients_along(
        self,
        problem: Problem,
        A: np.ndarray,
        W: np.ndarray,
        moved_A: np.ndarray,
        moved_W: np.ndarray,
    ) -> Slopes:
        """The derivative of the gradients along a direction: the Hessian times it."""

    @abstractmethod
    def curvatures(self, problem: Problem, A: np.ndarray, W: np.ndarray) -> Slopes:
        """The second derivative by each entry by itself, no less than 0."""

    @abstractmethod
    def by_observation(self, problem: Problem, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """f of each column of X: (M, N)."""

    @abstractmethod
    def work(self, problem: Problem) -> float:
        """Multiply-adds of f and its gradients for one particle, about."""

    @abstractmethod
    def size(self, dataset: Dataset) -> float:
        """An f that is as large as the data."""

    def of_mean(self, dataset: Dataset) -> float:
        """f(X, mean of X), which takes a pass over X; of a loss that explains nothing its size."""
        return self.size(dataset)

    def whole(self, dataset: Dataset) -> float:
        """The f that is shown as 1: f(X, mean of X), or without other words :meth:`size`."""
        if not self.explains:
            return self.size(dataset)
        known = _OF_MEANS.setdefault(dataset, {})
        if self.key not in known:
            known[self.key] = self.of_mean(dataset)
        # Of an X without variation all is as large as the data.
        return known[self.key] if known[self.key] > 0.0 else self.size(dataset)

    def measured(self, dataset: Dataset, f: np.ndarray) -> np.ndarray:
        """The measure of fit: by default f as a fraction of :meth:`whole`."""
        return f / self.whole(dataset)

    def unmeasured(self, dataset: Dataset, shown: np.ndarray) -> np.ndarray:
        """f of a measure of fit: the inverse of :meth:`measured`."""
        return shown * self.whole(dataset)

    @property
    def heading(self) -> str:
        """Heading of a column of :meth:`format`."""
        return f"{self.explains} explained" if self.explains else self.measure

    def format(self, shown: float) -> str:
        """Format ``measured`` f for a table: the explained fraction in percent, or a number."""
        return percent(1.0 - shown) if self.explains else f"{shown:.4f}"

    def nats(self, dataset: Dataset, f: np.ndarray) -> np.ndarray:
        """Nats per unit of f, at the noise that a fit with f leaves; shaped as f."""
        return np.ones_like(f, dtype=np.float64)
