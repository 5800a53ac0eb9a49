"""The posterior of counts, and what chains meet around one of its modes."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.model import LogNormal
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Stopped, never
from bnmf_core.samplers import sources
from bnmf_core.samplers.sources_path import Gammas, SourcesPath, Surroundings

# Chains that look at the neighbourhood of a mode, and their sweeps, the first of them unseen.
CHAINS, SWEEPS, UNSEEN = 8, 150, 50
# q is this much wider, in variance, than what it was fitted to.
WIDER = 1.2
# No standard deviation of log k is taken to be less than this.
LEAST_SPREAD = 1e-4


@dataclass(frozen=True, eq=False)
class CountsPosterior:
    """A posterior of counts, through their latent sources."""

    problem: Problem

    def around(
        self, A: np.ndarray, W: np.ndarray, rng: np.random.Generator, stopped: Stopped = never
    ) -> Surroundings:
        """What chains meet that set out at A (D, R), W (R, N).

        Raises
        ------
        Cancelled
            When ``stopped()`` said so.
        """
        problem = self.problem
        start_A, start_W = problem.model.scale(A[None], W[None])
        A, W = (_off_zero(F) for F in (start_A.transpose(0, 2, 1), start_W))
        A, W = (np.repeat(F, CHAINS, axis=0) for F in (A, W))
        k = sources.first_dispersion(problem, CHAINS)
        logs: list[np.ndarray] = []
        of_A, of_W, of_g = _Moments(), _Moments(), _Moments()
        for sweep in range(SWEEPS):
            raise_if_cancelled(stopped, "the evidence")
            A, W, k = sources.sweep(problem, A, W, k, rng)
            if sweep >= UNSEEN:
                of_A.add(A)
                of_W.add(W)
                if k.size:
                    logs.append(np.log(k))
                    of_g.add_gammas(*_rest(problem, A, W, k))
        found = Surroundings(of_A.fitted(), of_W.fitted(), (of_A.mean, of_W.mean))
        prior = sources.of(problem).dispersion
        if prior is None:
            return found
        spread = max(float(np.sqrt(WIDER) * np.std(logs)), LEAST_SPREAD) if prior.spread else 0.0
        at = LogNormal(float(np.exp(np.mean(logs))), spread)
        return Surroundings(found.A, found.W, found.centre, of_g.fitted(), at)

    def path(self, around: Surroundings) -> SourcesPath:
        """The way from there to the posterior."""
        return SourcesPath(self.problem, around)


def _off_zero(F: np.ndarray) -> np.ndarray:
    """A chain leaves an entry of 0 at once, but it has no logarithm."""
    return np.maximum(F, 1e-6 * F.mean())


def _rest(
    problem: Problem, A: np.ndarray, W: np.ndarray, k: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Shape and rate (c, D, N) of g given all else; those of its prior where nothing was seen."""
    x = problem.dataset.dense()
    seen = 1.0 if problem.seen is None else problem.seen
    return k[:, None, None] + x, k[:, None, None] + (A.transpose(0, 2, 1) @ W) * seen


class _Moments:
    """Mean and variance of what chains draw."""

    def __init__(self) -> None:
        self.count, self.total, self.squares = 0, np.zeros(()), np.zeros(())

    def add(self, F: np.ndarray) -> None:
        """Draws (c, …)."""
        self.count += F.shape[0]
        self.total = self.total + F.sum(axis=0)
        self.squares = self.squares + np.square(F).sum(axis=0)

    def add_gammas(self, shape: np.ndarray, rate: np.ndarray) -> None:
        """What is drawn from gammas (c, …), by their own moments."""
        mean = shape / rate
        self.count += shape.shape[0]
        self.total = self.total + mean.sum(axis=0)
        self.squares = self.squares + (np.square(mean) + mean / rate).sum(axis=0)

    @property
    def mean(self) -> np.ndarray:
        """Of all draws."""
        return self.total / self.count

    def fitted(self) -> Gammas:
        """Gammas that cover them."""
        variance = np.maximum(self.squares / self.count - self.mean**2, 0.0)
        return Gammas.of_moments(self.mean, WIDER * variance)
