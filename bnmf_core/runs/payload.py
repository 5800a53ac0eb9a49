"""What travels to a cluster's workers, and how it is unpacked there.

Arrays that come out of a message begin at any byte. NumPy would copy such an X before every
product and add it up in another order, so all arrays are put on their proper boundary on arrival:
once for the plan, for the checkpoint at every step, and for what a step brings back.

An X of the store is not sent to a worker that reaches its file: the worker maps it.
"""

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from bnmf_core.compare.distances.pairwise import Sides
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import StoreError
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import is_sparse, parts
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import Plan
from bnmf_core.store.mapped import Mapped

Made = TypeVar("Made")


# What many steps share, and so travels once.
Shared: TypeAlias = Plan | Problem | Dataset | Sides


class Unreachable(Exception):
    """The worker does not reach the file of X that it was to map."""


class Payload:
    """What steps share, pickled without a copy of X, memory-mapped or not.

    where : the file of X, if whoever unpacks this is to map it instead of receiving it.
    """

    def __init__(self, shared: Shared, where: Mapped | None = None) -> None:
        self._shared: Shared | None = shared
        self._where = where

    @property
    def shared(self) -> Shared:
        """What is in it.

        Raises
        ------
        Unreachable
            Where the file of X is not reached.
        """
        if self._shared is None:
            raise Unreachable
        return self._shared

    def __getstate__(self) -> dict[str, object]:
        shared = self.shared
        if self._where is not None:
            shared = _with_X(shared, np.empty((0, 0)))
        # A memory map would be read into the pickle; a plain view of it is sent as it lies.
        return {"shared": _with_arrays(shared, _plain), "where": self._where}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._where, self._shared = state["where"], None
        shared = _with_arrays(state["shared"], _aligned)
        if self._where is not None:
            try:
                shared = _with_X(shared, self._where.open())
            except StoreError:  # told by the first step, as nobody hears of it here
                return
        self._shared = shared


def reaches(where: Mapped) -> bool:
    """Whether this process can map this file, and it is the one that is meant."""
    try:
        where.open()
    except StoreError:
        return False
    return True


def where_X_lies(shared: Shared) -> Mapped | None:
    """The file of the X of these, if it is one of a store."""
    dataset = _dataset_of(shared)
    return None if dataset is None else Mapped.of(dataset.X)


def make_step(function: Callable[..., Made], payload: Payload, *rest: object) -> Made:
    """``function(what is shared, *rest)``, on a worker."""
    with one_blas_thread():
        return function(payload.shared, *(own(value) for value in rest))


def own(value: Any) -> Any:
    """What came out of a message, its arrays on their boundaries and open to changes."""
    return _with_arrays(value, lambda F: np.require(F, requirements=["ALIGNED", "WRITEABLE"]))


def _aligned(array: np.ndarray) -> np.ndarray:
    array = np.require(array, requirements=["ALIGNED"])
    array.flags.writeable = False
    return array


def _plain(array: np.ndarray) -> np.ndarray:
    return np.asarray(array) if isinstance(array, np.memmap) else array


def _dataset_of(shared: Shared) -> Dataset | None:
    problem = shared.problem if isinstance(shared, Plan) else shared
    dataset = problem.dataset if isinstance(problem, Problem) else problem
    return dataset if isinstance(dataset, Dataset) else None


def _with_X(shared: Shared, X: np.ndarray) -> Shared:
    """The same of another X."""
    dataset = _dataset_of(shared)
    assert dataset is not None
    dataset = replace(dataset, X=X)
    if isinstance(shared, Plan):
        return replace(shared, problem=replace(shared.problem, dataset=dataset))
    return replace(shared, dataset=dataset) if isinstance(shared, Problem) else dataset


def _with_arrays(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """The value with ``change`` applied to the arrays in it, all the way down."""
    if isinstance(value, np.ndarray):
        return change(value)
    if is_sparse(value):
        data, indices, indptr = (change(part) for part in parts(value))
        return type(value)((data, indices, indptr), shape=value.shape)
    if type(value) in (list, tuple):
        made = [_with_arrays(part, change) for part in value]
        same = all(one is other for one, other in zip(made, value, strict=True))
        return value if same else type(value)(made)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    before = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    after = {name: _with_arrays(part, change) for name, part in before.items()}
    # What was computed on demand stays behind: it may hold views of the arrays before.
    if all(after[name] is before[name] for name in before) and len(vars(value)) == len(before):
        return value
    return replace(value, **after)
