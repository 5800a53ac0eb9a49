"""Pictures and downloads stay on the server for a minute after their page has dropped them.

Streamlit removes them whenever any script of any user ends. A file could be removed before its
browser had fetched it, and a download button could fail while its page was redrawn.
"""

import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from streamlit import App, runtime

EVERY = 60.0  # seconds


@asynccontextmanager
async def lifespan(_app: App) -> AsyncIterator[None]:
    """Let the server remove files only once a minute."""
    manager = runtime.get_instance().media_file_mgr
    clean_up = manager.remove_orphaned_files
    manager.remove_orphaned_files = seldom(clean_up)  # type: ignore[method-assign]
    yield


def seldom(
    act: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """Wrap a function so that it runs at most once a minute."""
    last = clock()

    def perhaps() -> None:
        nonlocal last
        if clock() - last >= EVERY:
            last = clock()
            act()

    return perhaps
