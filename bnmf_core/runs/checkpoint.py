"""What is needed to go on with a shard exactly where it stopped, without pickles."""

import dataclasses
import json
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Checkpoint:
    """A shard between two steps: its state, its generator's state, and what it has made."""

    state: Any
    generator: dict
    produced: int
    fraction: float


def restore_generator(state: dict) -> np.random.Generator:
    """A generator that continues from a stored state."""
    bits = np.random.PCG64()
    bits.state = state
    return np.random.Generator(bits)


def to_arrays(checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """Plain arrays for ``np.savez``: the state's fields, and a JSON string with the rest."""
    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}
    for field in dataclasses.fields(checkpoint.state):
        value = getattr(checkpoint.state, field.name)
        if isinstance(value, np.ndarray):
            arrays[f"state_{field.name}"] = value
        else:
            plain[field.name] = value
    meta = {
        "plain": plain,
        "generator": checkpoint.generator,
        "produced": checkpoint.produced,
        "fraction": checkpoint.fraction,
    }
    return arrays | {"meta": np.array(json.dumps(meta))}


def from_arrays(arrays: dict[str, np.ndarray], State: type) -> Checkpoint:
    """The inverse of :func:`to_arrays`."""
    meta = json.loads(str(arrays["meta"]))
    fields = {
        name.removeprefix("state_"): value
        for name, value in arrays.items()
        if name.startswith("state_")
    }
    return Checkpoint(
        state=State(**fields, **meta["plain"]),
        generator=meta["generator"],
        produced=meta["produced"],
        fraction=meta["fraction"],
    )
