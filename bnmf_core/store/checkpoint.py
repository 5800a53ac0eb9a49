"""What is needed to go on with a shard exactly where it stopped, without pickles.

A state is a frozen dataclass of arrays, plain numbers, words, None, tuples of these, and further
such dataclasses. Its arrays are stored by their place ("state.nodes.Q"), the rest as JSON of the
same shape; what it is read into is told by the dataclasses' own types.
"""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np

from bnmf_core.nouns.errors import StoreError

ANOTHER_VERSION = (
    "This run was begun by another version of the program and cannot be continued; what it has "
    "made is kept."
)
# Where versions before nested states kept the arrays of a state.
FLAT = "state_"


@dataclass(frozen=True)
class Failure:
    """Why a shard does not go on: after how many recorded states, and the sentence that says it."""

    step: int
    reason: str


@dataclass(frozen=True)
class Checkpoint:
    """A shard between two steps: its state, its generator's state, and what it has made.

    Attributes
    ----------
    produced : particles so far. recorded : states so far, warm-up included.
    draws : particles of each of its chains, by the chain's number as text (as JSON wants it).
    failure : set where the shard has failed; it is not tried again.
    """

    state: Any
    generator: dict[str, Any]
    produced: int
    fraction: float
    recorded: int = 0
    draws: Mapping[str, int] = field(default_factory=dict)
    failure: Failure | None = None


class _AnotherVersion(Exception):
    """What is stored is not a state of this version."""


def restore_generator(state: dict[str, Any]) -> np.random.Generator:
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

    A state of a version before nested ones is brought over by ``State.from_flat(fields)`` where
    there is one, or read as it is. What is no state of this version makes a checkpoint that has
    failed: the shard is not gone on with, and what it has made stays.

    Raises
    ------
    StoreError
        When the arrays are no checkpoint at all.
    """
    try:
        meta = json.loads(str(arrays["meta"]))
        produced, draws = meta["produced"], meta.get("draws", {})
        # Checkpoints from before there was a trace know particles only.
        recorded = meta.get("recorded", produced)
        failure = Failure(**meta["failure"]) if meta.get("failure") else None
        known = Checkpoint(
            None, meta["generator"], produced, meta["fraction"], recorded, draws, failure
        )
    except (KeyError, TypeError, ValueError) as error:
        raise StoreError(f"A checkpoint holds something else than a state: {error}.") from None
    try:
        if "state" in meta:
            state = _unpacked(meta["state"], State, arrays)
        else:
            state = _from_flat(arrays, meta.get("plain", {}), State)
    except _AnotherVersion:
        set_aside = failure or Failure(recorded, ANOTHER_VERSION)
        return dataclasses.replace(known, fraction=1.0, failure=set_aside)
    return dataclasses.replace(known, state=state)


def _packed(value: Any, place: str, arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """What a part of a state is, as JSON; its arrays are put among ``arrays``."""
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
    return {"value": value.item() if isinstance(value, np.generic) else value}


def _unpacked(stored: Mapping[str, Any], kind: Any, arrays: Mapping[str, np.ndarray]) -> Any:
    """The inverse of :func:`_packed`, for a part whose declared type is ``kind``."""
    union = get_origin(kind) in (Union, UnionType)
    kinds = [
        option for option in (get_args(kind) if union else (kind,)) if option is not type(None)
    ]
    classes: list[Any] = [option for option in kinds if dataclasses.is_dataclass(option)]
    if "array" in stored:
        if classes or stored["array"] not in arrays:
            raise _AnotherVersion
        return arrays[stored["array"]]
    if "fields" in stored:
        for option in classes:
            if set(stored["fields"]) == {part.name for part in dataclasses.fields(option)}:
                hints = get_type_hints(option)
                parts = stored["fields"].items()
                return option(
                    **{name: _unpacked(part, hints[name], arrays) for name, part in parts}
                )
        raise _AnotherVersion
    if "items" in stored:
        return tuple(_of_tuple(stored["items"], kinds, arrays))
    # A state that has gained a level since would be read as a plain value otherwise.
    if "value" not in stored or (classes and not (union and stored["value"] is None)):
        raise _AnotherVersion
    return stored["value"]


def _of_tuple(stored: list[Any], kinds: list[Any], arrays: Mapping[str, np.ndarray]) -> list[Any]:
    declared = next((get_args(option) for option in kinds if get_origin(option) is tuple), None)
    if declared is None:
        raise _AnotherVersion
    if declared[1:] == (Ellipsis,):
        declared = declared[:1] * len(stored)
    if len(declared) != len(stored):
        raise _AnotherVersion
    return [_unpacked(part, kind, arrays) for part, kind in zip(stored, declared, strict=True)]


def _from_flat(arrays: Mapping[str, np.ndarray], plain: Mapping[str, Any], State: type) -> Any:
    fields = {
        name.removeprefix(FLAT): value for name, value in arrays.items() if name.startswith(FLAT)
    } | dict(plain)
    try:
        return State.from_flat(fields) if hasattr(State, "from_flat") else State(**fields)
    except (KeyError, TypeError):
        raise _AnotherVersion from None
