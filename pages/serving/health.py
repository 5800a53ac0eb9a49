"""Is the server well: its disk, the list of runs, the queue. Numbers only, of nobody alone."""

import shutil
import sqlite3

from starlette.requests import Request
from starlette.responses import JSONResponse

from bnmf_core.core.errors import BNMFError
from bnmf_core.store import disk
from bnmf_core.store.home import data_home
from pages.frame import services
from pages.frame.owners import EVERYBODY

# Bytes of disk below which runs will soon fail.
LEAST_FREE = 500_000_000
UNWELL = 503
# What is counted, and the lanes of the scheduler in which it waits and runs.
WORK = {
    "runs": ("run",),
    "analyses": ("short stage", "long stage"),
    "studies": ("study", "exploration", "pilot"),
}


def answer(request: Request) -> JSONResponse:
    """200 where all is well, 503 where something is not; why is told under ``wrong``."""
    wrong, told = [], {}
    try:
        told["disk_free_bytes"] = free = shutil.disk_usage(data_home()).free
        if free < LEAST_FREE:
            wrong.append("The disk is nearly full.")
        elif hindrance := disk.hindrance(data_home()):
            wrong.append(f"Nothing can be written: {disk.reason(hindrance)}.")
        services.places().of(EVERYBODY).store.made()
        for kind, lanes in WORK.items():
            running, waiting = services.places().scheduler.count(*lanes)
            told |= {f"{kind}_running": running, f"{kind}_waiting": waiting}
    except (OSError, sqlite3.Error, BNMFError):
        wrong.append("The folder of runs cannot be read.")
    status = UNWELL if wrong else 200
    return JSONResponse({"well": not wrong, "wrong": wrong, **told}, status)
