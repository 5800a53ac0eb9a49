"""Step sizes of many chains that are adapted by dual averaging, and what happened to the chains."""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.samplers.hamiltonian import Outcome

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
    """What has happened to c chains since the last recorded state.

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
        """What is recorded with a state, (c,) each, after so many updates of this size (c,)."""
        return {
            "accepted": self.moved,
            "acceptance": self.probability / updates,
            "step_size": step_size,
            "divergent": self.divergent,
        }
