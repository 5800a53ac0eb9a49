"""Base class of studies: a plan lists the cells; each is measured once and stored in a file."""

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
    of : what it measures. place : its file in the folder of cells; the name changes with
        everything that decides the numbers. words : its name on screen.
    """

    of: Any
    place: str
    words: str


class Study(ABC):
    """An experiment: it lists its cells, measures one, and combines them into a result.

    A subclass is a picklable dataclass of everything that decides the numbers.

    Attributes
    ----------
    title : name of the study when it is cancelled. tables : field → kind of its entries, and the
        available ones; an empty field stands for all.
    """

    title: ClassVar[str]
    tables: ClassVar[Mapping[str, tuple[str, Collection[str]]]] = {}

    @property
    def decides(self) -> Any:
        """Everything that decides the numbers, as JSON."""
        fields = asdict(self) | {"data": None}
        fields.pop("sessions", None)
        return [type(self).__name__, fields]

    def selected(self, field: str) -> list[str]:
        """The names in a field, or all available ones.

        Raises
        ------
        NotFoundError
            For a name that is not in the table.
        """
        kind, entries = self.tables[field]
        selected = list(getattr(self, field) or entries)
        for key in selected:
            if key not in entries:
                there = ", ".join(entries)
                raise NotFoundError(f"There is no {kind} {key!r}; there are {there}.")
        return selected

    @abstractmethod
    def batches(self) -> list[list[Task]]:
        """The cells in batches; one process measures a batch in order.

        Raises
        ------
        NotFoundError, SettingsError
            For an unknown name, or a study of nothing.
        """

    @abstractmethod
    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """Measure one cell; ``before`` maps earlier tasks of its batch to their cells.

        Only times, and results that a time limit ended, depend on anything but the arguments.
        """

    @abstractmethod
    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """Combine all cells into a result."""

    def cells_in(self, earlier: StudyResult) -> dict[Any, Cell]:
        """The cells of this study that an earlier result holds."""
        return {}

    def keeps(self, cell: Cell) -> bool:
        """Whether a cell is stored; other cells are measured again in the next run."""
        return True

    @property
    def key(self) -> str:
        """The study's name, a digest of everything that decides its numbers."""
        return digest(self.decides)

    def make(
        self,
        folder: str | Path | None = None,
        on_progress: Callable[[Progress], None] | None = None,
        cancel: Cancel = None,
        executor: Executor | None = None,
        stored_only: bool = False,
        earlier: StudyResult | None = None,
    ) -> StudyResult:
        """Measure every cell that the folder lacks.

        Parameters
        ----------
        folder : stores each measured cell, so that an interrupted study resumes.
        on_progress, cancel : called after every cell, with an executor after every batch.
        executor : measures batches, such as a ``ProcessPoolExecutor``; None: this process.
        stored_only : combine the cells in the folder, and measure nothing.
        earlier : a result whose cells of this study are written into the folder first.

        Raises
        ------
        NotFoundError, SettingsError
            For an unknown name, or a study of nothing.
        Cancelled
            When ``cancel()`` returned True; the cells in the folder stay.
        """
        batches = self.batches()
        if earlier is not None and folder is not None:
            found = self.cells_in(earlier)
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
    """Twelve hexadecimal digits that identify everything that decides some numbers."""
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:12]


def _is_stored(task: Task, folder: str | Path | None) -> bool:
    return folder is not None and stored(Path(folder) / task.place) is not None


def stored(place: Path | None) -> Cell | None:
    """The cell in this file; None without one, or if it is incomplete."""
    if place is None or not place.is_file():
        return None
    try:
        return read_json(place)
    except StoreError:
        return None


def require(fine: object, words: str, plan: Any = None) -> None:
    """Refuse an invalid study.

    Raises
    ------
    SettingsError
        With these words, unless ``fine``; they may name fields of the plan.
    """
    if not fine:
        raise SettingsError(words if plan is None else words.format_map(asdict(plan)))


class DataSet(Protocol):
    """A data set that the folder of public data may hold."""

    @property
    def label(self) -> str:
        """Its name on screen."""

    def present(self, data: Path | None) -> bool:
        """Whether it is available with this folder."""


def at_hand(problems: Iterable[P], data: Path | None) -> tuple[list[P], list[str]]:
    """The available data sets, and a note on each of the others."""
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
        With the notes, if every task is left out.
    """
    require(tasks, " ".join(["None of what was asked for can be measured.", *notes]))
    return [[task] for task in tasks]


def refused(found: Iterable[tuple[str, str, str]]) -> Iterator[tuple[str, str, dict[str, int]]]:
    """Failed items with reasons, and counts per place.

    Parameters
    ----------
    found : label, reason and place of every failure.
    """
    where: dict[tuple[str, str], Counter[str]] = {}
    for label, reason, place in found:
        where.setdefault((label, reason), Counter())[place] += 1
    yield from ((label, reason, dict(places)) for (label, reason), places in where.items())
