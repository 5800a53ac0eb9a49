"""What travels to a cluster's workers, and how it is unpacked there.

Arrays that come out of a message begin at any byte. NumPy would copy such an X before every
product and add it up in another order, so all arrays are put on their proper boundary on arrival:
once for the plan, for the checkpoint at every step.
"""

import dataclasses
from collections.abc import Callable
from typing import TypeAlias, TypeVar

import numpy as np

from bnmf_core.nouns.problem import Problem
from bnmf_core.numerics.matrix import is_sparse, parts
from bnmf_core.runs.planning import Plan

Made = TypeVar("Made")


# What many steps share, and so travels once.
Shared: TypeAlias = Plan | Problem


class Parcel:
    """A plan or a problem that can be pickled without a copy of X, memory-mapped or not."""

    def __init__(self, shared: Shared) -> None:
        self.shared = shared

    def __getstate__(self) -> dict[str, Shared]:
        # A memory map would be read into the pickle; a plain view of it is sent as it lies.
        return {"shared": _of(self.shared, _plain)}

    def __setstate__(self, state: dict[str, Shared]) -> None:
        self.shared = _of(state["shared"], _aligned)


def make_step(function: Callable[..., Made], parcel: Parcel, *rest: object) -> Made:
    """``function(plan or problem, *rest)``, on a worker."""
    return function(parcel.shared, *(_with_arrays(value, _own) for value in rest))


def _plain(array: np.ndarray) -> np.ndarray:
    return np.asarray(array) if isinstance(array, np.memmap) else array


def _aligned(array: np.ndarray) -> np.ndarray:
    array = np.require(array, requirements=["ALIGNED"])
    array.flags.writeable = False
    return array


def _own(array: np.ndarray) -> np.ndarray:
    return np.require(array, requirements=["ALIGNED", "WRITEABLE"])


def _of(shared: Shared, change: Callable[[np.ndarray], np.ndarray]) -> Shared:
    changed = _with_arrays(shared, change)
    assert isinstance(changed, Plan | Problem)
    return changed


def _with_arrays(value: object, change: Callable[[np.ndarray], np.ndarray]) -> object:
    """The value with ``change`` applied to the arrays of its dataclasses, all the way down."""
    if isinstance(value, np.ndarray):
        return change(value)
    if is_sparse(value):
        data, indices, indptr = (change(part) for part in parts(value))
        return type(value)((data, indices, indptr), shape=value.shape)
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    before = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    after = {name: _with_arrays(part, change) for name, part in before.items()}
    # What was computed on demand stays behind: it may hold views of the arrays before.
    if all(after[name] is before[name] for name in before) and len(vars(value)) == len(before):
        return value
    return dataclasses.replace(value, **after)
