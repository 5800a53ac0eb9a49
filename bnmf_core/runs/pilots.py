"""Pilot runs: short measurements that predict the duration of runs."""

import json
import threading
from collections.abc import Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError, RunError, StoreError
from bnmf_core.core.spec import RunSpec
from bnmf_core.jobs.job import Report, Stopped
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.engine import timed
from bnmf_core.runs.planning import Plan, make_plan
from bnmf_core.store import files
from bnmf_core.store.checkpoint import Checkpoint
from bnmf_core.store.run_store import RunStore

NAME = "pilots.json"
# CPU seconds of one pilot, and largest number of particles of an explorer in it.
LONGEST, FEW = 0.7, 4
# A pilot that exceeds its time by this factor is repeated.
COMPILED = 2.0
# Number of newest pilots that are stored.
MOST = 500


@dataclass(frozen=True)
class Pilot:
    """The prediction of a pilot.

    busy : CPU seconds of the run. part : finished part of the pilot, 1 if it ended.
    """

    busy: float
    part: float


def fly(dataset: Dataset, spec: RunSpec) -> Pilot:
    """Begin a run for a limited time and extrapolate its duration.

    Raises
    ------
    BNMFError
        When the spec does not fit, a step fails, or X is in blocks, where a step is a whole pass.
    """
    if dataset.whole is not None:
        raise RunError(f"{dataset.name!r} is read in blocks, of which there is no short try.")
    plan = make_plan(dataset, spec)
    if plan.algorithm.family == "explorer":  # its particles are alike
        plan = make_plan(dataset, replace(spec, particles=min(spec.particles, FEW)))
    shard = plan.shards[0]
    # The first step includes compilation and preparation for all shards.
    with one_blas_thread():
        timed(plan, shard, None)
    whole, part, spent = _flown(plan, shard)
    if spent > COMPILED * LONGEST:  # a later step may have been compiled, too
        whole, part = min((whole, part), _flown(plan, shard)[:2])
    return Pilot(whole * spec.particles / shard.size, part)


def _flown(plan: Plan, shard: Shard) -> tuple[float, float, float]:
    """Extrapolated seconds of the shard, its finished part, and the seconds spent."""
    checkpoint: Checkpoint | None = None
    first, spent, at_first, part = 0.0, 0.0, 0.0, 0.0
    while part < 1.0 and spent < LONGEST:
        (checkpoint, _), worked = timed(plan, shard, checkpoint)
        spent, part = spent + worked, checkpoint.fraction
        if not first:
            first, at_first = worked, part
    # The first step includes the initialization.
    later = (spent - first) / (part - at_first) if part > at_first else first / max(part, 0.01)
    return spent + later * (1.0 - part), part, spent


def key_of(dataset_id: str, spec: RunSpec) -> str:
    """The key of a pilot: everything that determines the duration of a run."""
    decides = replace(spec, seed=0).to_dict()
    return json.dumps([dataset_id, decides], sort_keys=True)


class Pilots:
    """Pilots of one store, made one after the other and stored.

    Parameters
    ----------
    store : of the data and of the measurements. scheduler, owner : of the jobs.
    """

    def __init__(self, store: RunStore, scheduler: Scheduler, owner: Hashable) -> None:
        self._store, self._scheduler, self._owner = store, scheduler, owner
        self._path = store.root / NAME
        self._lock = threading.Lock()
        self._known: dict[str, Pilot | None] = {
            key: Pilot(*values) for key, values in _read(self._path).items()
        }

    def known(self, dataset_id: str, spec: RunSpec) -> Pilot | None:
        """The measurement of such a run; None without one."""
        return self._known.get(key_of(dataset_id, spec))

    def ask(self, dataset_id: str, specs: Sequence[RunSpec]) -> bool:
        """Queue pilots of these specs only; return whether some are not measured yet.

        Data in blocks have no pilots.
        """
        if self._store.dataset(dataset_id).whole is not None:
            specs = ()
        with self._lock:  # ``_known`` mirrors the file
            missing = {
                key: spec for spec in specs if (key := key_of(dataset_id, spec)) not in self._known
            }
        for job in self._scheduler.active(self._owner, PilotJob.lane):
            if job.key not in missing:
                self._scheduler.forget(job.key, self._owner)
        for key, spec in missing.items():
            self._scheduler.submit(PilotJob(key, self, dataset_id, spec), self._owner)
        return bool(missing)

    def measure(self, dataset_id: str, spec: RunSpec) -> None:
        """Make a pilot and store its result."""
        found: Pilot | None = None
        # Errors will occur in the run, too, and are reported there.
        with suppress(BNMFError, MemoryError, ArithmeticError, ValueError, OSError):
            found = fly(self._store.dataset(dataset_id), spec)
        with self._lock:
            self._known[key_of(dataset_id, spec)] = found
            measured = {k: [p.busy, p.part] for k, p in self._known.items() if p is not None}
            with suppress(OSError):  # it is measured again later
                files.write_json(self._path, dict(list(measured.items())[-MOST:]))


@dataclass(frozen=True, eq=False)
class PilotJob:
    """A pilot as a job of the scheduler."""

    key: str
    pilots: Pilots
    dataset_id: str
    spec: RunSpec
    lane = "pilot"

    def make(self, report: Report, stopped: Stopped) -> None:
        """Make the pilot."""
        self.pilots.measure(self.dataset_id, self.spec)


def _read(path: Path) -> dict[str, list[float]]:
    try:
        return files.read_json(path) if path.exists() else {}
    except StoreError:  # what was measured can be measured again
        return {}
