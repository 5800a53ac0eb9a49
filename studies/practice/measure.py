"""One cell of the study of common practice: a program on a data set, more than once."""

import time
import warnings
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from bnmf_core.compare.distances import DISTANCES, pairwise
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.dataset import Dataset
from bnmf_core.lazy import lazy
from bnmf_core.numerics.threads import one_blas_thread
from studies.atlas.sources import SOURCES
from studies.runner import Cell
from studies.words import declared, words

# Other programs have their own environments; the installed app has none.
peers = lazy("benchmarks.peers")

TABLES = words("practice", "plan")
# Reason for no result: data that a program cannot take.
UNSUITED = "unsuited"


@dataclass(frozen=True)
class PracticePlan:
    """What decides the numbers; see ``plan.toml``."""

    starts: int
    runs: int
    first_rank: int
    last_rank: int


@dataclass(frozen=True)
class Practice:
    """One program in its usual setting; see ``plan.toml``."""

    key: str
    label: str
    rule: str
    entries: int
    observations: int
    fields: tuple[str, ...] = ()
    replicates: int = 0
    peer: str = ""

    @property
    def decides(self) -> dict[str, Any]:
        """Everything that decides the numbers, without labels."""
        return {name: v for name, v in asdict(self).items() if name not in ("label", "rule")}

    def can_take(self, dataset: Dataset) -> bool:
        """Whether the data are complete, and not too large."""
        small = dataset.D * dataset.N <= self.entries and dataset.N <= self.observations
        return dataset.mask is None and small


PRACTICES: dict[str, Practice] = declared(Practice, TABLES["practices"])


def measured(key: str, practice: str, rank: int, plan: PracticePlan, data: Path | None) -> Cell:
    """Reports of a program on a data set, for several seeds.

    ``left_out`` : the reason for no result, or "".
    """
    dataset, chosen, began = SOURCES[key].load(data), PRACTICES[practice], time.perf_counter()
    if not chosen.can_take(dataset):
        return {"left_out": UNSUITED}
    try:
        found = _proposals(dataset, chosen, plan) if chosen.peer else _starts(dataset, rank, plan)
    except peers.Unavailable as error:
        return {"left_out": str(error)}
    return {"left_out": "", **found, "seconds": time.perf_counter() - began}


def _starts(dataset: Dataset, rank: int, plan: PracticePlan) -> Cell:
    X = dataset.X
    with one_blas_thread():
        usual = _fitted(X, NMF(rank))
        found = [
            _fitted(X, NMF(rank, init="random", random_state=seed)) for seed in range(plan.starts)
        ]
    errors = np.array([error for _, _, error, *_ in (*found, usual)])
    errors /= np.sqrt(dataset.squared_norm)
    best, apart = int(errors.argmin()), _apart([*found, usual])
    pairs = apart[:-1, :-1][np.triu_indices(len(found), 1)]
    others = np.delete(apart[best, :-1], [best] if best < len(found) else [])
    return {
        "rank": rank,
        "pairs": float(np.mean(pairs > SAME_MODE)),
        "elsewhere": float(np.mean(others > SAME_MODE)),
        "best_error": float(errors[best]),
        "median_error": float(np.median(errors[:-1])),
        "unconverged": int(sum(stopped for *_, stopped in found)),
        "default": float(apart[best, -1]),
        "default_error": float(errors[-1]),
        "default_iterations": usual[3],
    }


def _fitted(X: Any, nmf: NMF) -> tuple[np.ndarray, np.ndarray, float, int, bool]:
    """A (D, R), W (R, N), ‖X − AW‖, iterations, and whether it stopped before convergence."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        A = nmf.fit_transform(X)
    stopped = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return A, nmf.components_, float(nmf.reconstruction_err_), int(nmf.n_iter_), stopped


def _apart(found: list[Any]) -> np.ndarray:
    """The largest angle between matched components, in degrees, of every pair."""
    A, W = (np.stack([one[side] for one in found]) for side in (0, 1))
    return pairwise.pairwise(A, W, DISTANCES["max_angle"])


def _proposals(dataset: Dataset, practice: Practice, plan: PracticePlan) -> Cell:
    last = min(plan.last_rank, dataset.D - 1, dataset.N - 1)
    ranks = list(range(plan.first_rank, last + 1))
    arrays = {"X": dataset.dense(), "features": np.array(dataset.features, dtype=str)}
    with peers.opened(practice.peer, arrays) as peer:
        found = [
            peer.ask(ranks=ranks, replicates=practice.replicates, seed=seed)
            for seed in range(plan.runs)
        ]
        version = peer.ready["version"]
    return {
        "version": version,
        "ranks": [report["rank"] for report in found],
        "turned": _turned(found),
    }


def _turned(found: list[dict[str, Any]]) -> list[float | None]:
    """Largest angle between components of every pair; None if their numbers differ, or are 0."""
    bases = [np.array(report.get("A", ())) for report in found]
    return [
        float(_apart([(A, A.T), (B, B.T)])[0, 1]) if A.size and A.shape == B.shape else None
        for A, B in combinations(bases, 2)
    ]
