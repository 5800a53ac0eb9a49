"""All observations of a dataset that holds a sample of them in memory."""

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

# Observations in memory, unless another number is asked for.
SAMPLE, FEWEST = 5_000, 2


def _nothing() -> np.ndarray:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Whole:
    """X (D, N) in blocks, of which a dataset's own X is a sample.

    Attributes
    ----------
    blocks : the blocks of X.
    sample : (S,) the places in the whole of the dataset's observations, ascending.
    key : tells these data from others, see :attr:`Blocks.hash`.
    path, observations : where it was opened, and how; "" where it lies in no file, or came from
        elsewhere without it.
    held : (H,) places of observations that a run does not see, ascending.
    seed : by which the sample was drawn.

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
    held: np.ndarray = field(default_factory=_nothing)
    seed: int = 0

    @property
    def N(self) -> int:
        """Observations that are seen."""
        return self.blocks.N - self.held.size

    @property
    def count(self) -> int:
        """Number of blocks."""
        return self.blocks.count

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the seen observations of each block begin among all seen ones: (count + 1,)."""
        bounds = np.array(self.blocks.bounds)
        return bounds - np.searchsorted(self.held, bounds)

    def read(self, i: int) -> Matrix:
        """The seen observations of block i, X (D, n).

        Raises
        ------
        DataError
            Naming the block, where it cannot be read or holds what no X may.
        """
        X = self.blocks.read(i)
        held = self._within(self.held, i)
        return X if not held.size else X[:, np.setdiff1d(np.arange(X.shape[1]), held)]

    def sampled(self, i: int) -> np.ndarray:
        """Where the sample's observations are among the seen ones of block i."""
        places = self._within(self.sample, i)
        return places - np.searchsorted(self._within(self.held, i), places)

    def without(self, train: np.ndarray, held: np.ndarray) -> "Whole":
        """The same, with ``held`` of the sample's observations hidden; ``train`` stay."""
        return replace(self, sample=self.sample[train], held=np.sort(self.sample[held]))

    @property
    def can_be_stored(self) -> bool:
        """Whether it can be opened again, or is known to be elsewhere."""
        return bool(self.path) or isinstance(self.blocks.source, Lost)

    def described(self) -> dict[str, Any]:
        """What :func:`reopened` needs beside the sample, ready for JSON."""
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
        """Those of ascending places that lie in block i, counted from its beginning."""
        first, end = self.blocks.bounds[i], self.blocks.bounds[i + 1]
        low, high = np.searchsorted(places, [first, end])
        return places[low:high] - first


@dataclass(frozen=True)
class Lost(Source):
    """A store that is not where it was."""

    path: str = ""

    @property
    def file(self) -> str:
        """The name of its file, or its label."""
        return Path(self.path).name or self.label

    def read(self, first: int, stop: int) -> Matrix:
        """Nothing: an OSError."""
        raise FileNotFoundError(self.label)

    def stamp(self) -> str:
        """None: an OSError."""
        raise FileNotFoundError(self.label)


SHAPE = ("label", "D", "N", "sparse", "stored_entries", "width")


def reopened(told: Mapping[str, Any], sample: np.ndarray) -> Whole:
    """What :meth:`Whole.described` tells of; a store that is gone says so when it is read.

    Without a path nothing is opened.
    """
    source: Source = Lost(**told["source"], path=told["path"])
    if told["path"]:
        with suppress(BNMFError):
            source = open_source(told["path"], told["observations"])
    blocks = Blocks(source, tuple(told["bounds"]), told["opened"])
    return Whole(blocks, sample, told["key"], told["path"], told["observations"], seed=told["seed"])


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
    given: dict[str, Any] = {"name": source.label, "features": source.features} | described
    data = Dataset.from_array(
        X,
        observations=blocks.names(places) or [f"observation {n + 1}" for n in places],
        labels={key: np.asarray(of)[places] for key, of in (labels or {}).items()},
        **given,
    )
    whole = Whole(blocks, places, blocks.hash, path, observations, seed=seed)
    return replace(data, whole=whole)


def block_problem(problem: Problem, i: int, X: Matrix) -> Problem:
    """The problem of block i alone, X (D, n), under the same settings.

    Raises
    ------
    DataError
        Naming the block, where it is none of such data as the model is of.
    """
    data = problem.dataset
    part = Dataset(X=X, name=f"block {i + 1}", features=data.features, observations=())
    # The floor of counts is a part of the mean of all observations.
    vars(part)["total"] = data.mean * part.observed
    if problem.model is not None and (against := problem.model.unfit(part)):
        raise DataError(against)
    return Problem(part, problem.model, problem.model_settings, problem.rank, None, problem.of_loss)


def whole_of(problem: Problem) -> AllObservations:
    """The whole that the problem's data are a sample of."""
    whole = problem.dataset.whole
    assert whole is not None
    return whole
