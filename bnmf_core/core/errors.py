"""Errors with messages for users.

Every message is one sentence or two: the value, the allowed values, and what to do.
"""

from collections.abc import Callable


class BNMFError(ValueError):
    """Base of every error that is meant to be read by a user."""


class DataError(BNMFError):
    """A matrix or file that cannot be used as it is; names the place."""


class SettingsError(BNMFError):
    """A setting outside what is allowed; names the setting, the value and the range."""


class NotFoundError(BNMFError, KeyError):
    """A name (sample, algorithm, run, …) that does not exist; lists the ones that do."""

    def __str__(self) -> str:  # KeyError would show the message in quotes
        return str(self.args[0]) if self.args else ""


class RunError(BNMFError):
    """A run that cannot start or continue; the message says why and what to change."""


class Cancelled(RunError):
    """A computation that was stopped on request; its partial result is discarded."""


class SchedulerError(RunError):
    """A cluster that cannot be reached, or was lost; results so far stay stored."""


class StoreError(BNMFError):
    """A stored file that is missing, torn or altered."""


class DiskError(StoreError, OSError):
    """A folder that cannot be read or written now; says why, and what to do."""


class DamagedError(StoreError):
    """Something stored that is no longer what was written; says what it is and what to do."""


def raise_if_cancelled(cancel: Callable[[], bool] | None, what: str) -> None:
    """Stop a long computation, which asks this between two blocks of work.

    Raises
    ------
    Cancelled
        When ``cancel()`` says so; names ``what`` was being computed.
    """
    if cancel is not None and cancel():
        raise Cancelled(f"The computation of {what} was cancelled before it was complete.")
