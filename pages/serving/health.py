"""Health of the server: its disk, the list of runs, the queue. Totals only."""

import shutil
import sqlite3

from starlette.requests import Request
from starlette.responses import JSONResponse

from bnmf_core.core.errors import BNMFError
from bnmf_core.store import disk
from bnmf_core.store.home import data_home
from pages.frame import services
from pages.frame.owners import EVERYBODY

# Free bytes of disk below which runs will soon fail.
LEAST_FREE = 500_000_000
UNWELL = 503
# Kind of job → lanes of the scheduler that are counted for it.
WORK = {
    "runs": ("run",),
    "analyses": ("short stage", "long stage"),
    "studies": ("study", "exploration", "pilot"),
}


def answer(request: Request) -> JSONResponse:
    """Answer 200 if the server is healthy, else 503 with the reasons under ``wrong``."""
    wrong, fields = [], {}
    try:
        fields["disk_free_bytes"] = free = shutil.disk_usage(data_home()).free
        if free < LEAST_FREE:
            wrong.append("The disk is nearly full.")
        elif hindrance := disk.hindrance(data_home()):
            wrong.append(f"Nothing can be written: {disk.reason(hindrance)}.")
        services.places().of(EVERYBODY).store.made()
        for kind, lanes in WORK.items():
            running, waiting = services.places().scheduler.count(*lanes)
            fields |= {f"{kind}_running": running, f"{kind}_waiting": waiting}
    except (OSError, sqlite3.Error, BNMFError):
        wrong.append("The folder of runs cannot be read.")
    status = UNWELL if wrong else 200
    return JSONResponse({"well": not wrong, "wrong": wrong, **fields}, status)
