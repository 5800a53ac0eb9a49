"""All observations of a dataset with a sample in memory."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.blocks.source import BLOCK_BYTES, Blocks, Source
from bnmf_core.blocks.stores import open_source
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, DataError
from bnmf_core.core.problem import Problem
from bnmf_core.core.whole import AllObservations
from bnmf_core.numerics.matrix import Matrix

# Default and least number of observations in memory.
SAMPLE, FEWEST = 5_000, 2


@dataclass(frozen=True, eq=False)
class Whole:
    """X (D, N) in blocks; the X of a dataset is a sample of it.

    Attributes
    ----------
    blocks : the blocks of X.
    sample : (S,) ascending indices of the dataset's observations.
    key : identifies the data, see :attr:`Blocks.hash`.
    path, observations : of the store and the axis of observations; "" without a file.
    held : (H,) ascending indices of held-out observations.
    seed : of the sample.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from bnmf_core import Dataset
    >>> with tempfile.NamedTemporaryFile(suffix=".npy") as file:
    ...     np.save(file.name, np.ones((300, 4)))
    ...     data = Dataset.from_blocks(file.name, sample=50)
    ...     data.whole.N, data.N, data.D
    (300, 50, 4)
    """

    blocks: Blocks
    sample: np.ndarray
    key: str
    path: str = ""
    observations: str = "rows"
    held: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    seed: int = 0

    @property
    def N(self) -> int:
        """Number of training observations."""
        return self.blocks.N - self.held.size

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.blocks.count

    @cached_property
    def starts(self) -> np.ndarray:
        """Index of the first training observation of each block among all of them: (count + 1,)."""
        bounds = np.array(self.blocks.bounds)
        return bounds - np.searchsorted(self.held, bounds)

    def read(self, i: int) -> Matrix:
        """The training observations of block i, X (D, n).

        Raises
        ------
        DataError
            When the block cannot be read or has invalid values.
        """
        X = self.blocks.read(i)
        held = self._within(self.held, i)
        return X if not held.size else X[:, np.setdiff1d(np.arange(X.shape[1]), held)]

    def sampled(self, i: int) -> np.ndarray:
        """Indices of the sample among the training observations of block i."""
        places = self._within(self.sample, i)
        return places - np.searchsorted(self._within(self.held, i), places)

    def without(self, train: np.ndarray, held: np.ndarray) -> "Whole":
        """Hold out the observations ``held`` of the sample; ``train`` stay."""
        return replace(self, sample=self.sample[train], held=np.sort(self.sample[held]))

    @property
    def can_be_stored(self) -> bool:
        """Whether it has a path, or is a lost store."""
        return bool(self.path) or isinstance(self.blocks.source, Lost)

    def described(self) -> dict[str, Any]:
        """Plain values for :func:`reopened`, without the sample."""
        source = self.blocks.source
        shape = {name: getattr(source, name) for name in SHAPE}
        return {
            "path": self.path,
            "observations": self.observations,
            "key": self.key,
            "bounds": list(self.blocks.bounds),
            "opened": self.blocks.opened,
            "seed": self.seed,
            "source": shape,
        }

    def _within(self, places: np.ndarray, i: int) -> np.ndarray:
        """The ascending indices inside block i, relative to its start."""
        first, end = self.blocks.bounds[i], self.blocks.bounds[i + 1]
        low, high = np.searchsorted(places, [first, end])
        return places[low:high] - first


@dataclass(frozen=True)
class Lost(Source):
    """A store that is missing."""

    path: str = ""

    @property
    def file(self) -> str:
        """The name of its file, or its label."""
        return Path(self.path).name or self.label

    def read(self, first: int, stop: int) -> Matrix:
        """Raise an OSError."""
        raise FileNotFoundError(self.label)

    def stamp(self) -> str:
        """Raise an OSError."""
        raise FileNotFoundError(self.label)


SHAPE = ("label", "D", "N", "sparse", "stored_entries", "width")


def reopened(fields: Mapping[str, Any], sample: np.ndarray) -> Whole:
    """The inverse of :meth:`Whole.described`; a missing store raises when it is read.

    Without a path nothing is opened.
    """
    source: Source = Lost(**fields["source"], path=fields["path"])
    if fields["path"]:
        with suppress(BNMFError):
            source = open_source(fields["path"], fields["observations"])
    blocks = Blocks(source, tuple(fields["bounds"]), fields["opened"])
    return Whole(
        blocks,
        sample,
        fields["key"],
        fields["path"],
        fields["observations"],
        seed=fields["seed"],
    )


def in_blocks(
    source: Source | str | Path,
    *,
    observations: str = "rows",
    sample: int = SAMPLE,
    seed: int = 0,
    labels: Mapping[str, Sequence[object]] | None = None,
    block_bytes: int = BLOCK_BYTES,
    **described: Any,
) -> Dataset:
    """See :meth:`bnmf_core.core.dataset.Dataset.from_blocks`."""
    path = ""
    if not isinstance(source, Source):
        path = str(Path(source).absolute())
        source = open_source(path, observations)
    blocks = Blocks.of(source, block_bytes)
    if min(sample, blocks.N) < FEWEST:
        raise DataError(
            f"A sample of {sample:,} of {blocks.N:,} observations was asked for; at least {FEWEST} "
            "have to be in memory."
        )
    places, X = blocks.sample(min(sample, blocks.N), np.random.default_rng(seed))
    arguments: dict[str, Any] = {"name": source.label, "features": source.features} | described
    data = Dataset.from_array(
        X,
        observations=blocks.names(places) or [f"observation {n + 1}" for n in places],
        labels={key: np.asarray(of)[places] for key, of in (labels or {}).items()},
        **arguments,
    )
    whole = Whole(blocks, places, blocks.hash, path, observations, seed=seed)
    return replace(data, whole=whole)


def block_problem(problem: Problem, i: int, X: Matrix) -> Problem:
    """The problem of block i alone, X (D, n), under the same settings.

    Raises
    ------
    DataError
        When the block does not suit the model.
    """
    data = problem.dataset
    part = Dataset(X=X, name=f"block {i + 1}", features=data.features, observations=())
    # The floor of counts depends on the mean of all observations.
    vars(part)["total"] = data.mean * part.observed
    if problem.model is not None and (against := problem.model.unfit(part)):
        raise DataError(against)
    return Problem(part, problem.model, problem.model_settings, problem.rank, None, problem.of_loss)


def whole_of(problem: Problem) -> AllObservations:
    """All observations of the problem's data."""
    whole = problem.dataset.whole
    assert whole is not None
    return whole
