"""Short tries of runs, made before they start, so that what is promised has been measured."""

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
# Seconds that a processor works on one pilot, and particles of an explorer that are tried.
LONGEST, FEW = 0.7, 4
# A pilot that took so many times as long as it should have is flown again.
COMPILED = 2.0
# Pilots that are remembered, the newest ones.
MOST = 500


@dataclass(frozen=True)
class Pilot:
    """What a pilot says of its run.

    busy : seconds that processors will work on it. part : of the pilot that was over by then, 1
    where it came to its end.
    """

    busy: float
    part: float


def fly(dataset: Dataset, spec: RunSpec) -> Pilot:
    """Begin a run, at most so long, and say from its progress what all of it would take.

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
    # What is compiled, or prepared once for all shards, is no part of the time of a step.
    with one_blas_thread():
        timed(plan, shard, None)
    whole, part, spent = _flown(plan, shard)
    if spent > COMPILED * LONGEST:  # a later step may have been compiled, too
        whole, part = min((whole, part), _flown(plan, shard)[:2])
    return Pilot(whole * spec.particles / shard.size, part)


def _flown(plan: Plan, shard: Shard) -> tuple[float, float, float]:
    """Seconds for all of the shard, the part of it that was made, and the seconds that took."""
    checkpoint: Checkpoint | None = None
    first, spent, at_first, part = 0.0, 0.0, 0.0, 0.0
    while part < 1.0 and spent < LONGEST:
        (checkpoint, _), worked = timed(plan, shard, checkpoint)
        spent, part = spent + worked, checkpoint.fraction
        if not first:
            first, at_first = worked, part
    # The first step holds what is done once: the chain's start, the factors to begin with.
    later = (spent - first) / (part - at_first) if part > at_first else first / max(part, 0.01)
    return spent + later * (1.0 - part), part, spent


def key_of(dataset_id: str, spec: RunSpec) -> str:
    """What a pilot is remembered under: all that decides how long a run takes."""
    decides = replace(spec, seed=0).to_dict()
    return json.dumps([dataset_id, decides], sort_keys=True)


class Pilots:
    """Pilots of one store: made one after the other, and remembered.

    Parameters
    ----------
    store : where data are read, and what was measured is kept.
    scheduler, owner : what makes the jobs, and for whom.
    """

    def __init__(self, store: RunStore, scheduler: Scheduler, owner: Hashable) -> None:
        self._store, self._scheduler, self._owner = store, scheduler, owner
        self._path = store.root / NAME
        self._lock = threading.Lock()
        self._known: dict[str, Pilot | None] = {
            key: Pilot(*values) for key, values in _read(self._path).items()
        }

    def known(self, dataset_id: str, spec: RunSpec) -> Pilot | None:
        """What was measured of such a run; None where nothing was."""
        return self._known.get(key_of(dataset_id, spec))

    def ask(self, dataset_id: str, specs: Sequence[RunSpec]) -> bool:
        """See to it that these are measured, and nothing else; whether some are not yet.

        Of data in blocks nothing is measured.
        """
        if self._store.dataset(dataset_id).whole is not None:
            specs = ()
        with self._lock:  # what is known is in the file as well
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
        """Try a run and remember what was found."""
        found: Pilot | None = None
        # What goes wrong here goes wrong in the run, too, and is told there.
        with suppress(BNMFError, MemoryError, ArithmeticError, ValueError, OSError):
            found = fly(self._store.dataset(dataset_id), spec)
        with self._lock:
            self._known[key_of(dataset_id, spec)] = found
            kept = {k: [p.busy, p.part] for k, p in self._known.items() if p is not None}
            with suppress(OSError):  # it is measured again then
                files.write_json(self._path, dict(list(kept.items())[-MOST:]))


@dataclass(frozen=True, eq=False)
class PilotJob:
    """A pilot as a job of the scheduler."""

    key: str
    pilots: Pilots
    dataset_id: str
    spec: RunSpec
    lane = "pilot"

    def make(self, report: Report, stopped: Stopped) -> None:
        """Measure it."""
        self.pilots.measure(self.dataset_id, self.spec)


def _read(path: Path) -> dict[str, list[float]]:
    try:
        return files.read_json(path) if path.exists() else {}
    except StoreError:  # what was measured can be measured again
        return {}
