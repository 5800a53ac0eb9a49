"""Distances between the members of a comparison, under every distance there is."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.store import files


@dataclass(frozen=True)
class Distances:
    """The stored distances."""

    folder: Path

    def matrix(self, metric: str) -> np.ndarray:
        """(m, m) distances between the members, in the metric's unit, memory-mapped."""
        return files.read_array(self.folder / f"{metric}.npy")


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store a matrix for every distance; what an interrupted one has stored is kept."""
    A, W = comparison.factors(np.arange(len(comparison.members)))
    metrics = comparison.metrics
    for i, (key, distance) in enumerate(metrics.items()):
        path = folder / f"{key}.npy"

        def of_distance(part: float, i: int = i) -> None:
            report((i + part) / len(metrics))

        if not path.exists():
            files.write_array(path, pairwise(A, W, distance, of_distance, stopped))


def read(comparison: Comparison, folder: Path) -> Distances:
    """The stored distances."""
    return Distances(folder)


STAGE = Stage(
    key="distances",
    label="Measuring distances between factorizations",
    needs=(),
    version=1,
    compute=compute,
    read=read,
    by_distance=True,
    weight=3.0,
)
