"""Chunks as they come from the shards, and their assembly into Particles."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bnmf_core.errors import RunError
from bnmf_core.particles import Particles
from bnmf_core.types import RunSpec

PER_PARTICLE = ("log_joint", "error", "seconds")


@dataclass(frozen=True)
class Chunk:
    """Particles ``first`` … of one shard: A (m, D, R), W (m, R, N) and (m,) arrays."""

    shard: int
    first: int
    A: np.ndarray
    W: np.ndarray
    log_joint: np.ndarray
    error: np.ndarray
    seconds: np.ndarray
    diagnostics: dict[str, np.ndarray] = field(default_factory=dict)


def assemble(
    chunks: Sequence[Chunk], starts: Sequence[int], spec: RunSpec, info: dict[str, Any]
) -> Particles:
    """All chunks in order of shard and draw, as one collection with equal weights.

    ``starts`` holds the number of each shard's first particle.

    Raises
    ------
    RunError
        When there is no chunk.
    """
    if not chunks:
        raise RunError("The run was stopped before it had made a factorization.")
    chunks = sorted(chunks, key=lambda chunk: (chunk.shard, chunk.first))
    sizes = [chunk.A.shape[0] for chunk in chunks]
    draw = np.concatenate([c.first + np.arange(m) for c, m in zip(chunks, sizes, strict=True)])
    chain = np.repeat([chunk.shard for chunk in chunks], sizes)
    joined = ("A", "W", *PER_PARTICLE)
    return Particles(
        **{name: np.concatenate([getattr(c, name) for c in chunks]) for name in joined},
        ids=np.asarray(starts)[chain] + draw,
        chain=chain,
        draw=draw,
        weights=np.full(sum(sizes), 1 / sum(sizes)),
        spec=spec,
        diagnostics={
            name: np.concatenate([c.diagnostics[name] for c in chunks])
            for name in chunks[0].diagnostics
        },
        info=info,
    )
