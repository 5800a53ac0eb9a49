"""The posterior of Poisson counts, and what chains meet around one of its modes."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.samplers import sources
from bnmf_core.samplers.gibbs_path import CHAINS, SWEEPS, UNSEEN, WIDER
from bnmf_core.samplers.sources_path import Gammas, SourcesPath, Surroundings


@dataclass(frozen=True, eq=False)
class CountsPosterior:
    """A posterior of Poisson counts, through their latent sources."""

    problem: Problem

    def around(
        self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator, stopped: Stopped = never
    ) -> Surroundings:
        """Explore the surroundings of A (D, R), W (R, N) by chains.

        Raises
        ------
        Cancelled
            When ``stopped()`` returned True.
        """
        problem = self.problem
        start_A, start_W = problem.model.scale(A[None], W[None])
        A, W = (_off_zero(F) for F in (start_A.transpose(0, 2, 1), start_W))
        A, W = (np.repeat(F, CHAINS, axis=0) for F in (A, W))
        of_A, of_W, none = _Moments(), _Moments(), np.empty(0)
        for sweep in range(SWEEPS):
            raise_if_cancelled(stopped, "the evidence")
            A, W, _ = sources.sweep(problem, A, W, none, rng)
            if sweep >= UNSEEN:
                of_A.add(A)
                of_W.add(W)
        return Surroundings(of_A.fitted(), of_W.fitted(), (of_A.mean, of_W.mean))

    def path(self, around: Surroundings) -> SourcesPath:
        """The way from there to the posterior."""
        return SourcesPath(self.problem, around)


def _off_zero(F: np.ndarray) -> np.ndarray:
    """A chain leaves an entry of 0 at once, but it has no logarithm."""
    return np.maximum(F, 1e-6 * F.mean())


class _Moments:
    """Mean and variance of what chains draw."""

    def __init__(self) -> None:
        self.count, self.total, self.squares = 0, np.zeros(()), np.zeros(())

    def add(self, F: np.ndarray) -> None:
        """Draws (c, …)."""
        self.count += F.shape[0]
        self.total = self.total + F.sum(axis=0)
        self.squares = self.squares + np.square(F).sum(axis=0)

    @property
    def mean(self) -> np.ndarray:
        """Mean of all draws."""
        return self.total / self.count

    def fitted(self) -> Gammas:
        """Gammas that cover them."""
        variance = np.maximum(self.squares / self.count - self.mean**2, 0.0)
        return Gammas.of_moments(self.mean, WIDER * variance)
