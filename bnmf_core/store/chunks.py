"""Chunks of particles from the shards, and their assembly into Particles."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bnmf_core.core.errors import RunError
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunInfo, RunSpec
from bnmf_core.numerics.populations import combine

PER_PARTICLE = ("chain", "log_joint", "error", "seconds")


@dataclass(frozen=True)
class Chunk:
    """Particles ``first`` … of one shard: A (m, D, R), W (m, R, N) and (m,) arrays.

    ``trace`` maps names to (states,) arrays over the states that a sampler recorded, warm-up
    included; ``position`` is the number of states that the shard had recorded before. Where
    nothing but particles is recorded, it equals ``first``. ``log_weights`` (m,), ``log_evidence``,
    ``note`` and ``totals`` are those of the :class:`~bnmf_core.core.algorithm.Batch`.
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
    log_weights: np.ndarray | None = None
    log_evidence: float | None = None
    note: str = ""
    totals: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of particles."""
        return self.A.shape[0]


def assemble(
    chunks: Sequence[Chunk], starts: Sequence[int], spec: RunSpec, info: RunInfo
) -> Particles:
    """All chunks in order of shard and draw, as one collection.

    ``starts`` holds the number of each shard's first particle. Draws, and the sweeps of the
    trace, are counted per chain. Weights are equal where the algorithm gives none; evidence,
    acceptance and notes go into ``info``.

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
    diagnostics = _join([c.diagnostics for c, m in zip(chunks, sizes, strict=True) if m])
    trace = _join([chunk.trace for chunk in chunks if chunk.trace])
    if trace:
        trace["sweep"] = count_within(trace["chain"])
    # The probability of each particle, (M,), summing to 1.
    logs = np.concatenate(
        [np.zeros(c.chain.size) if c.log_weights is None else c.log_weights for c in chunks]
    )
    weights: np.ndarray = np.exp(logs - logs.max())
    joined |= {
        "ids": np.concatenate(number),
        "draw": count_within(joined["chain"]),
        "weights": weights / weights.sum(),
    }
    totals = _join([chunk.totals for chunk in chunks if chunk.totals])
    return Particles.from_arrays(joined, spec, diagnostics, trace, info | _info_of(chunks), totals)


def _info_of(chunks: Sequence[Chunk]) -> RunInfo:
    """Evidence, acceptance and notes of the whole run."""
    info: RunInfo = {}
    notes = [chunk.note for chunk in chunks if chunk.note]
    evidence = [chunk.log_evidence for chunk in chunks if chunk.log_evidence is not None]
    if evidence:
        combined = combine(np.array(evidence))
        notes += [combined.disagreement] * bool(combined.disagreement)
        info |= {
            "log_evidence": combined.log_evidence,
            "log_evidence_error": combined.error,
        }
    known = [chunk.diagnostics for chunk in chunks if "acceptance" in chunk.diagnostics]
    if known:
        info["acceptance"] = float(np.mean(np.concatenate([one["acceptance"] for one in known])))
    if notes:
        info["notes"] = list(dict.fromkeys(notes))
    return info


def _moved(chunks: list[Chunk], name: str, total: int) -> np.ndarray:
    """Concatenate A or W of all chunks, freeing each chunk's array to save memory."""
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
    """Number of equal values before each entry: (m,)."""
    order = np.argsort(chain, kind="stable")
    _, first, sizes = np.unique(chain[order], return_index=True, return_counts=True)
    count = np.empty(chain.size, dtype=np.int64)
    count[order] = np.arange(chain.size) - np.repeat(first, sizes)
    return count


def _join(parts: Sequence[dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
    names = parts[0] if parts else ()
    return {name: np.concatenate([part[name] for part in parts]) for name in names}
