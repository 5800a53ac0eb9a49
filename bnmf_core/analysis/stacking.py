"""Stacking weights of the modes that were weighed, from held-out entries."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.analysis import evidence
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.stacking import gain_of_mixture, hidden_predictions, stacking_weights
from bnmf_core.core.errors import BNMFError, Cancelled
from bnmf_core.store import files

# Maximum number of entries of X, which is made dense.
MOST_ENTRIES = 4_000_000
SEED = 31


@dataclass(frozen=True, eq=False)
class Stacking:
    """Rows of members, and their log densities of held-out entries (K, n), in nats.

    Both are empty where there are fewer than two modes, or the data are too large.
    """

    rows: np.ndarray
    log_density: np.ndarray

    def of_modes(self, labels: np.ndarray) -> np.ndarray | None:
        """Stacking weights of all modes; None where fewer than two were evaluated.

        Parameters
        ----------
        labels : (m,) the mode of every member. Of a mode with several rows the best is taken.
        """
        modes, first = self._evaluated(labels)
        if modes.size < 2:
            return None
        weights = np.zeros(int(labels.max()) + 1)
        weights[modes] = stacking_weights(self.log_density[first])
        return weights

    def gain(self, labels: np.ndarray, mode: int) -> tuple[float, float]:
        """Gain in nats of the mixture over one mode alone, and its standard error.

        NaN where the mode was not evaluated.
        """
        modes, first = self._evaluated(labels)
        if mode not in modes:
            return np.nan, np.nan
        density, alone = self.log_density[first], int(np.flatnonzero(modes == mode)[0])
        return gain_of_mixture(density, stacking_weights(density), alone)

    def _evaluated(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The evaluated modes, and a row of ``log_density`` for each."""
        return np.unique(labels[self.rows], return_index=True)


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the log densities of held-out entries under the weighed modes."""
    rows, data = list(evidence.STAGE.of(comparison).rows), comparison.seen_dataset
    log_density = np.zeros((0, 0))
    if len(rows) > 1 and data.D * data.N <= MOST_ENTRIES and not comparison.of_tiles:
        A, W = (factor.astype(np.float64) for factor in comparison.factors(rows))
        rng = np.random.default_rng(SEED)
        try:
            log_density = hidden_predictions(data, comparison.fit.loss, A, W, rng, report, stopped)
        except Cancelled:
            raise
        except BNMFError:  # a row of which nothing is left, for one
            rows = []
    rows = rows if log_density.size else []
    arrays = {"rows": np.array(rows, dtype=np.int64), "log_density": log_density}
    files.write_arrays(folder / "stacking.npz", arrays)


def read(comparison: Comparison, folder: Path) -> Stacking:
    """The stored numbers."""
    return Stacking(**files.read_arrays(folder / "stacking.npz"))


STAGE = Stage(
    key="stacking",
    label="Predicting held-out entries",
    needs=(evidence.STAGE,),
    version=1,
    compute=compute,
    read=read,
    weight=10.0,
)
