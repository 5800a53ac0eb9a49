"""A run's folder: chunks and checkpoints while it runs, whole arrays once it has ended."""

from pathlib import Path

import numpy as np

from bnmf_core.nouns.algorithm import Shard
from bnmf_core.nouns.errors import StoreError
from bnmf_core.nouns.particles import ARRAYS, NAMED, Particles, with_prefix
from bnmf_core.nouns.spec import RunInfo, RunSpec
from bnmf_core.store import files
from bnmf_core.store.checkpoint import Checkpoint, from_arrays, to_arrays
from bnmf_core.store.chunks import PER_PARTICLE, Chunk, assemble

COMPLETE = "particles.json"
PLAN = "plan.json"
# Plain numbers of a chunk that its file's name does not tell.
NUMBERS = ("first", "states")
# What a chunk need not have; one from before there was such a thing has none.
OPTIONAL = ("log_weights", "log_evidence", "note")


class FolderSink:
    """Keeps a run's chunks and checkpoints in its folder.

    A chunk is written before the checkpoint that counts it, so a checkpoint never speaks of
    particles that are not there; a chunk that no checkpoint counts is made again, identically.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint(self, shard: Shard, State: type) -> Checkpoint | None:
        """The shard's last checkpoint, if any."""
        path = self.folder / f"checkpoint-{shard.index:05d}.npz"
        return from_arrays(files.read_arrays(path), State) if path.exists() else None

    def save(self, shard: Shard, checkpoint: Checkpoint, chunk: Chunk | None) -> None:
        """Write the chunk, then the checkpoint."""
        if chunk is not None:
            arrays = {"A": chunk.A, "W": chunk.W}
            arrays |= {name: np.asarray(getattr(chunk, name)) for name in NUMBERS}
            arrays |= {name: getattr(chunk, name) for name in PER_PARTICLE}
            for kind in NAMED:
                values = getattr(chunk, kind)
                arrays |= {f"{NAMED[kind]}{key}": value for key, value in values.items()}
            told = {name: getattr(chunk, name) for name in OPTIONAL}
            arrays |= {name: np.asarray(v) for name, v in told.items() if v is not None}
            name = f"chunk-{shard.index:05d}-{chunk.position:08d}.npz"
            files.write_arrays(self.folder / name, arrays)
        path = self.folder / f"checkpoint-{shard.index:05d}.npz"
        files.write_arrays(path, to_arrays(checkpoint))

    def chunks(self) -> list[Chunk]:
        """Every chunk on disk."""
        return [_read_chunk(path) for path in sorted(self.folder.glob("chunk-*.npz"))]

    def write_plan(self, info: RunInfo, starts: list[int]) -> None:
        """Keep the resolved settings and where each shard's particles begin."""
        files.write_json(self.folder / PLAN, {"info": info, "starts": starts})


def _read_chunk(path: Path) -> Chunk:
    _, shard, position = path.stem.split("-")
    arrays = files.read_arrays(path)
    size = arrays["A"].shape[0]
    return Chunk(
        shard=int(shard),
        position=int(position),
        # Chunks from before there was a trace do not say the first, the states and the chain.
        first=int(arrays["first"]) if "first" in arrays else int(position),
        states=int(arrays["states"]) if "states" in arrays else size,
        chain=arrays.get("chain", np.full(size, int(shard))),
        A=arrays["A"],
        W=arrays["W"],
        log_joint=arrays["log_joint"],
        error=arrays["error"],
        seconds=arrays["seconds"],
        diagnostics=with_prefix(arrays, NAMED["diagnostics"]),
        trace=with_prefix(arrays, NAMED["trace"]),
        totals=with_prefix(arrays, NAMED["totals"]),
        log_weights=arrays.get("log_weights"),
        log_evidence=float(arrays["log_evidence"]) if "log_evidence" in arrays else None,
        note=str(arrays.get("note", "")),
    )


def write_particles(folder: Path, particles: Particles, final: bool) -> None:
    """Write whole arrays; ``final`` drops the chunks and checkpoints they were made from."""
    for name in ARRAYS:
        files.write_array(
            folder / "particles" / f"{name}.npy", np.asarray(getattr(particles, name))
        )
    for kind, prefix in NAMED.items():
        for key, value in getattr(particles, kind).items():
            files.write_array(folder / "particles" / f"{prefix}{key}.npy", np.asarray(value))
    files.write_json(
        folder / COMPLETE,
        {
            "spec": particles.spec.to_dict(),
            "info": dict(particles.info),
            **{kind: list(getattr(particles, kind)) for kind in NAMED},
        },
    )
    if final:
        # Checkpoints first: none may ever speak of a chunk that is gone.
        for pattern in ("checkpoint-*.npz", "chunk-*.npz"):
            for path in folder.glob(pattern):
                path.unlink()


def read_particles(folder: Path) -> Particles:
    """Memory-map a finished run.

    Raises
    ------
    StoreError
        When a file is missing or torn.
    """
    meta = files.read_json(folder / COMPLETE)
    arrays = {name: files.read_array(folder / "particles" / f"{name}.npy") for name in ARRAYS}
    named = {
        kind: {
            key: files.read_array(folder / "particles" / f"{prefix}{key}.npy")
            for key in meta.get(kind, ())  # runs from before there was a trace have none
        }
        for kind, prefix in NAMED.items()
    }
    try:
        spec = RunSpec.from_dict(meta["spec"])
    except ValueError as error:
        raise StoreError(
            f"The run was made by another version of this program and cannot be read: {error}."
        ) from error
    return Particles.from_arrays(
        arrays, spec, named["diagnostics"], named["trace"], meta["info"], named["totals"]
    )


def read_partial(folder: Path, spec: RunSpec, status: str) -> Particles:
    """What an unfinished run has saved so far."""
    chunks = FolderSink(folder).chunks()
    if not any(chunk.size for chunk in chunks) or not (folder / PLAN).exists():
        raise StoreError("This run has not saved a factorization yet.")
    plan = files.read_json(folder / PLAN)
    return assemble(chunks, plan["starts"], spec, plan["info"] | {"stop_reason": status})
