"""Checkpoints from which a shard continues exactly, without pickles.

A state is a frozen dataclass of arrays, plain numbers, strings, None, tuples of these, and further
such dataclasses. Arrays are stored by their path ("state.nodes.Q"), the rest as JSON of the same
shape; the type annotations of the dataclasses determine how it is read.
"""

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from types import UnionType
from typing import TypedDict, Union, get_args, get_origin, get_type_hints

import numpy as np

from bnmf_core.core.errors import StoreError
from bnmf_core.core.plain import Plain, Value

ANOTHER_VERSION = (
    "This run was begun by another version of the program and cannot be continued; what it has "
    "made is kept."
)


@dataclass(frozen=True)
class Failure:
    """Why a shard stopped: the number of recorded states, and a sentence."""

    step: int
    reason: str


@dataclass(frozen=True)
class Checkpoint:
    """A shard between two steps: its state, its generator's state, and its progress.

    Attributes
    ----------
    produced : particles so far. recorded : states so far, warm-up included.
    draws : particles of each of its chains, by the chain's number as text (as JSON wants it).
    failure : set where the shard has failed; it is not tried again.
    """

    state: object
    generator: Mapping[str, Plain]
    produced: int
    fraction: float
    recorded: int = 0
    draws: Mapping[str, int] = field(default_factory=dict)
    failure: Failure | None = None


class Packed(TypedDict, total=False):
    """A part of a state as JSON, with one entry for its kind.

    array : name of its array. fields : of a dataclass. items : of a tuple. value : a plain value.
    """

    array: str
    fields: dict[str, "Packed"]
    items: list["Packed"]
    value: Value


class _AnotherVersion(Exception):
    """The stored value is not a state of this version."""


def restore_generator(state: Mapping[str, Plain]) -> np.random.Generator:
    """A generator that continues from a stored state."""
    bits: np.random.BitGenerator = np.random.PCG64()
    bits.state = state
    return np.random.Generator(bits)


def to_arrays(checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """Plain arrays for ``np.savez``: those of the state, and a JSON string with the rest."""
    arrays: dict[str, np.ndarray] = {}
    meta = {
        "state": _packed(checkpoint.state, "state", arrays),
        "generator": checkpoint.generator,
        "produced": checkpoint.produced,
        "fraction": checkpoint.fraction,
        "recorded": checkpoint.recorded,
        "draws": dict(checkpoint.draws),
        "failure": None if checkpoint.failure is None else asdict(checkpoint.failure),
    }
    return arrays | {"meta": np.array(json.dumps(meta))}


def from_arrays(arrays: Mapping[str, np.ndarray], State: type) -> Checkpoint:
    """The inverse of :func:`to_arrays`.

    A state of another version gives a failed checkpoint: the shard does not continue, and its
    particles remain.

    Raises
    ------
    StoreError
        When the arrays are no checkpoint at all.
    """
    try:
        meta = json.loads(str(arrays["meta"]))
        stored = meta.pop("state")
        failure = meta.pop("failure")
        known = Checkpoint(None, failure=Failure(**failure) if failure else None, **meta)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"A checkpoint holds something else than a state: {error}.") from None
    try:
        state = _unpacked(stored, State, arrays)
    except _AnotherVersion:
        set_aside = known.failure or Failure(known.recorded, ANOTHER_VERSION)
        return dataclasses.replace(known, fraction=1.0, failure=set_aside)
    return dataclasses.replace(known, state=state)


def _packed(value: object, place: str, arrays: dict[str, np.ndarray]) -> Packed:
    """Convert a part of a state to JSON and add its arrays to ``arrays``."""
    if isinstance(value, np.ndarray):
        arrays[place] = value
        return {"array": place}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [part.name for part in dataclasses.fields(value)]
        return {
            "fields": {
                name: _packed(getattr(value, name), f"{place}.{name}", arrays) for name in names
            }
        }
    if isinstance(value, tuple):
        parts = enumerate(value)
        return {"items": [_packed(part, f"{place}.{i}", arrays) for i, part in parts]}
    plain = value.item() if isinstance(value, np.generic) else value
    assert plain is None or isinstance(plain, bool | int | float | str)
    return {"value": plain}


def _unpacked(stored: Packed, kind: object, arrays: Mapping[str, np.ndarray]) -> object:
    """The inverse of :func:`_packed`, for a part whose declared type is ``kind``."""
    union = get_origin(kind) in (Union, UnionType)
    kinds = [
        option for option in (get_args(kind) if union else (kind,)) if option is not type(None)
    ]
    classes = [
        option for option in kinds if isinstance(option, type) and dataclasses.is_dataclass(option)
    ]
    if "array" in stored:
        if classes or stored["array"] not in arrays:
            raise _AnotherVersion
        return arrays[stored["array"]]
    if "fields" in stored:
        for option in classes:
            if {part.name for part in dataclasses.fields(option)} == stored["fields"].keys():
                hints = get_type_hints(option)
                parts = stored["fields"].items()
                return option(**{n: _unpacked(part, hints[n], arrays) for n, part in parts})
        raise _AnotherVersion
    if "items" in stored:
        return tuple(_of_tuple(stored["items"], kinds, arrays))
    # A state that has gained a level since would be read as a plain value otherwise.
    if "value" not in stored or (classes and not (union and stored["value"] is None)):
        raise _AnotherVersion
    return stored["value"]


def _of_tuple(
    stored: Sequence[Packed], kinds: Sequence[object], arrays: Mapping[str, np.ndarray]
) -> list[object]:
    declared = next((get_args(option) for option in kinds if get_origin(option) is tuple), None)
    if declared is None:
        raise _AnotherVersion
    if declared[1:] == (Ellipsis,):
        declared = declared[:1] * len(stored)
    if len(declared) != len(stored):
        raise _AnotherVersion
    return [_unpacked(part, kind, arrays) for part, kind in zip(stored, declared, strict=True)]
