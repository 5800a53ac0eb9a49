"""Gibbs chains from each of several landmarks: which of them are modes, and of what shape.

A landmark that its chains leave is a minimum of the error, or a saddle between two, and no mode of
the posterior: a proposal fitted to those chains would be that of no place.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.samplers import gibbs, scale_move
from bnmf_core.samplers.landmarks import match, unit_columns

# A (c, R, D), W (c, R, N) → two arrays (c, …), which are added up over the sweeps of each chain.
Moments = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Pilot:
    """p chains from each of K landmarks, side by side: A (K p, R, D) and W (K p, R, N).

    places : (K, D, R) the landmarks' bases, matching components in the same column. first, second :
        the sums of two moments, (K p, …); none before the first. sweeps : done.
    """

    places: np.ndarray
    A: np.ndarray
    W: np.ndarray
    first: np.ndarray | None = None
    second: np.ndarray | None = None
    sweeps: int = 0

    @classmethod
    def of(cls, A: np.ndarray, W: np.ndarray, chains: int) -> "Pilot":
        """So many chains at each of the landmarks A (K, D, R), W (K, R, N)."""
        rows = np.repeat(A.transpose(0, 2, 1), chains, axis=0)
        return cls(A, rows, np.repeat(W, chains, axis=0))

    def swept(self, problem: Problem, rng: np.random.Generator) -> "Pilot":
        """One sweep and one move of scales further."""
        A, W = gibbs.sweep(problem, self.A, self.W, rng)
        A, W, _ = scale_move.move(problem, A, W, rng)
        return replace(self, A=A, W=W, sweeps=self.sweeps + 1)

    def added(self, moments: Moments) -> "Pilot":
        """The moments of where the chains are now added to the sums."""
        first, second = moments(self.A, self.W)
        if self.first is not None and self.second is not None:
            first, second = self.first + first, self.second + second
        return replace(self, first=first, second=second)

    def stayed(self) -> np.ndarray:
        """Whether each landmark's chains are still nearer to it than to another: (K, p) bool.

        Components are matched for the others, and not for its own: a chain that exchanged two
        components is at another of the R! relabellings, of which a proposal has one. Where no
        chain has stayed they all count, as what they saw is the best there is.
        """
        places, bases = unit_columns(self.places), unit_columns(self.A.transpose(0, 2, 1))
        K = places.shape[0]
        label = np.repeat(np.arange(K), bases.shape[0] // K)
        own = np.einsum("cdr,cdr->cr", bases, places[label]).min(axis=1)
        nearest = [
            min((match(places[k], base)[0] for k in range(K) if k != here), default=180.0)
            for here, base in zip(label, bases, strict=True)
        ]
        stayed = np.degrees(np.arccos(np.clip(own, -1.0, 1.0))) < nearest
        return (stayed if stayed.any() else ~stayed).reshape(K, -1)

    def means(self, stayed: np.ndarray, recorded: int) -> tuple[np.ndarray, np.ndarray]:
        """Both moments at each landmark with chains that stayed, over those: (modes, …) each."""
        assert self.first is not None and self.second is not None
        modes = stayed[stayed.any(axis=1)]
        share = modes / (recorded * modes.sum(axis=1, keepdims=True))

        def mean(sums: np.ndarray) -> np.ndarray:
            by_mode = sums.reshape(*stayed.shape, *sums.shape[1:])[stayed.any(axis=1)]
            return np.einsum("kp,kp...->k...", share, by_mode)

        return mean(self.first), mean(self.second)
