"""Distances between the members of a comparison, under every distance there is."""

from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped, parts
from bnmf_core.compare.distances.pairwise import matched_alike, pairwise_of_several
from bnmf_core.core.errors import StoreError
from bnmf_core.store import files, integrity

# Suffix of the file with the checksum of a matrix.
SUM = ".sum.json"


@dataclass(frozen=True)
class Distances:
    """The stored distances."""

    folder: Path

    def matrix(self, metric: str) -> np.ndarray:
        """(m, m) distances between the members, in the metric's unit, memory-mapped."""
        return files.read_array(_path(self.folder, metric))


def compute(
    comparison: Comparison,
    folder: Path,
    report: Report,
    stopped: Stopped,
    executor: Executor | None = None,
) -> None:
    """Store a matrix for every distance; resumes an interrupted computation."""
    A, W = comparison.factors(np.arange(len(comparison.members)))
    for alike, of_group in parts(matched_alike(comparison.metrics), report):
        missing = {key: one for key, one in alike.items() if not _is_stored(folder, key)}
        if missing:
            chosen = list(missing.values())
            found = pairwise_of_several(A, W, chosen, of_group, stopped, executor)
            for key, matrix in zip(missing, found, strict=True):
                files.write_json(_path(folder, key).with_suffix(SUM), integrity.checksum(matrix))
                files.write_array(_path(folder, key), matrix)


def _is_stored(folder: Path, metric: str) -> bool:
    """Whether the matrix is stored and its checksum matches."""
    path = _path(folder, metric)
    try:
        return files.read_json(path.with_suffix(SUM)) == integrity.checksum(files.read_array(path))
    except StoreError:
        return False


def _path(folder: Path, metric: str) -> Path:
    return folder / f"{metric}.npy"


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
    spread=True,
    weight=3.0,
)
