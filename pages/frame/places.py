"""Store, scheduler and executors of each owner; recently used ones stay open."""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from bnmf_core.core.errors import RunError
from bnmf_core.core.limits import Limits
from bnmf_core.jobs.job import Job, JobStatus, Work
from bnmf_core.jobs.scheduler import Scheduler
from bnmf_core.lazy import lazy
from bnmf_core.store.forgetting import remove, take_away
from bnmf_core.store.guest import GuestStore
from bnmf_core.store.home import EVERYBODY, OWNERS, SHARES, store_of
from bnmf_core.store.run_store import RunStore
from bnmf_core.store.shares import Shares

if TYPE_CHECKING:
    from bnmf_core import JobRunner
    from bnmf_core.runs.executors import Executors

# The engine, which the first page does without.
executors = lazy("bnmf_core.runs.executors")
runners = lazy("bnmf_core.runs.runner")

SEEN = "seen"
# Seconds without use after which an idle place is closed.
IDLE = 900.0
# Seconds between two searches for idle places and absent owners.
EVERY = 60.0
DAY = 24 * 3600.0


class Place:
    """Store and jobs of one owner.

    Parameters
    ----------
    store : the owner's runs. scheduler : makes the owner's jobs.
    executors : makes the executors of steps, called at the first run.
    host : the place of the owner who shares the runs; None for one's own.

    Attributes
    ----------
    used : time of last use, of the monotonic clock.
    """

    def __init__(
        self,
        store: RunStore,
        scheduler: Scheduler,
        executors: Callable[[], "Executors"],
        host: "Place | None" = None,
    ) -> None:
        self.store, self._scheduler, self._executors = store, scheduler, executors
        self._host = host
        self.used = time.monotonic()
        self._lock = threading.Lock()
        self._runner: JobRunner | None = None

    @property
    def runner(self) -> "JobRunner":
        """The job runner; its threads live as long as the place."""
        with self._lock:
            if self._runner is None:
                # What is computed for one is there for the other.
                analyses = None if self._host is None else self._host.runner.analyses
                self._runner = runners.JobRunner(
                    self.store, self._scheduler, self._executors(), self, analyses
                )
            return self._runner

    def start(self, work: Work) -> None:
        """Queue a study or an exploration; it starts when a slot is free."""
        self._scheduler.submit(work, self)

    def status(self, work: Work) -> JobStatus:
        """Status of a study or an exploration."""
        return self._scheduler.status(work, self)

    def cancel(self, work: Job) -> None:
        """Cancel a study or an exploration; its stored parts stay."""
        self._scheduler.cancel(work, self)

    def at_work(self, lane: str | None = None) -> list[Job]:
        """The jobs that wait or run, in one lane or in all."""
        return self._scheduler.active(self, lane)

    def wait(self, timeout: float) -> None:
        """Block until no jobs are left, or the timeout; for tests."""
        self._scheduler.wait(self, timeout)

    @property
    def busy(self) -> bool:
        """Whether any job is active."""
        return bool(self.at_work()) or any(run.active for run in self.store.runs())

    def close(self) -> None:
        """Stop after the current steps; unfinished runs can be resumed."""
        if self._runner is not None:
            self._runner.close()
        self._scheduler.leave(self, timeout=10)


class Places:
    """The places of all owners under one folder.

    Parameters
    ----------
    home : the folder of a personal server's owner, and the parent of other owners' folders.
    limits : limits of one owner.
    """

    def __init__(self, home: Path, limits: Limits) -> None:
        self.home, self.limits = home, limits
        self.shares = Shares(home / SHARES)
        self._places: dict[str, Place] = {}
        self._lock = threading.Lock()
        self.scheduler = Scheduler(limits)
        self._executors: Executors | None = None
        self._checked = time.monotonic()

    def of(self, owner: str) -> Place:
        """The place of an owner, created for new ones."""
        return self._at_hand(owner, lambda: self._place(self._store(owner)))

    def shown(self, token: str) -> Place:
        """The place that a shared link shows.

        Raises
        ------
        NotFoundError
            When there is no such link, or it was taken back.
        """
        share = self.shares.find(token)
        host, folder = self.of(share.owner), store_of(self.home, share.owner)
        return self._at_hand(
            f"shown {token}", lambda: self._place(GuestStore(folder, share.run_ids), host)
        )

    def forget(self, owner: str) -> None:
        """Cancel an owner's jobs, then delete all their data.

        Raises
        ------
        RunError
            When a job has not stopped yet.
        """
        with self._lock:
            shown = [f"shown {share.token}" for share in self.shares.of(owner)]
            places = {key: self._places[key] for key in (owner, *shown) if key in self._places}
        for place in places.values():
            place.close()
        if any(place.at_work() for place in places.values()):
            raise RunError("A run has not stopped yet; try again in a few seconds.")
        with self._lock:
            for key in places:
                self._places.pop(key, None)
            gone = take_away(self.home, owner)
        remove(owner, gone)

    def close(self) -> None:
        """Stop everything after the current steps."""
        for place in self._places.values():
            place.close()
        self.scheduler.close()
        if self._executors is not None:
            self._executors.close()

    def _place(self, store: RunStore, host: Place | None = None) -> Place:
        return Place(store, self.scheduler, self._steps, host)

    def _steps(self) -> "Executors":
        with self._lock:
            if self._executors is None:
                self._executors = executors.Executors(allowed=executors.allowed_schedulers)
            return self._executors

    def _at_hand(self, key: str, make: Callable[[], Place]) -> Place:
        with self._lock:
            known = self._places.get(key)
            # Its folder may have been removed by an operator.
            if known is None or not known.store.database.path.exists():
                self._places[key] = make()
            place = self._places[key]
            place.used = time.monotonic()
        self._put_away()
        return place

    def _store(self, owner: str) -> RunStore:
        folder = store_of(self.home, owner)
        store = RunStore(folder, most=round(self.limits.disk * 1e9))
        if owner != EVERYBODY:
            with suppress(OSError):  # a full or read-only disk can still be read
                (folder / SEEN).touch()
        return store

    def _put_away(self) -> None:
        """From time to time, close idle places and remove absent owners."""
        now = time.monotonic()
        with self._lock:
            if now - self._checked < EVERY:
                return
            self._checked = now
            idle = [key for key, place in self._places.items() if now - place.used > IDLE]
        for key in idle:
            if not self._places[key].busy:
                with self._lock:
                    place = self._places.pop(key)
                place.close()
        if self.limits.keep_days:
            before = time.time() - self.limits.keep_days * DAY
            for seen in self.home.glob(f"{OWNERS}/*/{SEEN}"):
                owner = seen.parent.name
                with self._lock:  # an owner who returns now stays, or begins anew
                    if owner in self._places or seen.stat().st_mtime >= before:
                        continue
                    gone = take_away(self.home, owner)
                remove(owner, gone)
