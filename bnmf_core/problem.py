"""The problem one run solves: what is shared by all its particles, made once."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from bnmf_core.dataset import Dataset
from bnmf_core.errors import RunError
from bnmf_core.linalg import Compression, balanced_svd, compress
from bnmf_core.types import Model

# Entries of X from which on products with a compressed X are worth the compression.
SMALLEST_COMPRESSED = 20_000


@dataclass(frozen=True, eq=False)
class Problem:
    """A dataset, a model with resolved settings and a rank.

    Attributes
    ----------
    dataset : the observations the run sees, X (D, N).
    model, model_settings : the probability model and its settings, nothing left open.
    rank : R.
    """

    dataset: Dataset
    model: Model
    model_settings: Any
    rank: int

    @classmethod
    def prepare(cls, dataset: Dataset, model: Model, model_settings: Any, rank: int) -> "Problem":
        """Check that the data and the rank fit, and take open model settings from the data.

        Raises
        ------
        RunError
            When the rank does not fit the matrix or entries are missing.
        """
        check_fit(dataset, np.arange(dataset.N), rank)
        return cls(dataset, model, model.resolve(dataset, rank, model_settings), rank)

    def times_rows(self, W: np.ndarray) -> np.ndarray:
        """X Wᵀ of every particle, transposed: W (m, R, N) → (m, R, D), one product with X."""
        return _times(self.dataset.X.T, W)

    def times_columns(self, A: np.ndarray) -> np.ndarray:
        """AᵀX of every particle, given Aᵀ: A (m, R, D) → (m, R, N), one product with X."""
        return _times(self.dataset.X, A)

    @property
    def compression_rank(self) -> int | None:
        """R + 10, or None where X is too small for compression to pay."""
        rank, D, N = self.rank + 10, self.dataset.D, self.dataset.N
        return None if 2 * rank > min(D, N) or D * N < SMALLEST_COMPRESSED else rank

    @cached_property
    def compression(self) -> Compression:
        """X ≈ U Vᵀ of the compression rank."""
        return compress(self.dataset.X, self.compression_rank)

    def svd(self, rank: int) -> tuple[np.ndarray, np.ndarray]:
        """Top singular factors, split evenly with fixed signs: (D, rank) and (rank, N)."""
        return balanced_svd(self.dataset.X, rank)


def _times(X: Any, F: np.ndarray) -> np.ndarray:
    # F (m, R, n) times X (n, k): a sparse product is faster with the sparse matrix first, and as
    # fast by columns as by rows, so that no second copy of it is kept.
    m, R, n = F.shape
    flat = F.reshape(m * R, n)
    product = np.ascontiguousarray((X.T @ flat.T).T) if sparse.issparse(X) else flat @ X
    return product.reshape(m, R, -1)


def check_fit(dataset: Dataset, seen: np.ndarray, rank: int) -> None:
    """Check that rank R and the observations that a run sees (indices) go together.

    Raises
    ------
    RunError
        When the rank does not fit the matrix or entries are missing.
    """
    largest = min(dataset.D, len(seen))
    if not 1 <= rank <= largest:
        raise RunError(
            f"Rank {rank} was asked for; the run would see {dataset.D} features and {len(seen)} "
            f"observations, so the rank must be between 1 and {largest}."
        )
    missing = 0 if dataset.mask is None else int((~dataset.mask[:, seen]).sum())
    if missing:
        raise RunError(
            f"{missing} entries of {dataset.name!r} are missing, and the algorithms need every "
            "entry; fill them or leave those observations out on the Data page."
        )
