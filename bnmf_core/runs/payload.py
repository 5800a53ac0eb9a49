"""Data sent to cluster workers, and their unpacking.

Arrays in a message may be unaligned. NumPy would copy such an X before every product and add it up
in another order, so all arrays are aligned on arrival: of the plan, of the checkpoint at every
step, and of the result of a step.

A worker that can read the file of a stored X memory-maps it instead of receiving it.
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


# Objects that many steps share and that are sent once.
Shared: TypeAlias = Plan | Problem | Dataset | Sides


class Unreachable(Exception):
    """The worker cannot map the file of X."""


class Payload:
    """Shared data of steps, pickled without a copy of X.

    where : the file of X, if the receiver is to map it.
    """

    def __init__(self, shared: Shared, where: Mapped | None = None) -> None:
        self._shared: Shared | None = shared
        self._where = where

    @property
    def shared(self) -> Shared:
        """The shared object.

        Raises
        ------
        Unreachable
            When the file of X cannot be mapped.
        """
        if self._shared is None:
            raise Unreachable
        return self._shared

    def __getstate__(self) -> dict[str, object]:
        shared = self.shared
        if self._where is not None:
            shared = _with_X(shared, np.empty((0, 0)))
        # A memory map would be copied into the pickle; a plain view is not.
        return {"shared": _with_arrays(shared, _plain), "where": self._where}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._where, self._shared = state["where"], None
        shared = _with_arrays(state["shared"], _aligned)
        if self._where is not None:
            try:
                shared = _with_X(shared, self._where.open())
            except StoreError:  # raised by the first step instead
                return
        self._shared = shared


def reaches(where: Mapped) -> bool:
    """Whether this process can map this file and it is the expected one."""
    try:
        where.open()
    except StoreError:
        return False
    return True


def where_X_lies(shared: Shared) -> Mapped | None:
    """The file of X, if it is in a store."""
    dataset = _dataset_of(shared)
    return None if dataset is None else Mapped.of(dataset.X)


def make_step(function: Callable[..., Made], payload: Payload, *rest: object) -> Made:
    """``function(shared, *rest)`` on a worker."""
    with one_blas_thread():
        return function(payload.shared, *(own(value) for value in rest))


def own(value: Any) -> Any:
    """Make the arrays of a received object aligned and writeable."""
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
    """Replace X."""
    dataset = _dataset_of(shared)
    assert dataset is not None
    dataset = replace(dataset, X=X)
    if isinstance(shared, Plan):
        return replace(shared, problem=replace(shared.problem, dataset=dataset))
    return replace(shared, dataset=dataset) if isinstance(shared, Problem) else dataset


def _with_arrays(value: Any, change: Callable[[np.ndarray], np.ndarray]) -> Any:
    """Apply ``change`` to all nested arrays."""
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
    # Drop cached properties, which may hold views of the old arrays.
    if all(after[name] is before[name] for name in before) and len(vars(value)) == len(before):
        return value
    return replace(value, **after)
