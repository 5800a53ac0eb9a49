"""Cells of a study: kept as files as soon as they are measured, made here or in other processes."""

import hashlib
import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from pathlib import Path
from typing import Any


def digest(decides: Any) -> str:
    """Twelve characters that change with everything that decides a cell's numbers."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:12]


def stored(place: Path | None) -> dict[str, Any] | None:
    """The cell in this file; None where there is none, or one that was torn while written."""
    if place is None or not place.is_file():
        return None
    try:
        return json.loads(place.read_text())
    except ValueError:
        return None


def keep(place: Path | None, cell: dict[str, Any]) -> None:
    """Write a cell to its file; nothing where cells are not kept."""
    if place is not None:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(json.dumps(cell))


def as_made(
    executor: Executor | None,
    function: Callable[..., Any],
    arguments: Mapping[Hashable, tuple],
) -> Iterator[tuple[Hashable, Any]]:
    """``function(*arguments[key])`` of every key, as the executor finishes them; None: here.

    Close it to cancel those that have not begun.
    """
    if executor is None:
        yield from ((key, function(*values)) for key, values in arguments.items())
        return
    futures = {executor.submit(function, *values): key for key, values in arguments.items()}
    waiting = set(futures)
    try:
        while waiting:
            finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in finished:
                yield futures[future], future.result()
    finally:
        for future in waiting:
            future.cancel()
