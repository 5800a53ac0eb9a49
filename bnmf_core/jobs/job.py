"""A job of the scheduler: what it has to offer, and how far it is."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

WAITING = "Waiting to start"

# Seconds between two looks whether a job has to stop; it may ask thousands of times a second.
BETWEEN_LOOKS = 0.1

Stopped = Callable[[], bool]


class Report(Protocol):
    """How a job tells how far it is."""

    def __call__(
        self, part: float, stage: str, whole: float | None = None, message: str = ""
    ) -> None:
        """Report progress.

        Parameters
        ----------
        part : how much of this call of ``make`` is done, 0 to 1; the time left is estimated
            from it. stage : what is being done, in words.
        whole : how much of the whole job is done, if that is something else.
        message : what else there is to say.
        """


class Job(Protocol):
    """Anything the scheduler makes. It stores its own results, so that it can go on from there.

    It may have an attribute ``twin``: jobs in which this is equal, of whatever owner, would compute
    the same. None, or no such attribute: there is no other.
    """

    @property
    def key(self) -> str:
        """Names the job among those of its owner."""

    @property
    def lane(self) -> str:
        """The lane it waits in, see :data:`bnmf_core.jobs.scheduler.Scheduler.lanes`."""

    def make(self, report: Report, stopped: Stopped) -> bool | None:
        """Make and store the result, or the next part of it; True if there is more to make.

        Raises
        ------
        Cancelled
            Soon after ``stopped()`` said so; what was stored by then stays.
        """


class Work(Job, Protocol):
    """A job whose result can be found by its key, whenever it was made."""

    @property
    def label(self) -> str:
        """What it does, in words."""

    def ready(self) -> bool:
        """Whether the result is stored."""


@dataclass(frozen=True)
class JobStatus:
    """How far a job is.

    Attributes
    ----------
    status : "none", "waiting", "running", "complete", "cancelled" or "failed".
    fraction : the part that is done, 0 to 1. stage : what it is at, in words.
    message : why it failed, why it waits, or what else it has to say.
    remaining : seconds still to go with what it is at, None while unknown.
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
    """The same question, put only now and then; after a yes it is not put again."""
    answer, following = False, 0.0

    def stopped() -> bool:
        nonlocal answer, following
        if not answer and (now := time.monotonic()) >= following:
            answer, following = ask(), now + BETWEEN_LOOKS
        return answer

    return stopped
