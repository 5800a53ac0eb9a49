"""What is needed to go on with a shard exactly where it stopped, without pickles."""

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


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
    generator: dict
    produced: int
    fraction: float
    recorded: int = 0
    draws: Mapping[str, int] = field(default_factory=dict)
    failure: Failure | None = None


def restore_generator(state: dict) -> np.random.Generator:
    """A generator that continues from a stored state."""
    bits = np.random.PCG64()
    bits.state = state
    return np.random.Generator(bits)


def to_arrays(checkpoint: Checkpoint) -> dict[str, np.ndarray]:
    """Plain arrays for ``np.savez``: the state's fields, and a JSON string with the rest."""
    arrays: dict[str, np.ndarray] = {}
    plain: dict[str, Any] = {}
    for part in dataclasses.fields(checkpoint.state):
        value = getattr(checkpoint.state, part.name)
        if isinstance(value, np.ndarray):
            arrays[f"state_{part.name}"] = value
        else:
            plain[part.name] = value
    meta = {
        "plain": plain,
        "generator": checkpoint.generator,
        "produced": checkpoint.produced,
        "fraction": checkpoint.fraction,
        "recorded": checkpoint.recorded,
        "draws": dict(checkpoint.draws),
        "failure": None if checkpoint.failure is None else asdict(checkpoint.failure),
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
        # Checkpoints from before there was a trace know particles only.
        recorded=meta.get("recorded", meta["produced"]),
        draws=meta.get("draws", {}),
        failure=Failure(**meta["failure"]) if meta.get("failure") else None,
    )
