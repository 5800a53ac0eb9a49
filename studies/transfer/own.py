"""Errors of the starts of every process on a user's dataset."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import RunError
from bnmf_core.core.problem import Problem, check_fit
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.numerics.threads import one_blas_thread
from studies.result import StudyResult
from studies.runner import Cancel, Cell, Study, Task
from studies.transfer import starts
from studies.transfer.measure import Place, rows
from studies.transfer.plan import REFERENCE, WORDS, batches_of, collected
from studies.transfer.starts import BEST, RANDOM, SOLVED


@dataclass(frozen=True, eq=False)
class OwnStarts(Study):
    """Errors of starts on one dataset, by what the transforms were learned on.

    Attributes
    ----------
    dataset, rank : what is factorized. transfer_rank : R_T.
    count : starts of each kind. solved : random ones of them that are solved, for reference.
    """

    dataset: Dataset
    rank: int
    transfer_rank: int = 3
    count: int = 50
    solved: int = 5
    seed: int = 0
    title = "the errors of starts"

    @property
    def decides(self) -> list[Any]:
        """What decides the numbers."""
        return ["own starts", *self._decides]

    @property
    def _decides(self) -> list[Any]:
        chosen = [self.rank, self.transfer_rank, self.count, self.solved, self.seed]
        return [self.dataset.hash, *chosen]

    def batches(self) -> list[list[Task]]:
        """One batch a cell; the parts and columns of the transfer study.

        Raises
        ------
        RunError
            When the rank does not fit the data.
        """
        check_fit(self.dataset, np.arange(self.dataset.N), self.rank)
        places = [Place("process", key, None, 0) for key in PROCESSES]
        places += [Place(REFERENCE, key, None, 0) for key in (RANDOM, SOLVED, BEST)]
        return batches_of(places, self._decides)

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """The rows of one cell; none where a process finds nothing but zeros."""
        problem = Problem.without_model(self.dataset, self.rank)
        column, rank = task.of.column, self.transfer_rank
        request = starts.Request(column, self.count, self.solved, rank, self.seed)
        chosen = {"process": column, "transfer_rank": rank, "source_size": max(12, rank)}
        with one_blas_thread():
            try:
                made = starts.made(problem, request, cancel, **chosen)
            except RunError:
                if column not in PROCESSES:
                    raise
                return {"rows": []}  # a sparse target may give nothing but zeros
            return {"rows": rows(starts.errors(problem, *made))}

    def result(self, cells: dict[Place, Cell]) -> StudyResult:
        """Values with the columns of the transfer study."""
        notes = tuple(
            WORDS["own_left_out"].format(starts.LABELS[place.column])
            for place, cell in cells.items()
            if not cell["rows"]
        )
        settings = {
            "dataset": self.dataset.name,
            "rank": self.rank,
            "transfer_rank": self.transfer_rank,
            "starts": self.count,
            "solved": self.solved,
            "seed": self.seed,
        }
        return StudyResult(collected(cells), labels=starts.LABELS, notes=notes, settings=settings)
