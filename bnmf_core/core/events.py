"""An event log for the operator: one line of JSON per event, without data.

A line says which run, how large and how it ended; never a name, a label, a value or a path.
"""

import json
import logging
import sys
from datetime import UTC, datetime

from bnmf_core.core.plain import Value

LOG = logging.getLogger("bnmf_core.events")


def tell(event: str, **facts: Value) -> None:
    """Tell that something happened; ``facts`` are numbers, ids and words of the program's own."""
    LOG.info(json.dumps({"event": event, **facts}))


def to_standard_error() -> None:
    """From now on, write events there, each with its time."""
    if not any(isinstance(handler.formatter, _Line) for handler in LOG.handlers):
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_Line())
        LOG.addHandler(handler)
        LOG.setLevel(logging.INFO)
        LOG.propagate = False


class _Line(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        return json.dumps({"time": when} | json.loads(record.getMessage()))
