"""Filter of Streamlit's log: no addresses, and no traceback of expected errors.

Addresses contain the secret of shared links.
"""

import logging

from bnmf_core.core import events
from bnmf_core.core.errors import BNMFError

# Streamlit logs addresses again whenever it rereads its configuration.
ADDRESSES = "uvicorn.access"
# Makes the files of downloads.
DOWNLOADS = "streamlit.runtime.backend_operation_handler"


def quiet() -> None:
    """Install the filters."""
    logging.getLogger(ADDRESSES).addFilter(lambda record: False)
    logging.getLogger(DOWNLOADS).addFilter(is_unexpected)


def is_unexpected(record: logging.LogRecord) -> bool:
    """Whether a record reports a bug of the program; other records become events.

    A download of runs that are deleted, or no longer shared, is expected to fail.
    """
    error = record.exc_info[1] if record.exc_info else None
    while error is not None and not isinstance(error, BNMFError):
        error = error.__cause__
    if error is None:
        return True
    events.tell("refused", what="download", why=type(error).__name__)
    return False
