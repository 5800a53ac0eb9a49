"""Libraries of transforms: learned once and cached on disk, or given by the user.

The folder ``transforms`` of the user's data holds them. The name of a learned library is a hash of
its recipe and of the learning code, so one that other code made, or that is torn, is learned again.
The name of a given one is a hash of its content, which a run records: same spec, same bits.
"""

import hashlib
from contextlib import suppress
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import processes, transforms
from bnmf_core.explorers.transforms import SETS_IN_PAPER, Recipe, TransformLibrary, learn
from bnmf_core.store.home import data_home

_ENGINE = Path(__file__).resolve().parents[1]
_LEARNING = (
    Path(processes.__file__),
    Path(transforms.__file__),
    _ENGINE / "numerics" / "linalg.py",
    *sorted((_ENGINE / "solvers").glob("*.py")),
)


def transform_library(
    rank: int = 3,
    sets: int = SETS_IN_PAPER,
    *,
    process: str = "gaussian",
    size: int = 12,
    source_rank: int | None = None,
    noise: float = 0.1,
    restarts: int = 5,
    target: Dataset | None = None,
) -> TransformLibrary:
    """``sets`` · ``restarts`` pairs of transforms of one transfer rank.

    Parameters
    ----------
    rank, process, size, source_rank, noise, restarts : see :class:`Recipe`.
    target : the data, for processes that take their source matrices from there; such a library is
        learned at each call, others once.

    Raises
    ------
    BNMFError
        When something is out of range, or a target is missing.

    Examples
    --------
    >>> from bnmf_core import transform_library
    >>> transform_library(rank=2, sets=2, restarts=3).count
    6
    """
    recipe = Recipe(rank, process, size, source_rank, noise, restarts)
    if processes.process(process).needs_target:
        # Its gaps are filled as a run of this rank would fill them.
        completed = None if target is None else Problem.without_model(target, rank).completed
        return learn(recipe, sets, completed)
    return learned(recipe, sets)


@lru_cache(maxsize=64)
def learned(recipe: Recipe, sets: int) -> TransformLibrary:
    """The library of a process that needs no target: from disk, or learned and written there."""
    words = f"{asdict(recipe)} {sets} {_code()} {np.__version__}"
    name = hashlib.sha256(words.encode()).hexdigest()[:16]
    with suppress(StoreError, OSError):  # not there, or torn: made again
        found = TransformLibrary.load(folder() / "learned" / f"{name}.npz")
        if found.recipe == asdict(recipe) and found.count == sets * recipe.restarts:
            return found
    made = learn(recipe, sets)
    with suppress(OSError):  # a folder that cannot be written to costs time only
        made.save(folder() / "learned" / f"{name}.npz")
    return made


def keep(library: TransformLibrary) -> str:
    """Keep a library for runs, under the key that is returned."""
    library.save(_given(library.key))
    return library.key


@lru_cache(maxsize=16)
def given(key: str) -> TransformLibrary:
    """The library that :func:`keep` stored.

    Raises
    ------
    NotFoundError
        When there is none of that key. StoreError: when its file was altered.
    """
    path = _given(key)
    if not path.is_file():
        raise NotFoundError(
            f"There is no library of transforms {key!r} here; bring it in again on the Starts "
            "page or by “bnmf transforms --add FILE”, or leave the setting empty."
        )
    found = TransformLibrary.load(path)
    if found.key != key:
        raise StoreError(
            f"The library of transforms {key!r} was altered on disk; bring it in again."
        )
    return found


def folder() -> Path:
    """Where libraries lie."""
    return data_home() / "transforms"


def _given(key: str) -> Path:
    return folder() / "given" / f"{key}.npz"


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of the code that decides the bits of a library."""
    return hashlib.sha256(b"".join(path.read_bytes() for path in _LEARNING)).hexdigest()
