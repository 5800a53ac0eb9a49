"""How a long computation is stopped from outside: it asks between two blocks of work."""

from collections.abc import Callable

from bnmf_core.errors import Cancelled


def raise_if_cancelled(cancel: Callable[[], bool] | None, what: str) -> None:
    """Stop here when ``cancel()`` says so.

    Raises
    ------
    Cancelled
        Naming ``what`` was being computed.
    """
    if cancel is not None and cancel():
        raise Cancelled(f"The computation of {what} was cancelled before it was complete.")
