"""The job scheduler: fair between owners, watched jobs before unwatched ones.

Runs, analyses, studies, explorations and pilots are jobs of one :class:`Scheduler`. Each kind has
its own lane with a limited number of places; every running job has its own thread. Unwatched
analyses wait while any analysis is watched. Of jobs that compute the same result ("twins") one runs
at a time; the next one finds the result.
"""

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from bnmf_core.core.errors import BNMFError, Cancelled
from bnmf_core.core.limits import Limits
from bnmf_core.jobs.job import WAITING, Job, JobStatus, Report, Work, now_and_then
from bnmf_core.numerics.memory import give_back

log = logging.getLogger(__name__)

# A page that watches a job submits it every second; it is unwatched after so many seconds without.
SILENCE = 10.0
# Largest number of unwatched waiting jobs of one owner and line; older ones are dropped.
MOST_UNWATCHED = 16
# Least finished part for an estimate of the time left.
ENOUGH = 0.1


@dataclass(frozen=True)
class Lane:
    """The queue of one kind of job.

    Attributes
    ----------
    at_once : number of jobs of all owners that run at one time.
    everybody : whether an owner without a running job may exceed this limit.
    line : jobs of one owner in lanes of the same line run one at a time; "" for no line.
    yields : whether unwatched jobs wait while one is watched, and the oldest are dropped.
    """

    at_once: int
    everybody: bool = False
    line: str = ""
    yields: bool = False


@dataclass(eq=False)
class _Entry:
    """A job that waits or runs; ``lane`` : "" while it waits."""

    job: Job
    owner: Hashable
    status: JobStatus = field(default_factory=lambda: JobStatus("waiting", stage=WAITING))
    seen: float | None = None
    lane: str = ""
    cancelled: bool = False
    dropped: bool = False

    @property
    def in_lane(self) -> str:
        """The lane it runs or waits in."""
        return self.lane or self.job.lane

    @property
    def twin(self) -> Hashable | None:
        """Equal for jobs that compute the same result."""
        return getattr(self.job, "twin", None)


class Scheduler:
    """Runs the jobs of all owners in threads of this process.

    Parameters
    ----------
    limits : of concurrent and waiting jobs.
    clock : monotonic, seconds.

    Attributes
    ----------
    lanes : the :class:`Lane` of each kind of job.
    results : path of the result of twins by ``twin``; jobs add theirs.

    Examples
    --------
    >>> class Hello:
    ...     key, lane, done = "hello", "study", False
    ...     def ready(self):
    ...         return self.done
    ...     def make(self, report, stopped):
    ...         self.done = True
    >>> scheduler, job = Scheduler(), Hello()
    >>> scheduler.submit(job, owner="me")
    >>> scheduler.wait("me", timeout=10)
    >>> scheduler.status(job, "me").status
    'complete'
    """

    def __init__(
        self, limits: Limits | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.limits = limits or Limits()
        many = self.limits.analyses_at_once
        self.lanes = {
            "run": Lane(self.limits.runs_at_once, everybody=True),
            # Long stages of other owners do not delay short ones.
            "short stage": Lane(many, line="analysis", yields=True),
            "long stage": Lane(many, line="analysis", yields=True),
            "study": Lane(many, line="study"),
            "exploration": Lane(many, line="exploration"),
            "pilot": Lane(many, line="pilot"),
        }
        self.results: dict[Hashable, Path] = {}
        self._clock = clock
        self._entries: dict[tuple[Hashable, str], _Entry] = {}  # in the order of arrival
        self._ended: dict[tuple[Hashable, str], JobStatus] = {}
        self._changed = threading.Condition()
        self._closing = False

    def submit(self, job: Job, owner: Hashable, watched: bool = True) -> None:
        """Queue a job, or mark a queued one as watched."""
        with self._changed:
            if self._closing:
                return
            key = (owner, job.key)
            entry = self._entries.setdefault(key, _Entry(job, owner))
            self._ended.pop(key, None)
            # A cancelled job that has not stopped yet continues.
            entry.cancelled = entry.dropped
            if watched:
                entry.seen = self._clock()
            self._forget_some(entry)
            self._start_some()
            self._changed.notify_all()

    def find(self, key: str, owner: Hashable) -> Job | None:
        """The job of this key that waits or runs; None if there is none."""
        with self._changed:
            entry = self._entries.get((owner, key))
            return None if entry is None else entry.job

    def active(self, owner: Hashable, lane: str | None = None) -> list[Job]:
        """An owner's jobs that wait or run, oldest first, in one lane or in all."""
        with self._changed:
            return [one.job for one in self._of(owner) if lane in (None, one.in_lane)]

    def known(self, key: str, owner: Hashable) -> JobStatus | None:
        """Status of a waiting or running job, or of one that ended incomplete."""
        with self._changed:
            if (entry := self._entries.get((owner, key))) is not None:
                return replace(entry.status, message=self._message(entry))
            return self._ended.get((owner, key))

    def status(self, work: Work, owner: Hashable) -> JobStatus:
        """Status of a work; a failed or cancelled one stays so until it is submitted again."""
        found = self.known(work.key, owner)
        if found is not None:
            return found
        return JobStatus("complete", 1.0) if work.ready() else JobStatus()

    def cancel(self, job: Job, owner: Hashable) -> None:
        """Cancel a job; stored results remain."""
        with self._changed:
            entry = self._entries.get((owner, job.key))
            if entry is not None:
                entry.cancelled = True
                if not entry.lane:
                    self._end(entry, replace(entry.status, status="cancelled", remaining=None))

    def forget(self, key: str, owner: Hashable) -> None:
        """Drop a waiting job, and the status of an ended one."""
        with self._changed:
            self._ended.pop((owner, key), None)
            entry = self._entries.get((owner, key))
            if entry is not None and not entry.lane:
                self._end(entry, None)

    def count(self, *lanes: str) -> tuple[int, int]:
        """Numbers of running and of waiting jobs of these lanes."""
        with self._changed:
            mine = [entry for entry in self._entries.values() if entry.in_lane in lanes]
            running = sum(bool(entry.lane) for entry in mine)
            return running, len(mine) - running

    def wait(self, owner: Hashable, timeout: float) -> None:
        """Block until no job of an owner waits or runs, or so many seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: not any(self._of(owner)), timeout)

    def leave(self, owner: Hashable, timeout: float) -> None:
        """Drop waiting jobs of an owner, cancel running ones, and wait for their end."""

        def gone() -> bool:
            # A job that ends may submit another one.
            for entry in list(self._of(owner)):
                entry.cancelled = entry.dropped = True
                if not entry.lane:
                    self._end(entry, None)
            return not any(self._of(owner))

        with self._changed:
            self._changed.wait_for(gone, timeout)
            self._ended = {key: end for key, end in self._ended.items() if key[0] != owner}

    def close(self, timeout: float = 10.0) -> None:
        """Cancel all jobs; stored results remain."""
        with self._changed:
            self._closing = True
            owners = {entry.owner for entry in self._entries.values()}
        end = time.monotonic() + timeout
        for owner in owners:
            self.leave(owner, max(end - time.monotonic(), 0.0))

    # All methods below are called with the lock held, except in the thread of a job.

    def _of(self, owner: Hashable) -> Iterator[_Entry]:
        return (entry for entry in self._entries.values() if entry.owner == owner)

    def _watched(self, entry: _Entry) -> bool:
        """Whether a job or one of its twins is watched."""
        seen = [one.seen for one in (entry, *self._twins(entry)) if one.seen is not None]
        return bool(seen) and self._clock() - max(seen) < SILENCE

    def _twins(self, entry: _Entry) -> list[_Entry]:
        """The other jobs that compute the same result."""
        if entry.twin is None:
            return []
        return [e for e in self._entries.values() if e.twin == entry.twin and e is not entry]

    def _start_some(self) -> None:
        while able := [e for e in self._entries.values() if not e.lane and self._may_start(e)]:
            entry = min(able, key=self._rank)  # the first of equals is the oldest
            entry.lane = entry.job.lane
            entry.status = replace(entry.status, status="running")
            name = f"{entry.lane} {entry.job.key}"
            threading.Thread(target=self._make, args=(entry,), daemon=True, name=name).start()

    def _rank(self, entry: _Entry) -> tuple[bool, int]:
        """Sort key: watched jobs first, then owners with fewest running jobs."""
        lane = entry.job.lane
        running = sum(other.lane == lane for other in self._of(entry.owner))
        return self.lanes[lane].yields and not self._watched(entry), running

    def _may_start(self, entry: _Entry) -> bool:
        """Whether there is a place for a job."""
        lane = self.lanes[entry.job.lane]
        running = [e for e in self._entries.values() if e.lane]
        mine = [e for e in running if e.owner == entry.owner]
        if lane.line and any(self.lanes[e.lane].line == lane.line for e in mine):
            return False
        if self._gives_way(entry) or any(twin.lane for twin in self._twins(entry)):
            return False
        places = sum(e.lane == entry.job.lane for e in running)
        alone = lane.everybody and not any(e.lane == entry.job.lane for e in mine)
        return alone or places < lane.at_once

    def _gives_way(self, entry: _Entry) -> bool:
        """Whether a job is unwatched and another is watched."""
        if not self.lanes[entry.in_lane].yields or self._watched(entry):
            return False
        return any(
            self.lanes[e.in_lane].yields and self._watched(e) for e in self._entries.values()
        )

    def _must_stop(self, entry: _Entry) -> bool:
        """Whether a running job was cancelled or must yield to a watched one."""
        with self._changed:
            return self._closing or entry.cancelled or self._gives_way(entry)

    def _forget_some(self, entry: _Entry) -> None:
        """Drop the oldest unwatched waiting jobs of a line if there are too many."""
        line = self.lanes[entry.job.lane].line
        unwatched = [
            other
            for other in self._of(entry.owner)
            if not other.lane
            and not self._watched(other)
            and self.lanes[other.job.lane].yields
            and self.lanes[other.job.lane].line == line
        ]
        for other in unwatched[: max(len(unwatched) - MOST_UNWATCHED, 0)]:
            self._end(other, None)

    def _message(self, entry: _Entry) -> str:
        """The message of a job, or why it waits."""
        if entry.lane or self._may_start(entry):
            return entry.status.message
        lane = entry.job.lane
        line = self.lanes[lane].line
        if line and any(e.lane and self.lanes[e.lane].line == line for e in self._of(entry.owner)):
            return "Waits until what you started before is done."
        waiting = [e for e in self._entries.values() if not e.lane and e.job.lane == lane]
        ahead = sorted(waiting, key=self._rank).index(entry)
        many = f"{ahead} other{'s' * (ahead != 1)} wait before it" if ahead else "next"
        return f"Waits for others on this server ({many})."

    def _end(self, entry: _Entry, end: JobStatus | None) -> None:
        """Remove a job; ``end`` : its status if it is incomplete."""
        key = (entry.owner, entry.job.key)
        self._entries.pop(key)
        if end is not None and not entry.dropped:
            self._ended[key] = end
        self._start_some()
        self._changed.notify_all()

    def _make(self, entry: _Entry) -> None:
        """Run a job, or its next part, in its thread."""
        more, end = False, None
        try:
            stopped = now_and_then(partial(self._must_stop, entry))
            more = bool(entry.job.make(self._report_of(entry), stopped))
        except Cancelled:
            more = not entry.cancelled
            end = replace(entry.status, status="cancelled", remaining=None)
        except BNMFError as error:
            log.info("job %s: %s", entry.job.key, error)
            end = JobStatus("failed", message=str(error))
        except Exception as error:
            log.exception("job %s failed", entry.job.key)
            reason = (
                f"It stopped for an unknown reason ({type(error).__name__}: {error}). What it has "
                "stored stays, and it can be started again."
            )
            end = JobStatus("failed", message=reason)
        give_back()
        with self._changed:
            if more and not (entry.cancelled or self._closing):
                entry.lane = ""
                fraction = entry.status.fraction
                entry.status = JobStatus("waiting", fraction, WAITING)
                self._start_some()
                self._changed.notify_all()
            else:
                self._end(entry, end)

    def _report_of(self, entry: _Entry) -> Report:
        """The progress callback of a job; the time left counts from its first report."""
        began, first = self._clock(), -1.0

        def report(part: float, stage: str, whole: float | None = None, message: str = "") -> None:
            nonlocal first
            # Progress of the first report was stored before and took no time.
            first = part if first < 0 else first
            made = (part - first) / (1 - first) if first < 1 else 1.0
            seconds = self._clock() - began
            left = seconds * (1 - made) / made if made >= ENOUGH else None
            fraction = part if whole is None else whole
            entry.status = JobStatus("running", fraction, stage, message, left)

        return report
