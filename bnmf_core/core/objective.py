"""Objectives that solvers minimize: a loss, or minus the log posterior density."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from bnmf_core.core.model import required
from bnmf_core.core.problem import Problem


class Objective(Protocol):
    """A smooth function of factorizations A (M, D, R), W (M, R, N), and its derivatives."""

    def values(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """(M,)."""

    def values_and_gradients(
        self, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(M,), and gradients of the shapes of A and W."""

    def gradients_along(
        self, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The Hessian times a direction."""

    def curvatures(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Second derivatives by each entry by itself, about; no less than 0."""

    def nats(self, values: np.ndarray) -> np.ndarray:
        """Nats per unit of the objective, at each of these values (M,)."""

    @property
    def without_scales(self) -> bool:
        """Whether it stays the same where A_r grows and W_r shrinks by one factor."""

    def of(self, index: np.ndarray) -> "Objective":
        """The objective of some of the factorizations."""


@dataclass(frozen=True)
class MaximumLikelihood:
    """The loss of a problem: its minimum is a factorization of maximum likelihood."""

    problem: Problem
    without_scales = True

    def of(self, index: np.ndarray) -> "MaximumLikelihood":
        """The same for all."""
        return self

    def values(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """f (M,)."""
        return self.problem.loss.values(self.problem, A, W)

    def values_and_gradients(
        self, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """f (M,) and its gradients."""
        return self.problem.loss.values_and_gradients(self.problem, A, W)

    def gradients_along(
        self, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """The Hessian of f times a direction."""
        return self.problem.loss.gradients_along(self.problem, A, W, moved_A, moved_W)

    def curvatures(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Curvatures of f."""
        return self.problem.loss.curvatures(self.problem, A, W)

    def nats(self, values: np.ndarray) -> np.ndarray:
        """Nats by the model's own noise if it has one, else by the noise that the fit leaves."""
        problem = self.problem
        if problem.of_loss is None and problem.model.per_loss is not None:
            return np.full(values.shape, problem.model.per_loss(problem.model_settings))
        return problem.loss.nats(problem.dataset, values)


@dataclass(frozen=True)
class MaximumPosterior:
    """Minus the log joint of a problem's model, in nats: its minimum is a posterior mode."""

    problem: Problem
    without_scales = False

    def of(self, index: np.ndarray) -> "MaximumPosterior":
        """The same for all."""
        return self

    def values(self, A: np.ndarray, W: np.ndarray) -> np.ndarray:
        """−log p(X, A, W), (M,)."""
        return -self.problem.model.log_joint(self.problem, A, W)

    def values_and_gradients(
        self, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """−log p (M,) and its gradients."""
        values, by_A, by_W = required(self.problem.model.log_joint_and_score)(self.problem, A, W)
        return -values, -by_A, -by_W

    def gradients_along(
        self, A: np.ndarray, W: np.ndarray, moved_A: np.ndarray, moved_W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Minus the Hessian of log p times a direction."""
        along_A, along_W = required(self.problem.model.score_along)(
            self.problem, A, W, moved_A, moved_W
        )
        return -along_A, -along_W

    def curvatures(self, A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Curvatures of the loss, in nats: exponential priors have none."""
        per_loss = required(self.problem.model.per_loss)(self.problem.model_settings)
        of_A, of_W = self.problem.loss.curvatures(self.problem, A, W)
        return per_loss * of_A, per_loss * of_W

    def nats(self, values: np.ndarray) -> np.ndarray:
        """It is in nats."""
        return np.ones(values.shape)
