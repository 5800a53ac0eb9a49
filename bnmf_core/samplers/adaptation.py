"""Step sizes of many chains that are adapted by dual averaging, and what happened to the chains."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.samplers import gibbs, scale_move
from bnmf_core.samplers.hamiltonian import Outcome
from bnmf_core.samplers.landmarks import match, unit_columns

# Dual averaging: shrinkage, early stability and forgetting (Hoffman & Gelman 2014, §3.2).
SHRINKAGE, STABILITY, FORGETTING = 0.05, 10.0, 0.75


@dataclass(frozen=True, eq=False)
class Adaptation:
    """Dual averaging of c step sizes.

    Attributes
    ----------
    log_step : (c,) of the next update. log_step_mean : (c,) what the warm-up ends with.
    shortfall : (c,) how much less was accepted than is aimed at, on average.
    center : (c,) the log step that it shrinks to.
    """

    log_step: np.ndarray
    log_step_mean: np.ndarray
    shortfall: np.ndarray
    center: np.ndarray

    @classmethod
    def begun(cls, step: np.ndarray) -> "Adaptation":
        """From first step sizes (c,)."""
        log_step = np.log(step)
        return cls(log_step, log_step, np.zeros(step.size), np.log(10.0 * step))

    def adapted(self, m: int, warm_up: int, target: float, probability: np.ndarray) -> "Adaptation":
        """After the m-th of the warm-up's updates (Hoffman & Gelman 2014, eq. 6).

        target : the acceptance probability that is aimed at. probability : (c,) of this update.
        The last update of the warm-up leaves the mean.
        """
        weight = 1.0 / (m + STABILITY)
        missing = target - probability
        shortfall = (1.0 - weight) * self.shortfall + weight * missing
        log_step = self.center - np.sqrt(m) / SHRINKAGE * shortfall
        part = m**-FORGETTING
        log_step_mean = part * log_step + (1.0 - part) * self.log_step_mean
        if m == warm_up:
            log_step = log_step_mean
        return replace(self, shortfall=shortfall, log_step=log_step, log_step_mean=log_step_mean)


@dataclass(frozen=True, eq=False)
class Tally:
    """Tally of c chains since the last recorded state.

    Attributes
    ----------
    moved : (c,) whether any update was accepted. probability : (c,) sum of the acceptance
        probabilities. divergent : (c,) whether any update diverged.
    """

    moved: np.ndarray
    probability: np.ndarray
    divergent: np.ndarray

    @classmethod
    def empty(cls, chains: int) -> "Tally":
        """Nothing has happened yet."""
        never = np.zeros(chains, dtype=bool)
        return cls(never, np.zeros(chains), never)

    def with_outcome(self, outcome: Outcome) -> "Tally":
        """After a further update."""
        return Tally(
            self.moved | outcome.accepted,
            self.probability + outcome.probability,
            self.divergent | outcome.divergent,
        )

    def diagnostics(self, updates: int, step_size: np.ndarray) -> dict[str, np.ndarray]:
        """Diagnostics of a state, (c,) each, after so many updates of this size (c,)."""
        return {
            "accepted": self.moved,
            "acceptance": self.probability / updates,
            "step_size": step_size,
            "divergent": self.divergent,
        }


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
