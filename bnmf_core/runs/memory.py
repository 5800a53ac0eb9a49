"""Memory that a run needs and that is available; a run that cannot fit does not start."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.loss import Loss
from bnmf_core.core.settings import build, values_of
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import MODELS
from bnmf_core.numerics.linalg import BLOCK_ENTRIES
from bnmf_core.numerics.threads import worker_count
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.on_blocks import bytes_at_work, bytes_of_weights

MEMORY_INFO = Path("/proc/meminfo")
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
# Files of the limit and the use, and key of reclaimable use: cgroup version 2, then 1.
GROUP_FILES = (
    ("memory.max", "memory.current", "inactive_file"),
    ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
)


# Largest size of A and W of the factorizations in a block.
BLOCK_BYTES = 64_000_000
# Copies of a factorization during a step: states before and after, intermediate results, and
# products with X (measured: 7 to 10).
COPIES = 9


# Memory of a cluster worker with this program loaded (measured: 210 to 230 MB).
WORKER_ITSELF = 250_000_000


class Room(NamedTuple):
    """A worker of a cluster: its memory limit in bytes, None without one.

    threads : steps that it makes at one time. maps : whether it memory-maps X.
    """

    memory: int | None
    threads: int
    maps: bool


class Needed(NamedTuple):
    """Bytes. particles : of the finished particles. held : of data that are in memory already.

    added : peak use of the run in addition to ``held``.
    """

    particles: int
    held: int
    added: int


def memory_needed(dataset: Dataset, spec: RunSpec) -> Needed:
    """Memory that a run needs; a memory-mapped X needs only one block at a time."""
    seen = _seen(dataset, spec)
    particles = 8 * spec.particles * spec.rank * (dataset.D + seen)
    on_disk = isinstance(dataset.X, np.memmap)
    held = 0 if on_disk else 8 * dataset.stored_entries
    # Particles are held twice during assembly.
    added = (
        2 * particles + _seen_alone(dataset, spec, seen) + _at_work(dataset, spec, worker_count())
    )
    return Needed(particles, held + sum(_masks(dataset)), added + _made_of_data(dataset, seen))


def needed_here(dataset: Dataset, spec: RunSpec) -> int:
    """Bytes that a run takes on this machine when workers of a cluster make its steps."""
    needed, seen = memory_needed(dataset, spec), _seen(dataset, spec)
    return 2 * needed.particles + _seen_alone(dataset, spec, seen)


def needed_by(room: Room, dataset: Dataset, spec: RunSpec) -> int:
    """Bytes that a worker needs for a run, including itself, and X if it cannot map it."""
    seen = _seen(dataset, spec)
    data = sum(_masks(dataset)) * seen // dataset.N
    if not room.maps or spec.holdout:  # the file includes held-out observations
        data += 8 * dataset.stored_entries * seen // dataset.N
    work = _at_work(dataset, spec, room.threads) + _made_of_data(dataset, seen)
    return WORKER_ITSELF + data + work


def fits(room: Room, dataset: Dataset, spec: RunSpec) -> bool:
    """Whether a worker is large enough for a run."""
    return room.memory is None or needed_by(room, dataset, spec) <= room.memory


def _seen(dataset: Dataset, spec: RunSpec) -> int:
    return dataset.N - round(spec.holdout * dataset.N)


def _masks(dataset: Dataset) -> tuple[int, int]:
    """Bytes of the mask, and of held-out entries."""
    if not dataset.missing:
        return 0, 0
    return dataset.D * dataset.N, 0 if dataset.hidden is None else 8 * dataset.missing


def _seen_alone(dataset: Dataset, spec: RunSpec, seen: int) -> int:
    """Bytes of the copied training observations; 0 without held-out ones."""
    if not spec.holdout:
        return 0
    return (8 * dataset.stored_entries + sum(_masks(dataset))) * seen // dataset.N


def _made_of_data(dataset: Dataset, seen: int) -> int:
    """Bytes of arrays derived from X during steps."""
    # A copy by rows, or a block of the residual.
    sparse, dense = 8 * dataset.stored_entries, 8 * min(BLOCK_ENTRIES, dataset.D * dataset.N)
    made = sparse if dataset.is_sparse else dense
    # A numeric mask, a completed X and, during completion, its low-rank product.
    return made + (3 * 8 * dataset.D * seen if dataset.missing else 0)


def largest_block(dataset: Dataset, rank: int) -> int:
    """Largest number of factorizations that are solved together."""
    return max(1, BLOCK_BYTES // (8 * rank * (dataset.D + dataset.N)))


def _at_work(dataset: Dataset, spec: RunSpec, threads: int) -> int:
    """Bytes of the factorizations in progress at one time."""
    if spec.algorithm not in ALGORITHMS:  # reported elsewhere
        return 0
    chosen = _side_by_side(spec)
    if dataset.whole is not None:
        sampler = "chains" in chosen
        at_once = min(chosen["chains"], spec.particles) if sampler else spec.particles
        return bytes_at_work(dataset, spec.rank, _loss(spec), at_once, sampler, threads)
    blocks = min(chosen.get("block", 1), largest_block(dataset, spec.rank)) * threads
    at_once = min(chosen.get("chains", blocks), spec.particles)
    return COPIES * 8 * at_once * spec.rank * (dataset.D + _seen(dataset, spec))


def _side_by_side(spec: RunSpec) -> dict[str, int]:
    """Settings for the number of factorizations solved together, or of chains."""
    usual = values_of(ALGORITHMS[spec.algorithm].Settings())
    return {
        name: int(spec.settings.get(name, usual[name]) or 1)
        for name in ("block", "chains")
        if name in usual
    }


def disk_needed(dataset: Dataset, spec: RunSpec) -> int:
    """Bytes of a run on the disk: particles and temporary weights."""
    chains = min(_side_by_side(spec).get("chains", 0), spec.particles)
    return memory_needed(dataset, spec).particles + bytes_of_weights(dataset, spec.rank, chains)


def _loss(spec: RunSpec) -> Loss:
    model = MODELS[spec.model]
    chosen: object = build(model.Settings, spec.model_settings, model.label)
    return model.loss(chosen)


def check_memory(dataset: Dataset, spec: RunSpec, rooms: Sequence[Room] = ()) -> None:
    """Refuse a run that will not fit into the memory that is free now.

    rooms : workers of a cluster that make the steps. Then this machine must hold only the
    particles, and at least one worker must be large enough for the work.

    Raises
    ------
    RunError
        The message has both sizes and advice.
    """
    lower = f"lower the number of factorizations ({spec.particles:,}) or the rank ({spec.rank})"
    available = available_memory()
    local = needed_here(dataset, spec) if rooms else memory_needed(dataset, spec).added
    if available is not None and local > available:
        raise RunError(
            f"This run needs about {sized(local)} of memory and {sized(available)} are available; "
            f"{lower}."
        )
    if rooms and not any(fits(room, dataset, spec) for room in rooms):
        needs = [(needed_by(room, dataset, spec), room.memory or 0) for room in rooms]
        needed, limit = max(needs, key=lambda one: one[1] - one[0])
        raise RunError(
            f"This run needs about {sized(needed)} of memory on a worker of the cluster and the "
            f"largest may take {sized(limit)}; start larger workers, or {lower}."
        )


def available_memory() -> int | None:
    """Available bytes of the system, or of the container if less; None if unknown."""
    known = [_of_system(), *(_of_group(folder) for folder in _group_folders())]
    return min((value for value in known if value is not None), default=None)


def _of_system() -> int | None:
    try:
        for line in MEMORY_INFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    try:  # not Linux: use the total memory
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def _group_folders() -> list[Path]:
    """Visible memory cgroups of this process, up to the outermost."""
    try:
        lines = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return []
    folders: list[Path] = []
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds and "memory" not in kinds.split(","):
            continue
        root = CONTROL_GROUPS / "memory" if kinds else CONTROL_GROUPS
        inner = root / path.lstrip("/")
        folders += [inner, *(up for up in inner.parents if up == root or root in up.parents)]
    return folders


def _of_group(folder: Path) -> int | None:
    for limit, used, given_back in GROUP_FILES:
        try:
            most = int((folder / limit).read_text())  # "max" where there is no limit
            now = int((folder / used).read_text())
            table = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        except (OSError, ValueError):
            continue
        return max(most - now + int(table.get(given_back, 0)), 0)
    return None


def sized(count: int) -> str:
    """Bytes in words."""
    return f"{count / 1e9:,.1f} GB" if count >= 1e9 else f"{count / 1e6:,.1f} MB"
