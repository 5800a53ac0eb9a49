"""Sources of arrays in memory, which count what is read and fail on purpose."""

from dataclasses import dataclass, field, replace

import numpy as np

from bnmf_core.blocks.source import Blocks, Source
from bnmf_core.blocks.whole import Whole
from bnmf_core.core.dataset import Dataset
from bnmf_core.numerics.matrix import is_sparse

# By name, so that a pickled source finds its array again.
ARRAYS: dict[str, object] = {}


@dataclass(frozen=True)
class ArraySource(Source):
    """``ARRAYS[label]``, X (D, N)."""

    def read(self, first, stop):
        return ARRAYS[self.label][:, first:stop]

    def stamp(self):
        return self.label


def in_blocks(X, bounds, sample, name="array") -> Dataset:
    """A dataset over an array, cut at the bounds, with the observations ``sample`` in memory."""
    ARRAYS[name] = X
    stored = X.nnz if is_sparse(X) else X.size
    source = ArraySource(name, X.shape[0], X.shape[1], is_sparse(X), stored, 1)
    whole = Whole(Blocks(source, tuple(bounds), name), np.asarray(sample), name)
    held = Dataset.from_array(X[:, np.asarray(sample)], name=name)
    return replace(held, whole=whole)


@dataclass(frozen=True)
class Cut:
    """Stands in for a Whole of any numbers, negative ones among them: X (D, N) in two blocks."""

    X: np.ndarray
    at: int
    count: int = field(default=2)

    @property
    def N(self):
        return self.X.shape[1]

    def read(self, i):
        return self.X[:, self.at :] if i else self.X[:, : self.at]

    def sampled(self, i):
        return np.arange(self.read(i).shape[1])
