"""Parts of a long computation: how far it is, and what of it is stored already."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bnmf_core.core.errors import StoreError
from bnmf_core.evidence.annealing import Stopped
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.store import files

Made = TypeVar("Made")
Report = Callable[[float], None]


class Work:
    """A sequence of parts, each with its share of the time.

    rng : generator of the parts. executor : as of :class:`Tasks`. stopped : checked meanwhile.
    on_progress : called with the fraction of the whole done; it never falls. begun : the sum of
    the shares of the parts so far.
    """

    def __init__(
        self,
        rng: np.random.Generator,
        executor: Executor | None,
        stopped: Stopped,
        on_progress: Report | None,
    ) -> None:
        self.rng, self.executor, self.stopped = rng, executor, stopped
        self.begun = 0.0
        self._on_progress, self._reported = on_progress, 0.0

    def part(self, share: float) -> Report:
        """The progress callback of a part that takes this share of the time."""
        before = self.begun
        self.begun += share
        return lambda done: self.tell(before + share * done)

    def part_of(self, share: float) -> "Work":
        """A part as separate work with this share of the time and a new generator."""
        return Work(self.rng.spawn(1)[0], self.executor, self.stopped, self.part(share))

    def tell(self, done: float) -> None:
        """Report the fraction of the whole that is done."""
        self._reported = max(self._reported, min(done, 1.0))
        if self._on_progress is not None:
            self._on_progress(self._reported)

    def make(
        self,
        share: float,
        function: Callable[..., Made],
        arguments: Sequence[tuple[object, ...]],
    ) -> list[Made]:
        """``function(*each)`` for each of the arguments, in parallel."""
        with Tasks(self.executor, self.stopped, self.part(share), len(arguments)) as tasks:
            return tasks.make(function, arguments)


class Cache:
    """A cache of parts on disk.

    folder : where parts are stored; None: nowhere, each part is computed.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def arrays(
        self, name: str, make: Callable[..., Mapping[str, np.ndarray]], *arguments: object
    ) -> Mapping[str, np.ndarray]:
        """Named arrays, read from the cache or computed from the arguments."""
        return self._cached(f"{name}.npz", files.read_arrays, files.write_arrays, make, arguments)

    def plain(
        self, name: str, make: Callable[..., dict[str, Any]], *arguments: object
    ) -> dict[str, Any]:
        """Plain values, read from the cache or computed from the arguments."""
        return self._cached(f"{name}.json", files.read_json, files.write_json, make, arguments)

    def found(self, name: str) -> Any:
        """A stored part; None if it is missing or cannot be read. Changes nothing."""
        if self.folder is None:
            return None
        for path, read in (
            (self.folder / f"{name}.npz", files.read_arrays),
            (self.folder / f"{name}.json", files.read_json),
        ):
            if path.is_file():
                with suppress(StoreError):
                    return read(path)
        return None

    def _cached(
        self,
        name: str,
        read: Callable[[Path], Any],
        write: Callable[[Path, Any], None],
        make: Callable[..., Any],
        arguments: tuple[object, ...],
    ) -> Any:
        if self.folder is None:
            return make(*arguments)
        path = self.folder / name
        if path.is_file():
            try:
                return read(path)
            except StoreError:  # torn by a full disk or a crash: it is made again
                path.unlink()
        made = make(*arguments)
        write(path, made)
        return made
