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
    """Parts, one after the other, each with its share of the time.

    rng : what the parts draw from. executor : as of :class:`Tasks`. stopped : asked meanwhile.
    on_progress : told how much of the whole is done; it never falls. begun : the shares of the
    parts so far, together.
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
        self._on_progress, self._told = on_progress, 0.0

    def part(self, share: float) -> Report:
        """The progress of a part of the work, which takes this share of the time."""
        before = self.begun
        self.begun += share
        return lambda done: self.tell(before + share * done)

    def part_of(self, share: float) -> "Work":
        """A part as work of its own, which takes this share of the time; its generator is new."""
        return Work(self.rng.spawn(1)[0], self.executor, self.stopped, self.part(share))

    def tell(self, done: float) -> None:
        """Tell how much of the whole is done."""
        self._told = max(self._told, min(done, 1.0))
        if self._on_progress is not None:
            self._on_progress(self._told)

    def make(
        self,
        share: float,
        function: Callable[..., Made],
        arguments: Sequence[tuple[object, ...]],
    ) -> list[Made]:
        """``function(*each)`` for each of the arguments, side by side."""
        with Tasks(self.executor, self.stopped, self.part(share), len(arguments)) as tasks:
            return tasks.make(function, arguments)


class Cache:
    """Makes each part once.

    folder : where parts are kept; None: nowhere, and each is made.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def arrays(
        self, name: str, make: Callable[..., Mapping[str, np.ndarray]], *arguments: object
    ) -> Mapping[str, np.ndarray]:
        """Named arrays, kept from before or made now from the arguments."""
        return self._kept(f"{name}.npz", files.read_arrays, files.write_arrays, make, arguments)

    def plain(
        self, name: str, make: Callable[..., dict[str, Any]], *arguments: object
    ) -> dict[str, Any]:
        """Plain values, kept from before or made now from the arguments."""
        return self._kept(f"{name}.json", files.read_json, files.write_json, make, arguments)

    def found(self, name: str) -> Any:
        """A part that is kept; None where there is none that can be read. Changes nothing."""
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

    def _kept(
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
