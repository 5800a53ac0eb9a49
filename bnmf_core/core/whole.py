"""Interface of data with a sample of observations in memory and the others elsewhere."""

from typing import Any, Protocol

import numpy as np

from bnmf_core.numerics.matrix import Matrix


class AllObservations(Protocol):
    """All observations of a dataset, see :class:`bnmf_core.blocks.whole.Whole`."""

    @property
    def N(self) -> int:
        """Observations that are seen."""

    @property
    def count(self) -> int:
        """Number of blocks."""

    @property
    def starts(self) -> np.ndarray:
        """Where the seen observations of each block begin among all seen ones: (count + 1,)."""

    @property
    def sample(self) -> np.ndarray:
        """(S,) the places in the whole of the dataset's observations."""

    @property
    def key(self) -> str:
        """Hash of the data."""

    @property
    def path(self) -> str:
        """Path of the data; "" without a file."""

    @property
    def observations(self) -> str:
        """Whether these are the "rows" or the "columns" there."""

    @property
    def seed(self) -> int:
        """Random seed of the sample."""

    @property
    def can_be_stored(self) -> bool:
        """Whether it can be opened again, or is known to be elsewhere."""

    @property
    def blocks(self) -> Any:
        """How they are read."""

    def read(self, i: int) -> Matrix:
        """The seen observations of block i, X (D, n)."""

    def sampled(self, i: int) -> np.ndarray:
        """Where the sample's observations are among the seen ones of block i."""

    def without(self, train: np.ndarray, held: np.ndarray) -> "AllObservations":
        """The same, with ``held`` of the sample's observations hidden; ``train`` stay."""

    def described(self) -> dict[str, Any]:
        """Description from which to open them again, ready for JSON."""
