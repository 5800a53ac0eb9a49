"""The interface of jobs of the scheduler, and their progress."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

WAITING = "Waiting to start"

# Seconds between checks for cancellation; a job may ask thousands of times a second.
BETWEEN_LOOKS = 0.1

Stopped = Callable[[], bool]


class Report(Protocol):
    """Callback for the progress of a job."""

    def __call__(
        self, part: float, stage: str, whole: float | None = None, message: str = ""
    ) -> None:
        """Report progress.

        Parameters
        ----------
        part : finished part of this call of ``make``, 0 to 1; the time left is estimated from it.
        stage : current activity in words. whole : finished part of the whole job, if different.
        message : further information.
        """


class Job(Protocol):
    """A job of the scheduler. It stores its own results, so that it can be resumed.

    Jobs with an equal optional attribute ``twin``, of any owner, compute the same result; None for
    no such job.
    """

    @property
    def key(self) -> str:
        """Identifies the job among those of its owner."""

    @property
    def lane(self) -> str:
        """The lane it waits in, see :data:`bnmf_core.jobs.scheduler.Scheduler.lanes`."""

    def make(self, report: Report, stopped: Stopped) -> bool | None:
        """Compute and store the result, or its next part; return True if more is left.

        Raises
        ------
        Cancelled
            Soon after ``stopped()`` returned True; stored results remain.
        """


class Work(Job, Protocol):
    """A job whose result can be found by its key at any time."""

    @property
    def label(self) -> str:
        """Description of the job."""

    def ready(self) -> bool:
        """Whether the result is stored."""


@dataclass(frozen=True)
class JobStatus:
    """Progress of a job.

    Attributes
    ----------
    status : "none", "waiting", "running", "complete", "cancelled" or "failed".
    fraction : finished part, 0 to 1. stage : current activity in words.
    message : why it failed or waits, or further information.
    remaining : remaining seconds of the current activity, None while unknown.
    """

    status: str = "none"
    fraction: float = 0.0
    stage: str = ""
    message: str = ""
    remaining: float | None = None

    @property
    def active(self) -> bool:
        """Whether it waits or runs."""
        return self.status in ("waiting", "running")


def now_and_then(ask: Stopped) -> Stopped:
    """Limit the rate of calls of ``ask``; once it returned True, it is not called again."""
    answer, following = False, 0.0

    def stopped() -> bool:
        nonlocal answer, following
        if not answer and (now := time.monotonic()) >= following:
            answer, following = ask(), now + BETWEEN_LOOKS
        return answer

    return stopped
