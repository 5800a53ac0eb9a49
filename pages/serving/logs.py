"""What of Streamlit's own log is written down: no addresses, and no traceback of what is expected.

Addresses hold the secret of links that are shown to others.
"""

import logging

from bnmf_core.core import events
from bnmf_core.core.errors import BNMFError

# Streamlit would write addresses down again whenever it reads its configuration anew.
ADDRESSES = "uvicorn.access"
# Makes the files of downloads.
DOWNLOADS = "streamlit.runtime.backend_operation_handler"


def quiet() -> None:
    """From now on, filter these logs."""
    logging.getLogger(ADDRESSES).addFilter(lambda record: False)
    logging.getLogger(DOWNLOADS).addFilter(is_unexpected)


def is_unexpected(record: logging.LogRecord) -> bool:
    """Whether a record tells of a mistake in the program; else it is told as an event.

    A download of runs that are deleted, or no longer shown, fails as it should.
    """
    error = record.exc_info[1] if record.exc_info else None
    while error is not None and not isinstance(error, BNMFError):
        error = error.__cause__
    if error is None:
        return True
    events.tell("refused", what="download", why=type(error).__name__)
    return False
