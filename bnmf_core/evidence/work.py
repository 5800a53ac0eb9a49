"""A long computation of several parts: where it is done, whether to go on, and how far it is."""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

import numpy as np

from bnmf_core.evidence.annealing import Stopped
from bnmf_core.numerics.tasks import Tasks

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
