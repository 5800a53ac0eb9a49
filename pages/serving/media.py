"""Pictures and downloads: they stay at the server for a minute after a page stopped naming them.

Streamlit removes them whenever any script of any user ends. A file could go before its browser had
fetched it, and a button found nothing to make its file of while its page was drawn anew.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from streamlit import App, runtime

EVERY = 60.0  # seconds


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Have the server remove files once a minute only."""
    manager = runtime.get_instance().media_file_mgr
    clean_up = manager.remove_orphaned_files
    manager.remove_orphaned_files = seldom(clean_up)  # type: ignore[method-assign]
    yield


def seldom(
    act: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """The same act, which does nothing where it was done within the last minute."""
    last = clock()

    def perhaps() -> None:
        nonlocal last
        if clock() - last >= EVERY:
            last = clock()
            act()

    return perhaps
