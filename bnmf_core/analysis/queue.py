"""Analyses in a background thread: the one on screen first, bounded, by the ids of its runs.

Someone who looks at a comparison asks again and again (:meth:`AnalysisQueue.ask`). What is looked
at is computed first, beginning with the stage that is needed. What nobody looks at gives way: it
waits behind, and of many such only the newest are kept; looking at one brings it back. While other
runs of the same launch are being made, a comparison of those that have ended is passing: only what
is asked for is computed of it.
"""

import logging
import threading
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial

from bnmf_core.analysis import stages
from bnmf_core.analysis.comparison import Comparison, open_comparison
from bnmf_core.analysis.remote import Cluster
from bnmf_core.analysis.stage import Stage, Stopped
from bnmf_core.core import events
from bnmf_core.core.errors import BNMFError, Cancelled
from bnmf_core.numerics.memory import give_back
from bnmf_core.store.run_store import RunStore

log = logging.getLogger(__name__)

# Comparisons that wait with nobody looking at them.
MOST_UNWATCHED = 16
# Comparisons whose tables of members are kept at hand.
MOST_OPEN = 8
# Whoever looks asks every second; after so many silent seconds nobody does.
SILENCE = 10.0
# The part of a stage that has to be done before the time left is told: the beginning misleads.
ENOUGH = 0.1
WAITING = "Waiting to start"
# Stages of at most this weight take seconds, and wait for no long one.
SHORT = 2.0
# Seconds between two looks whether a stage has to stop, which read the disk; it may ask after every
# step, thousands of times a second.
BETWEEN_LOOKS = 0.1


@dataclass(frozen=True)
class AnalysisStatus:
    """How far an analysis is: status running, complete or failed; fraction 0 to 1.

    ``remaining`` : seconds that the stage in work still takes, as fast as it was; None while that
    is unknown. ``message`` : why it failed, or why it is not made on a cluster any more.
    """

    status: str
    fraction: float
    stage: str
    message: str = ""
    remaining: float | None = None


@dataclass
class Entry:
    """A comparison that waits: its runs, the stages asked for first, and when that was.

    ``passing`` : other runs of its launch are being made, and will be compared with these.
    """

    run_ids: tuple[str, ...]
    wanted: dict[str, None] = field(default_factory=dict)
    looked_at: float | None = None
    passing: bool = False

    def watched(self, now: float) -> bool:
        """Whether somebody looks at it."""
        return self.looked_at is not None and now - self.looked_at < SILENCE


def _now_and_then(ask: Stopped) -> Stopped:
    """The same question, put only now and then; after a yes it is not put again."""
    answer, following = False, 0.0

    def stopped() -> bool:
        nonlocal answer, following
        if not answer and (now := time.monotonic()) >= following:
            answer, following = ask(), now + BETWEEN_LOOKS
        return answer

    return stopped


class AnalysisQueue:
    """Computes what is missing of the comparisons of one store.

    Parameters
    ----------
    store : where runs are read and results are written.
    clock : seconds that only go forward.
    turn : ``(stopped, short, waits)`` holds a place among the analyses of other stores, see
        :meth:`bnmf_core.runs.hall.Hall.analysis`.
    cluster : the executor of the cluster where runs of these ids were made, None for this machine;
        raises SchedulerError where it does not answer.
    """

    def __init__(
        self,
        store: RunStore,
        clock: Callable[[], float] = time.monotonic,
        turn: Callable[..., AbstractContextManager[None]] = lambda stopped, short, waits: (
            nullcontext()
        ),
        cluster: Callable[[Sequence[str]], Executor | None] = lambda run_ids: None,
    ) -> None:
        self.store = store
        self._clock, self._turn, self._cluster = clock, turn, cluster
        self._waiting: dict[str, Entry] = {}
        self._current: str | None = None
        self._status: dict[str, AnalysisStatus] = {}
        self._opened: dict[str, Comparison] = {}
        self._closing = False
        self._changed = threading.Condition()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def open(self, run_ids: Sequence[str]) -> Comparison:
        """The comparison of these runs; one that was opened lately has its members at hand.

        Raises
        ------
        RunError, NotFoundError, StoreError
            When the runs do not belong together or have made nothing yet.
        """
        found = open_comparison(self.store, run_ids)
        with self._changed:
            known = self._opened.pop(found.key, found)
            # A run that was resumed or renamed since may have as many particles as then.
            found = known if known.runs == found.runs else found
            self._opened[found.key] = found  # the newest is last
            while len(self._opened) > MOST_OPEN:
                self._opened.pop(next(iter(self._opened)))
        return found

    def ask(self, comparison: Comparison, first: str | None = None, watched: bool = True) -> None:
        """See to it that a comparison is computed, or go on doing so.

        Parameters
        ----------
        first : the stage that is needed before the others. watched : whether somebody looks at it.
        """
        if stages.complete(comparison):
            return
        passing = self._passing(comparison)
        with self._changed:
            key = comparison.key
            failed = self._status.get(key)
            if failed is not None and failed.status == "failed":
                return
            entry = self._waiting.setdefault(key, Entry(tuple(comparison.run_ids)))
            if first is not None:
                entry.wanted.pop(first, None)
                entry.wanted = {first: None} | entry.wanted
            entry.passing = passing
            if watched:
                entry.looked_at = self._clock()
            self._status.setdefault(key, AnalysisStatus("running", 0.0, WAITING))
            self._forget_some()
            self._changed.notify_all()

    def again(self, comparison: Comparison) -> None:
        """Forget that an analysis failed; the next question tries it again."""
        with self._changed:
            self._status.pop(comparison.key, None)

    def status(self, comparison: Comparison) -> AnalysisStatus:
        """How far the analysis is."""
        if stages.complete(comparison):
            return AnalysisStatus("complete", 1.0, "Done")
        with self._changed:
            return self._status.get(comparison.key, AnalysisStatus("running", 0.0, WAITING))

    def close(self) -> None:
        """Stop after the current block of work; what is stored by then stays."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        self._thread.join(timeout=10)

    def _passing(self, comparison: Comparison) -> bool:
        launches = {run.launch for run in comparison.runs}
        return any(run.active and run.launch in launches for run in self.store.runs())

    def _forget_some(self) -> None:
        """Drop the oldest of those that wait unwatched, where there are too many."""
        now = self._clock()
        unwatched = [
            key
            for key, entry in self._waiting.items()
            if not entry.watched(now) and key != self._current
        ]
        for key in unwatched[: max(len(unwatched) - MOST_UNWATCHED, 0)]:
            del self._waiting[key]
            self._status.pop(key, None)

    def _next(self) -> str | None:
        """Which is computed now: the first looked at, else the one begun, else the oldest."""
        now = self._clock()
        watched = [key for key, entry in self._waiting.items() if entry.watched(now)]
        if watched:
            return watched[0]
        return self._current if self._current in self._waiting else next(iter(self._waiting), None)

    # In the background thread

    def _serve(self) -> None:
        while True:
            with self._changed:
                while not self._waiting and not self._closing:
                    self._changed.wait()
                key = self._current = self._next()
                if self._closing or key is None:
                    return
            try:
                self._compute(key)
            except Exception as error:
                self._fail(key, error)
            finally:
                with self._changed:
                    self._current = None
                give_back()

    def _compute(self, key: str) -> None:
        """Stages of one comparison, until it is complete or has to give way to another."""
        comparison = self.open(self._waiting[key].run_ids)
        cluster = Cluster(partial(self._cluster, comparison.run_ids))
        total = sum(stage.weight for stage in stages.missing(comparison))
        while (todo := self._todo(comparison)) and self._next() == key:
            stage, began = todo[0], self._clock()
            before = total - sum(left.weight for left in stages.missing(comparison))

            def report(
                part: float,
                stage: Stage[object] = stage,
                before: float = before,
                began: float = began,
            ) -> None:
                elapsed = self._clock() - began
                left = elapsed * (1 - part) / part if part >= ENOUGH else None
                fraction = (before + part * stage.weight) / total
                with self._changed:
                    told = AnalysisStatus("running", fraction, stage.label, cluster.said, left)
                    self._status[key] = told

            stopped = _now_and_then(partial(self._gives_way, comparison, stage))

            def waits(before: int) -> None:
                many = f"{before} other{'s' * (before != 1)} wait before it" if before else "next"
                reason = f"Waits for other analyses on this server ({many})."
                with self._changed:
                    if key in self._status:
                        told = replace(self._status[key], stage=WAITING, message=reason)
                        self._status[key] = told

            with suppress(Cancelled), self._turn(stopped, stage.weight <= SHORT, waits):
                stages.make(comparison, stage, report, stopped, cluster)
        with self._changed:
            if not todo:
                self._waiting.pop(key, None)
                self._status.pop(key, None)
            elif key in self._status:
                self._status[key] = replace(self._status[key], stage=WAITING, remaining=None)

    def _todo(self, comparison: Comparison) -> list[Stage[object]]:
        """What is missing of a comparison, what was asked for last coming first."""
        with self._changed:
            entry = self._waiting.get(comparison.key)
            if entry is None or self._closing:
                return []
            wanted, others = list(entry.wanted), [] if entry.passing else list(stages.STAGES)
        return stages.missing(comparison, [*wanted, *others])

    def _gives_way(self, comparison: Comparison, stage: Stage[object]) -> bool:
        """Whether a stage has to stop: another comparison or another stage is needed first."""
        with self._changed:
            if self._next() != comparison.key:
                return True
        todo = self._todo(comparison)
        return not todo or todo[0].key != stage.key

    def _fail(self, key: str, error: Exception) -> None:
        log.error("analysis %s failed", key, exc_info=error)
        events.tell("analysis failed", analysis=key, why=type(error).__name__)
        expected = isinstance(error, BNMFError)
        words = str(error) if expected else f"{type(error).__name__}: {error}"
        with suppress(OSError):  # the reason may be that the disk is full
            folder = self.store.root / "analyses" / key
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "error.txt").write_text("".join(traceback.format_exception(error)))
        with self._changed:
            self._status[key] = AnalysisStatus("failed", 1.0, "Failed", words)
            self._waiting.pop(key, None)
