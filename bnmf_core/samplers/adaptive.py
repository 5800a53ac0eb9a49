"""Warm-up until chains are stationary, and thinning by the autocorrelation time measured then.

The warm-up of a shard's chains ends at the first of the checks, after 512, 1024, 2048, … sweeps, at
which the second half of every chain has an effective sample size of ``NEEDED`` in every quantity
that is followed. A drift makes that number small, so the warm-up doubles until the drift is over.
The slowest quantity then sets the thinning, so that kept draws are nearly independent. Nothing is
adapted once draws are kept, which leaves the posterior invariant.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.lazy import lazy

arviz = lazy("arviz_stats.base")

# Rows of a full record. Halving keeps every second row and doubles the spacing.
ROWS = 512
# Effective sample size that the second half of each chain needs in every quantity.
NEEDED = 50.0
# Kept draws are so many autocorrelation times apart: a short record understates the time.
APART = 1.5
# Sweeps per independent draw, before any is measured.
TYPICAL = 40.0


def longest_setting() -> int:
    """The declared setting "longest" of samplers that sweep."""
    return setting(
        0,
        "Longest adaptive warm-up",
        "Maximum number of warm-up sweeps; the warm-up ends when the chains are stationary, and "
        "the thinning follows the measured autocorrelation time. 0: warm-up and thinning as above.",
        minimum=0,
        maximum=10_000_000,
    )


@dataclass(frozen=True, eq=False)
class WarmUp:
    """Record of the adaptive warm-up of c chains.

    Attributes
    ----------
    record : (T, c, 3R + 1) at equal distances, oldest first: the angle of every column of A and of
        every row of W to where the chain started, degrees, the log of every component's total, and
        the log joint.
    spacing : sweeps between two rows.
    A, W : (c, R, D) and (c, R, N), unit vectors, the directions of the start.
    autocorrelation : measured sweeps per independent draw of the slowest quantity; 0 before the
        first check.
    """

    record: np.ndarray
    spacing: int
    A: np.ndarray
    W: np.ndarray
    autocorrelation: float

    @classmethod
    def begin(cls, A: np.ndarray, W: np.ndarray) -> "WarmUp":
        """Warm-up of chains that start at A (c, R, D), W (c, R, N)."""
        empty = np.empty((0, A.shape[0], 3 * A.shape[1] + 1))
        return cls(empty, 1, _directions(A), _directions(W), 0.0)

    def noted(self, problem: Problem, A: np.ndarray, W: np.ndarray, sweeps: int) -> "WarmUp":
        """With the state after so many sweeps, where that is one to record."""
        if sweeps % self.spacing:
            return self
        log_joint = problem.model.log_joint(problem, A.transpose(0, 2, 1), W)
        with np.errstate(divide="ignore"):
            totals = np.log(A.sum(axis=2) * W.sum(axis=2))
        angles = [
            np.degrees(np.arccos(np.clip(np.einsum("crd,crd->cr", _directions(F), start), -1, 1)))
            for F, start in ((A, self.A), (W, self.W))
        ]
        row = np.concatenate([*angles, totals, log_joint[:, None]], axis=1)
        return replace(self, record=np.concatenate([self.record, row[None]]))

    @property
    def full(self) -> bool:
        """Whether it is time for a check."""
        return len(self.record) == ROWS

    def checked(self) -> tuple["WarmUp", bool]:
        """With the autocorrelation time of the second half, halved; and whether that will do."""
        later = self.record[ROWS // 2 :]
        sizes = [_effective(later[:, :, q].T) for q in range(later.shape[2])]
        least = min(sizes)
        autocorrelation = self.spacing * len(later) / least
        thinned = replace(
            self,
            record=self.record[1::2].copy(),
            spacing=2 * self.spacing,
            autocorrelation=autocorrelation,
        )
        return thinned, least >= NEEDED


def thinning_of(warm_up: WarmUp, least: int, draws: int, longest: int) -> int:
    """Sweeps per kept draw: as measured, at least ``least``, at most what ``longest`` allows."""
    allowed = max(1, longest // max(draws, 1))
    return max(least, min(int(np.ceil(APART * warm_up.autocorrelation)), allowed))


def expected_sweeps(warm_up: WarmUp, sweeps: int, draws: int, longest: int) -> int:
    """Sweeps of a chain in all, as far as is known so far."""
    per_draw = warm_up.autocorrelation or TYPICAL
    before = min(max(2.0 * NEEDED * per_draw, sweeps + 1.0, float(ROWS)), max(longest, sweeps + 1))
    return int(before + min(APART * per_draw * draws, longest))


def _directions(F: np.ndarray) -> np.ndarray:
    """Rows (c, R, n) at unit length; rows of zeros stay."""
    length = np.sqrt(np.einsum("crn,crn->cr", F, F))
    return F / np.where(length > 0, length, 1.0)[:, :, None]


def _effective(values: np.ndarray) -> float:
    """Effective sample size of (c, T), harmonic mean over chains; T where nothing changes."""
    sizes = []
    for chain in values:
        spread = np.ptp(chain)
        still = not np.isfinite(spread) or spread <= 1e-12 * np.abs(chain).max()
        scaled = None if still else (chain - chain.mean())[None] / spread
        sizes.append(chain.size if still else float(arviz.array_stats.ess(scaled, method="bulk")))
    return float(len(sizes) / np.sum(1.0 / np.array(sizes)))
