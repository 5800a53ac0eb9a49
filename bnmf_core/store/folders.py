"""A run's folder: chunks and checkpoints while it runs, whole arrays once it has ended.

Damage is detected by the checksums of NPZ files, by those stored with whole arrays, and by the
positions of chunks.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import DamagedError, StoreError
from bnmf_core.core.names import listed
from bnmf_core.core.particles import ARRAYS, NAMED, Particles, with_prefix
from bnmf_core.core.spec import RunInfo, RunSpec
from bnmf_core.store import files, integrity, quota
from bnmf_core.store.checkpoint import Checkpoint, from_arrays, to_arrays
from bnmf_core.store.chunks import PER_PARTICLE, Chunk, assemble

COMPLETE = "particles.json"
PLAN = "plan.json"
# Key of the path of a file, which detects a file in the wrong place.
OF = "of"
# Numbers of a chunk that its file name does not contain.
NUMBERS = ("first", "states")
# Optional fields of a chunk.
OPTIONAL = ("log_weights", "log_evidence", "note")
# Arrays in which damage affects single particles, not all.
LARGE = ("A", "W")
# Largest number of damaged factorizations that a message lists.
MOST_NUMBERS = 8
AGAIN = "The program that repeats the run (`bnmf code`) makes it again."


class FolderSink:
    """Keeps a run's chunks and checkpoints in its folder.

    A chunk is written before the checkpoint that counts it, so a checkpoint never counts missing
    particles; a chunk that no checkpoint counts is computed again, identically.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint(self, shard: Shard, State: type) -> Checkpoint | None:
        """The shard's last checkpoint; None if it is missing or its chunks are damaged.

        The shard then starts again and gives identical results.
        """
        path = self.folder / f"checkpoint-{shard.index:05d}.npz"
        try:
            arrays = _read_own(path) if path.exists() else None
        except StoreError:
            return None
        if arrays is None:
            return None
        found = from_arrays(arrays, State)
        paths = sorted(self.folder.glob(f"chunk-{shard.index:05d}-*.npz"))
        chunks, _ = _sound(paths)
        return found if sum(chunk.states for chunk in chunks) >= found.recorded else None

    def save(self, shard: Shard, checkpoint: Checkpoint, chunk: Chunk | None) -> None:
        """Write the chunk, then the checkpoint."""
        if chunk is not None:
            arrays = {"A": chunk.A, "W": chunk.W}
            arrays |= {name: np.asarray(getattr(chunk, name)) for name in NUMBERS}
            arrays |= {name: getattr(chunk, name) for name in PER_PARTICLE}
            for kind in NAMED:
                values = getattr(chunk, kind)
                arrays |= {f"{NAMED[kind]}{key}": value for key, value in values.items()}
            optional = {name: getattr(chunk, name) for name in OPTIONAL}
            arrays |= {name: np.asarray(v) for name, v in optional.items() if v is not None}
            name = f"chunk-{shard.index:05d}-{chunk.position:08d}.npz"
            _write_own(self.folder / name, arrays)
        path = self.folder / f"checkpoint-{shard.index:05d}.npz"
        _write_own(path, to_arrays(checkpoint))

    def chunks(self) -> list[Chunk]:
        """The chunks of each shard up to the first that is damaged or missing."""
        return self.read()[0]

    def read(self) -> tuple[list[Chunk], bool]:
        """:meth:`chunks`, and whether any chunk is damaged or missing."""
        paths = sorted(self.folder.glob("chunk-*.npz"))
        by_shard = groupby(paths, key=lambda path: path.stem.split("-")[1])
        of_shards = [_sound(list(of_one)) for _, of_one in by_shard]
        return [chunk for chunks, _ in of_shards for chunk in chunks], any(
            broken for _, broken in of_shards
        )

    def starts(self) -> list[int]:
        """Number of the first particle of each shard; empty before the run has begun."""
        try:
            return list(map(int, _read_plan(self.folder)["starts"]))
        except (StoreError, KeyError, TypeError, ValueError):
            return []

    def write_plan(self, info: RunInfo, starts: list[int]) -> None:
        """Write the resolved settings and the number of each shard's first particle."""
        plan = {"info": info, "starts": starts, OF: self.folder.name}
        files.write_json(self.folder / PLAN, plan)


def _read_plan(folder: Path) -> dict[str, Any]:
    plan: dict[str, Any] = files.read_json(folder / PLAN)
    if plan.get(OF, folder.name) != folder.name:
        raise DamagedError(f"The stored file {PLAN} is that of another run.")
    return plan


def _write_own(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    files.write_arrays(path, {**arrays, OF: np.array(_own_name(path))})


def _read_own(path: Path) -> dict[str, np.ndarray]:
    """Read a file of :func:`_write_own`; refuse one that belongs elsewhere."""
    arrays = files.read_arrays(path)
    if str(arrays.pop(OF, _own_name(path))) != _own_name(path):
        raise DamagedError(f"The stored file {path.name} is another one than was written.")
    return arrays


def _own_name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _sound(paths: list[Path]) -> tuple[list[Chunk], bool]:
    """A shard's chunks up to the first damaged or missing one, and whether there is one."""
    chunks: list[Chunk] = []
    end = 0
    for path in paths:
        try:
            chunk = _read_chunk(path)
        except (StoreError, KeyError, ValueError, IndexError):
            return chunks, True
        if chunk.position > end:
            return chunks, True
        if chunk.position == end:
            chunks.append(chunk)
            end += chunk.states
    return chunks, False


def _read_chunk(path: Path) -> Chunk:
    _, shard, position = path.stem.split("-")
    arrays = _read_own(path)
    return Chunk(
        shard=int(shard),
        position=int(position),
        first=int(arrays["first"]),
        states=int(arrays["states"]),
        **{name: arrays[name] for name in ("A", "W", *PER_PARTICLE)},
        diagnostics=with_prefix(arrays, NAMED["diagnostics"]),
        trace=with_prefix(arrays, NAMED["trace"]),
        totals=with_prefix(arrays, NAMED["totals"]),
        log_weights=arrays.get("log_weights"),
        log_evidence=float(arrays["log_evidence"]) if "log_evidence" in arrays else None,
        note=str(arrays.get("note", "")),
    )


def write_particles(folder: Path, particles: Particles, final: bool) -> None:
    """Write whole arrays; ``final`` drops the chunks and checkpoints they were made from.

    Raises
    ------
    StoreError
        When imported particles exceed the quota.
    """
    arrays = particles.arrays
    if not any(folder.glob("chunk-*.npz")):
        quota.check(folder.parents[1], sum(array.nbytes for array in arrays.values()))
    for name, array in arrays.items():
        files.write_array(folder / "particles" / f"{name}.npy", array)
    meta = {
        "spec": particles.spec.to_dict(),
        "info": dict(particles.info),
        **{kind: list(getattr(particles, kind)) for kind in NAMED},
        "sums": {
            name: [integrity.checksum(one) for one in array]
            if name in LARGE
            else integrity.checksum(array)
            for name, array in arrays.items()
        },
        "dtypes": {name: array.dtype.str for name, array in arrays.items()},
    }
    files.write_json(folder / COMPLETE, meta)
    if final:
        # Checkpoints first: none may count a chunk that is gone.
        for pattern in ("checkpoint-*.npz", "chunk-*.npz", "weights-*.bin"):
            for path in folder.glob(pattern):
                path.unlink()


def read_particles(folder: Path) -> Particles:
    """Memory-map a finished run; damaged factorizations are left out and counted in ``info``.

    Raises
    ------
    DamagedError
        When a file is missing or truncated, or the damage affects all factorizations.
    StoreError
        When another version wrote it.
    """
    try:
        meta = files.read_json(folder / COMPLETE)
        arrays = {name: files.read_array(folder / "particles" / f"{name}.npy") for name in ARRAYS}
        named = {
            kind: {
                key: files.read_array(folder / "particles" / f"{prefix}{key}.npy")
                for key in meta[kind]
            }
            for kind, prefix in NAMED.items()
        }
        spec, info = RunSpec.from_dict(meta["spec"]), meta["info"]
    except StoreError as error:
        raise DamagedError(f"{str(error).rstrip('.')}. {AGAIN}") from error
    except KeyError as error:
        raise DamagedError(
            f"The stored file {COMPLETE} is damaged: {error} is missing. {AGAIN}"
        ) from error
    except (TypeError, ValueError) as error:
        raise StoreError(
            f"The run was made by another version of this program and cannot be read: {error}."
        ) from error
    found = Particles.from_arrays(
        arrays, spec, named["diagnostics"], named["trace"], info, named["totals"]
    )
    return _verified(found, meta)


def _verified(particles: Particles, meta: dict[str, Any]) -> Particles:
    """Leave out the factorizations with a damaged A or W."""
    sums, dtypes = meta.get("sums", {}), meta.get("dtypes", {})
    torn = [
        name
        for name, array in particles.arrays.items()
        if array.dtype.str != dtypes.get(name) or not _agrees(name, array, sums.get(name))
    ]
    if torn:
        raise DamagedError(
            f"The stored {listed(f'{name}.npy' for name in torn)} of this run "
            f"{'is' if len(torn) == 1 else 'are'} damaged: not what was written. {AGAIN}"
        )
    whole = np.ones(particles.M, dtype=bool)
    for name in LARGE:
        now = [integrity.checksum(one) for one in getattr(particles, name)]
        whole &= np.array(now) == np.array(sums[name])
    if whole.all():
        return particles
    if not whole.any():
        raise DamagedError(f"All factorizations of this run are damaged on the disk. {AGAIN}")
    damage = _left_out(particles.ids[~whole], particles.M)
    return replace(particles.subset(whole), info={**particles.info, "damage": damage})


def _agrees(name: str, array: np.ndarray, recorded: Any) -> bool:
    """Whether the checksum of an array agrees; of A and W, whether the number of matrices does."""
    if name in LARGE:
        return isinstance(recorded, list) and len(array) == len(recorded)
    return bool(integrity.checksum(array) == recorded)


def _left_out(numbers: np.ndarray, M: int) -> str:
    several = numbers.size > 1
    which = f" (numbers {listed(numbers)})" if several else f" (number {numbers[0]})"
    return (
        f"{numbers.size} of {M:,} factorizations {'are' if several else 'is'} damaged on the disk "
        f"and left out{which if numbers.size <= MOST_NUMBERS else ''}"
    )


def read_partial(folder: Path, spec: RunSpec, status: str, made: int = 0) -> Particles:
    """The saved particles of an unfinished run; ``info`` states which are lost.

    ``made`` : number of factorizations that the run has reported.
    """
    chunks, broken = FolderSink(folder).read()
    if not any(chunk.size for chunk in chunks) or not (folder / PLAN).exists():
        if broken:
            raise DamagedError(
                "What this run had saved is damaged on the disk; resume it to make it again."
            )
        raise StoreError("This run has not saved a factorization yet.")
    plan = _read_plan(folder)
    found = assemble(chunks, plan["starts"], spec, plan["info"] | {"stop_reason": status})
    lost = max(made - found.M, int(broken))
    if not lost:
        return found
    damage = (
        f"{lost if made > found.M else 'some'} of {max(made, found.M):,} factorizations are "
        "damaged or missing on the disk; resuming the run makes them again"
    )
    return replace(found, info={**found.info, "damage": damage})
