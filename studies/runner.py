"""How every study is made: a plan says which cells, each is measured once, and kept as a file."""

import hashlib
import json
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Executor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar

from bnmf_core.core.errors import NotFoundError, SettingsError, StoreError, raise_if_cancelled
from bnmf_core.store.files import read_json, write_json
from studies.result import StudyResult

# The numbers of one cell, as JSON has them.
Cell = dict[str, Any]
Cancel = Callable[[], bool] | None
P = TypeVar("P", bound="DataSet")


@dataclass(frozen=True)
class Progress:
    """How far a study is: cells measured, cells in all, and what was measured last."""

    done: int
    total: int
    stage: str


@dataclass(frozen=True)
class Task:
    """One cell.

    Attributes
    ----------
    of : what it measures. place : its file in the folder of cells, whose name changes with
        everything that decides the numbers. words : what it is called on screen.
    """

    of: Any
    place: str
    words: str


class Study(ABC):
    """An experiment: which cells there are, how one is measured, and what they are put together to.

    A subclass is a dataclass of what decides the numbers; it can be sent to another process.

    Attributes
    ----------
    title : what is cancelled, in words. tables : field → what its entries are called, and those
        there are; a field that names none of them stands for all.
    """

    title: ClassVar[str]
    tables: ClassVar[Mapping[str, tuple[str, Collection[str]]]] = {}

    @property
    def decides(self) -> Any:
        """What decides the numbers, as JSON has it."""
        said = asdict(self) | {"data": None}
        said.pop("sessions", None)
        return [type(self).__name__, said]

    def asked(self, field: str) -> list[str]:
        """The names in a field, or all there are.

        Raises
        ------
        NotFoundError
            For one that is not in its table.
        """
        kind, entries = self.tables[field]
        asked = list(getattr(self, field) or entries)
        for key in asked:
            if key not in entries:
                there = ", ".join(entries)
                raise NotFoundError(f"There is no {kind} {key!r}; there are {there}.")
        return asked

    @abstractmethod
    def batches(self) -> list[list[Task]]:
        """The cells, in batches: one is measured in one process, in its order.

        Raises
        ------
        NotFoundError, SettingsError
            For an unknown name, or a study of nothing.
        """

    @abstractmethod
    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """One cell; ``before`` holds those of its batch that come before it, by what they are of.

        Depends on its arguments only, but for times, and what ended at a time.
        """

    @abstractmethod
    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """All cells, by what they are of, put together."""

    def cells_in(self, kept: StudyResult) -> dict[Any, Cell]:
        """The cells that a result holds, by what they are of, where they can be told from it."""
        return {}

    def keeps(self, cell: Cell) -> bool:
        """Whether a cell is stored; one that is not is measured again the next time."""
        return True

    @property
    def key(self) -> str:
        """What the study is called: changes with everything that decides its numbers."""
        return digest(self.decides)

    def make(
        self,
        folder: str | Path | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: Cancel = None,
        executor: Executor | None = None,
        stored_only: bool = False,
        kept: StudyResult | None = None,
    ) -> StudyResult:
        """Measure every cell that is not in the folder yet.

        Parameters
        ----------
        folder : where each measured cell is kept, so that an interrupted study goes on from there.
        on_progress, cancel : called and asked after every cell, with an executor after every batch.
        executor : where batches are measured, such as a ``ProcessPoolExecutor``; None: here.
        stored_only : put together what is in the folder, and measure nothing.
        kept : an earlier result; what it holds of this study is put into the folder first.

        Raises
        ------
        NotFoundError, SettingsError
            For an unknown name, or a study of nothing.
        Cancelled
            When ``cancel()`` returned True; the cells in the folder stay.
        """
        batches = self.batches()
        if kept is not None and folder is not None:
            found = self.cells_in(kept)
            for task in (task for batch in batches for task in batch if task.of in found):
                if not _is_stored(task, folder):
                    write_json(Path(folder) / task.place, found[task.of])
        if stored_only:
            there = ([task for task in batch if _is_stored(task, folder)] for batch in batches)
            batches = [batch for batch in there if batch]
            require(batches, "Nothing of this study has been measured yet.")
        tasks = [task for batch in batches for task in batch]
        cells: dict[Hashable, Cell] = {}

        def report(stage: str) -> None:
            if on_progress is not None:
                on_progress(Progress(len(cells), len(tasks), stage))
            raise_if_cancelled(cancel, self.title)

        report("Starting")
        for found in self._made(batches, folder, cancel, executor):
            cells |= {task.of: cell for task, cell in found}
            report(found[-1][0].words)
        return self.result({task.of: cells[task.of] for task in tasks})

    def _made(
        self,
        batches: list[list[Task]],
        folder: str | Path | None,
        cancel: Cancel,
        executor: Executor | None,
    ) -> Iterator[list[tuple[Task, Cell]]]:
        if executor is None:
            for batch in batches:
                yield from ([found] for found in self._in_order(batch, folder, cancel))
            return
        waiting = {executor.submit(self._whole, batch, folder) for batch in batches}
        try:
            while waiting:
                finished, waiting = wait(waiting, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in finished)
        finally:
            for future in waiting:
                future.cancel()

    def _whole(self, batch: list[Task], folder: str | Path | None) -> list[tuple[Task, Cell]]:
        return list(self._in_order(batch, folder, None))

    def _in_order(
        self, batch: list[Task], folder: str | Path | None, cancel: Cancel
    ) -> Iterator[tuple[Task, Cell]]:
        before: dict[Hashable, Cell] = {}
        for task in batch:
            place = None if folder is None else Path(folder) / task.place
            cell = stored(place)
            if cell is None:
                cell = self.measure(task, before, cancel)
                if place is not None and self.keeps(cell):
                    write_json(place, cell)
            before[task.of] = cell
            yield task, cell


def digest(decides: Any) -> str:
    """Twelve characters that change with everything that decides some numbers."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:12]


def _is_stored(task: Task, folder: str | Path | None) -> bool:
    return folder is not None and stored(Path(folder) / task.place) is not None


def stored(place: Path | None) -> Cell | None:
    """The cell in this file; None where there is none, or one that was torn while written."""
    if place is None or not place.is_file():
        return None
    try:
        return read_json(place)
    except StoreError:
        return None


def require(fine: object, words: str, plan: Any = None) -> None:
    """Refuse a study that makes no sense.

    Raises
    ------
    SettingsError
        With these words, where it is not fine; they may name numbers of its plan.
    """
    if not fine:
        raise SettingsError(words if plan is None else words.format_map(asdict(plan)))


class DataSet(Protocol):
    """A data set that may lie in the folder of public ones."""

    @property
    def label(self) -> str:
        """Its name on screen."""

    def present(self, data: Path | None) -> bool:
        """Whether it can be had with this folder."""


def at_hand(problems: Iterable[P], data: Path | None) -> tuple[list[P], list[str]]:
    """The data sets that can be had, and a note on each of the others."""
    there, notes = [], []
    for problem in problems:
        if problem.present(data):
            there.append(problem)
        else:
            notes.append(
                f"{problem.label} is left out: its data are not in the folder of public data sets."
            )
    return there, notes


def one_by_one(tasks: list[Task], notes: Iterable[str] = ()) -> list[list[Task]]:
    """A batch for each task.

    Raises
    ------
    SettingsError
        With the notes on what is left out, where that is everything.
    """
    require(tasks, " ".join(["None of what was asked for can be measured.", *notes]))
    return [[task] for task in tasks]


def refused(found: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, dict[str, int]]]:
    """What could not be made and why, with how often in which place.

    Parameters
    ----------
    found : what it is called, the reason, and the place, once for each time.
    """
    where: dict[tuple[str, str], Counter[str]] = {}
    for label, reason, place in found:
        where.setdefault((label, reason), Counter())[place] += 1
    yield from ((label, reason, dict(places)) for (label, reason), places in where.items())
