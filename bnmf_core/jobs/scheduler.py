"""Which job starts next: fair between owners, watched before unwatched, short beside long.

Runs, analyses, studies, explorations and pilots all are jobs of one :class:`Scheduler`. Each kind
waits in a lane of its own. A lane has places; a job that starts takes one and has a thread to
itself. Analyses that nobody watches wait while somebody watches one. Of jobs that would compute the
same ("twins") one runs at a time: the next one finds the result.
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

# A page that watches a job submits it again every second; after so many silent seconds nobody does.
SILENCE = 10.0
# Jobs of one owner and line that wait unwatched; older ones are forgotten.
MOST_UNWATCHED = 16
# The part that has to be made before the time left is told: the beginning misleads.
ENOUGH = 0.1


@dataclass(frozen=True)
class Lane:
    """Where jobs of one kind wait.

    Attributes
    ----------
    at_once : jobs of all owners that are made at one time.
    everybody : whether an owner who has none in it may start one all the same.
    line : jobs of one owner in lanes of the same line are made one at a time; "" for no line.
    yields : whether unwatched jobs wait while one is watched, and the oldest are forgotten.
    """

    at_once: int
    everybody: bool = False
    line: str = ""
    yields: bool = False


@dataclass(eq=False)
class _Entry:
    """A job that waits or runs; ``lane`` is where it runs, "" while it waits."""

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
        """Equal in jobs that would compute the same."""
        return getattr(self.job, "twin", None)


class Scheduler:
    """Makes the jobs of all owners in threads of this process.

    Parameters
    ----------
    limits : how much of one owner, and of all, is made at one time.
    clock : seconds that only go forward.

    Attributes
    ----------
    lanes : the :class:`Lane` of each kind of job.
    results : where the result of twins lies, by what they have in common; jobs add theirs.

    Examples
    --------
    >>> class Hello:
    ...     key, lane, said = "hello", "study", False
    ...     def ready(self):
    ...         return self.said
    ...     def make(self, report, stopped):
    ...         self.said = True
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
            # A long stage of somebody else never delays a short one.
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
        """Queue a job, or, if it is there already, say that somebody still watches it."""
        with self._changed:
            if self._closing:
                return
            key = (owner, job.key)
            entry = self._entries.setdefault(key, _Entry(job, owner))
            self._ended.pop(key, None)
            # One that was just cancelled, and has yet to stop, goes on then.
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
        """How far a job is that waits or runs, or how it has ended where it is not complete."""
        with self._changed:
            if (entry := self._entries.get((owner, key))) is not None:
                return replace(entry.status, message=self._message(entry))
            return self._ended.get((owner, key))

    def status(self, work: Work, owner: Hashable) -> JobStatus:
        """How far a work is; one that has failed or was cancelled is so until it is submitted."""
        found = self.known(work.key, owner)
        if found is not None:
            return found
        return JobStatus("complete", 1.0) if work.ready() else JobStatus()

    def cancel(self, job: Job, owner: Hashable) -> None:
        """Stop a job soon; what it has stored stays."""
        with self._changed:
            entry = self._entries.get((owner, job.key))
            if entry is not None:
                entry.cancelled = True
                if not entry.lane:
                    self._end(entry, replace(entry.status, status="cancelled", remaining=None))

    def forget(self, key: str, owner: Hashable) -> None:
        """Drop a job if it waits, and how it has ended."""
        with self._changed:
            self._ended.pop((owner, key), None)
            entry = self._entries.get((owner, key))
            if entry is not None and not entry.lane:
                self._end(entry, None)

    def count(self, *lanes: str) -> tuple[int, int]:
        """How many jobs of these lanes run, and how many wait."""
        with self._changed:
            mine = [entry for entry in self._entries.values() if entry.in_lane in lanes]
            running = sum(bool(entry.lane) for entry in mine)
            return running, len(mine) - running

    def wait(self, owner: Hashable, timeout: float) -> None:
        """Block until no job of an owner waits or runs, or so many seconds have passed."""
        with self._changed:
            self._changed.wait_for(lambda: not any(self._of(owner)), timeout)

    def leave(self, owner: Hashable, timeout: float) -> None:
        """Drop what waits of an owner, stop what runs, and wait for its end."""

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
        """Stop everything; what was stored by then stays."""
        with self._changed:
            self._closing = True
            owners = {entry.owner for entry in self._entries.values()}
        end = time.monotonic() + timeout
        for owner in owners:
            self.leave(owner, max(end - time.monotonic(), 0.0))

    # Everything below is called with the lock held, but for the thread of a job.

    def _of(self, owner: Hashable) -> Iterator[_Entry]:
        return (entry for entry in self._entries.values() if entry.owner == owner)

    def _watched(self, entry: _Entry) -> bool:
        """Whether somebody watches a job, or one that waits for its result."""
        seen = [one.seen for one in (entry, *self._twins(entry)) if one.seen is not None]
        return bool(seen) and self._clock() - max(seen) < SILENCE

    def _twins(self, entry: _Entry) -> list[_Entry]:
        """The other jobs that would compute the same."""
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
        """Watched before unwatched; of owners with fewest running."""
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
        """Whether nobody watches a job, and somebody watches another."""
        if not self.lanes[entry.in_lane].yields or self._watched(entry):
            return False
        return any(
            self.lanes[e.in_lane].yields and self._watched(e) for e in self._entries.values()
        )

    def _must_stop(self, entry: _Entry) -> bool:
        """Whether a running job was cancelled, or has to wait for one that somebody watches."""
        with self._changed:
            return self._closing or entry.cancelled or self._gives_way(entry)

    def _forget_some(self, entry: _Entry) -> None:
        """Drop the oldest that wait unwatched in a line, where there are too many."""
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
        """What a job says of itself; of one that waits, whether it is for other people's."""
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
        """A job neither waits nor runs any more; ``end`` says how, if it is not complete."""
        key = (entry.owner, entry.job.key)
        self._entries.pop(key)
        if end is not None and not entry.dropped:
            self._ended[key] = end
        self._start_some()
        self._changed.notify_all()

    def _make(self, entry: _Entry) -> None:
        """In the thread of a job: make it, or its next part."""
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
        """What a job reports to; the time left counts from its first report on."""
        began, first = self._clock(), -1.0

        def report(part: float, stage: str, whole: float | None = None, message: str = "") -> None:
            nonlocal first
            # What is passed at once was stored before, and says nothing of the time.
            first = part if first < 0 else first
            made = (part - first) / (1 - first) if first < 1 else 1.0
            seconds = self._clock() - began
            left = seconds * (1 - made) / made if made >= ENOUGH else None
            fraction = part if whole is None else whole
            entry.status = JobStatus("running", fraction, stage, message, left)

        return report
