"""Chunks as they come from the shards, and their assembly into Particles."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bnmf_core.nouns.errors import RunError
from bnmf_core.nouns.particles import Particles
from bnmf_core.nouns.spec import RunInfo, RunSpec

PER_PARTICLE = ("chain", "log_joint", "error", "seconds")


@dataclass(frozen=True)
class Chunk:
    """Particles ``first`` … of one shard: A (m, D, R), W (m, R, N) and (m,) arrays.

    ``trace`` maps names to (states,) arrays over the states that a sampler recorded, warm-up
    included; ``position`` is the number of states that the shard had recorded before. Where
    nothing but particles is recorded, it equals ``first``.
    """

    shard: int
    position: int
    first: int
    A: np.ndarray
    W: np.ndarray
    chain: np.ndarray
    log_joint: np.ndarray
    error: np.ndarray
    seconds: np.ndarray
    states: int
    diagnostics: dict[str, np.ndarray] = field(default_factory=dict)
    trace: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of particles."""
        return self.A.shape[0]


def assemble(
    chunks: Sequence[Chunk], starts: Sequence[int], spec: RunSpec, info: RunInfo
) -> Particles:
    """All chunks in order of shard and draw, as one collection with equal weights.

    ``starts`` holds the number of each shard's first particle. Draws, and the sweeps of the
    trace, are counted per chain.

    Raises
    ------
    RunError
        When there is no particle.
    """
    chunks = sorted(chunks, key=lambda chunk: (chunk.shard, chunk.position))
    sizes = [chunk.size for chunk in chunks]
    if not sum(sizes):
        raise RunError("The run was stopped before it had made a factorization.")
    number = [starts[c.shard] + c.first + np.arange(m) for c, m in zip(chunks, sizes, strict=True)]
    joined = {name: np.concatenate([getattr(c, name) for c in chunks]) for name in PER_PARTICLE}
    joined |= {name: _moved(chunks, name, sum(sizes)) for name in ("A", "W")}
    diagnostics = _join([chunk.diagnostics for chunk in chunks])
    trace = _join([chunk.trace for chunk in chunks if chunk.trace])
    if trace:
        trace["sweep"] = count_within(trace["chain"])
    joined |= {
        "ids": np.concatenate(number),
        "draw": count_within(joined["chain"]),
        "weights": np.full(sum(sizes), 1 / sum(sizes)),
    }
    return Particles.from_arrays(joined, spec, diagnostics, trace, info)


def _moved(chunks: list[Chunk], name: str, total: int) -> np.ndarray:
    """One array of all chunks' A or W, which each chunk gives away: never all of it twice."""
    first = getattr(chunks[0], name)
    if len(chunks) == 1:
        return first
    result, done = np.empty((total, *first.shape[1:]), first.dtype), 0
    for i, chunk in enumerate(chunks):
        part = getattr(chunk, name)
        result[done : done + len(part)] = part
        done += len(part)
        chunks[i] = replace(chunk, **{name: part[:0]})
    return result


def count_within(chain: np.ndarray) -> np.ndarray:
    """How many equal numbers stand before each one: (m,)."""
    order = np.argsort(chain, kind="stable")
    _, first, sizes = np.unique(chain[order], return_index=True, return_counts=True)
    count = np.empty(chain.size, dtype=np.int64)
    count[order] = np.arange(chain.size) - np.repeat(first, sizes)
    return count


def _join(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}
