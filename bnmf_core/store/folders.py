"""A run's folder: chunks and checkpoints while it runs, whole arrays once it has ended.

What is damaged on the disk is told from what is whole: by the checksums that NPZ files have, by
those that are kept with whole arrays, and by where chunks begin and end.
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
# Where a file belongs, by which one is told from another that a disk has put in its place.
OF = "of"
# Plain numbers of a chunk that its file's name does not tell.
NUMBERS = ("first", "states")
# What a chunk need not have.
OPTIONAL = ("log_weights", "log_evidence", "note")
# The arrays in which damage concerns the particles that it hits, and not all of them.
LARGE = ("A", "W")
# Numbers of damaged factorizations that are said one by one, at most.
MOST_NUMBERS = 8
AGAIN = "The program that repeats the run (`bnmf code`) makes it again."


class FolderSink:
    """Keeps a run's chunks and checkpoints in its folder.

    A chunk is written before the checkpoint that counts it, so a checkpoint never speaks of
    particles that are not there; a chunk that no checkpoint counts is made again, identically.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def checkpoint(self, shard: Shard, State: type) -> Checkpoint | None:
        """The shard's last checkpoint; None where there is none, or what it counts is damaged.

        The shard is then made again from its start, and becomes what it was.
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
            told = {name: getattr(chunk, name) for name in OPTIONAL}
            arrays |= {name: np.asarray(v) for name, v in told.items() if v is not None}
            name = f"chunk-{shard.index:05d}-{chunk.position:08d}.npz"
            _write_own(self.folder / name, arrays)
        path = self.folder / f"checkpoint-{shard.index:05d}.npz"
        _write_own(path, to_arrays(checkpoint))

    def chunks(self) -> list[Chunk]:
        """The chunks on disk: of each shard those up to the first that is damaged or missing."""
        return self.read()[0]

    def read(self) -> tuple[list[Chunk], bool]:
        """:meth:`chunks`, and whether there are some behind one that is damaged or missing."""
        paths = sorted(self.folder.glob("chunk-*.npz"))
        of_shards = [_sound(list(of_one)) for _, of_one in groupby(paths, key=_shard_of)]
        return [chunk for chunks, _ in of_shards for chunk in chunks], any(
            broken for _, broken in of_shards
        )

    def starts(self) -> list[int]:
        """Where the particles of each shard of a run that has been begun start; else nothing."""
        try:
            return list(map(int, _read_plan(self.folder)["starts"]))
        except (StoreError, KeyError, TypeError, ValueError):
            return []

    def write_plan(self, info: RunInfo, starts: list[int]) -> None:
        """Keep the resolved settings and where each shard's particles begin."""
        told = {"info": info, "starts": starts, OF: self.folder.name}
        files.write_json(self.folder / PLAN, told)


def _read_plan(folder: Path) -> dict[str, Any]:
    plan: dict[str, Any] = files.read_json(folder / PLAN)
    if plan.get(OF, folder.name) != folder.name:
        raise DamagedError(f"The stored file {PLAN} is that of another run.")
    return plan


def _write_own(path: Path, arrays: Mapping[str, np.ndarray]) -> None:
    files.write_arrays(path, {**arrays, OF: np.array(_own_name(path))})


def _read_own(path: Path) -> dict[str, np.ndarray]:
    """What :func:`_write_own` wrote, and nothing that has come into its place."""
    arrays = files.read_arrays(path)
    if str(arrays.pop(OF, _own_name(path))) != _own_name(path):
        raise DamagedError(f"The stored file {path.name} is another one than was written.")
    return arrays


def _own_name(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _shard_of(path: Path) -> str:
    return path.stem.split("-")[1]


def _sound(paths: list[Path]) -> tuple[list[Chunk], bool]:
    """A shard's chunks up to the first that is damaged or missing, and whether there is one."""
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
        When they come from elsewhere, and are more than may be kept.
    """
    arrays = particles.arrays
    if not any(folder.glob("chunk-*.npz")):
        quota.check(folder.parents[1], sum(array.nbytes for array in arrays.values()))
    for name, array in arrays.items():
        files.write_array(folder / "particles" / f"{name}.npy", array)
    told = {
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
    files.write_json(folder / COMPLETE, told)
    if final:
        # Checkpoints first: none may ever speak of a chunk that is gone.
        for pattern in ("checkpoint-*.npz", "chunk-*.npz", "weights-*.bin"):
            for path in folder.glob(pattern):
                path.unlink()


def read_particles(folder: Path) -> Particles:
    """Memory-map a finished run; factorizations that are damaged are left out, and it says so.

    Raises
    ------
    DamagedError
        When a file is missing or torn, or what is damaged concerns all of it.
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
    """Without the factorizations whose A or W is not what was written."""
    sums, dtypes = meta.get("sums", {}), meta.get("dtypes", {})
    torn = [
        name
        for name, array in particles.arrays.items()
        if array.dtype.str != dtypes.get(name) or not _may_be(name, array, sums.get(name))
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
    told = _left_out(particles.ids[~whole], particles.M)
    return replace(particles.subset(whole), info={**particles.info, "damage": told})


def _may_be(name: str, array: np.ndarray, kept: Any) -> bool:
    """Whether an array is what was written; of A and W, whether it has as many matrices."""
    if name in LARGE:
        return isinstance(kept, list) and len(array) == len(kept)
    return bool(integrity.checksum(array) == kept)


def _left_out(numbers: np.ndarray, M: int) -> str:
    several = numbers.size > 1
    which = f" (numbers {listed(numbers)})" if several else f" (number {numbers[0]})"
    return (
        f"{numbers.size} of {M:,} factorizations {'are' if several else 'is'} damaged on the disk "
        f"and left out{which if numbers.size <= MOST_NUMBERS else ''}"
    )


def read_partial(folder: Path, spec: RunSpec, status: str, made: int = 0) -> Particles:
    """What an unfinished run has saved so far; it says where some of that is lost.

    ``made`` : how many factorizations it has reported.
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
    told = (
        f"{lost if made > found.M else 'some'} of {max(made, found.M):,} factorizations are "
        "damaged or missing on the disk; resuming the run makes them again"
    )
    return replace(found, info={**found.info, "damage": told})
