"""How good the starts of every process are on a dataset of the user's own."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import RunError
from bnmf_core.nouns.problem import Problem, check_fit
from bnmf_core.numerics.threads import one_blas_thread
from studies import starts
from studies.cells import digest
from studies.coverage import StudyProgress
from studies.result import StudyResult
from studies.starts import BEST, RANDOM, SOLVED
from studies.transfer import REFERENCE, Rows, Task, collected, made_cells, rows


@dataclass(frozen=True, eq=False)
class OwnStarts:
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

    @property
    def _decides(self) -> list:
        return [
            self.dataset.hash,
            self.rank,
            self.transfer_rank,
            self.count,
            self.solved,
            self.seed,
        ]

    @property
    def key(self) -> str:
        """What it is called: changes with everything that decides its numbers."""
        return digest(["own starts", *self._decides])

    def make(
        self,
        folder: Path | None = None,
        on_progress: Callable[[StudyProgress], None] | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> StudyResult:
        """Measure what is not in the folder yet; the parts and columns of the transfer study.

        Raises
        ------
        RunError
            When the rank does not fit the data.
        Cancelled
            When ``cancel()`` returned True; the cells in the folder stay.
        """
        check_fit(self.dataset, np.arange(self.dataset.N), self.rank)
        problem = Problem(self.dataset, model=None, model_settings=None, rank=self.rank)
        tasks = [Task("process", key, None, 0) for key in PROCESSES]
        tasks += [Task(REFERENCE, key, None, 0) for key in (RANDOM, SOLVED, BEST)]
        cells = made_cells(
            "the errors of starts", tasks, folder, self._decides,
            lambda task: self._measure(problem, task, cancel), on_progress, cancel,
        )  # fmt: skip
        notes = tuple(
            f"{starts.LABELS[task.column]} is left out: the parts of these data that were drawn at "
            "random held nothing but zeros."
            for task, found in cells.items()
            if not found
        )
        settings = {
            "dataset": self.dataset.name, "rank": self.rank, "transfer_rank": self.transfer_rank,
            "starts": self.count, "solved": self.solved, "seed": self.seed,
        }  # fmt: skip
        return StudyResult(collected(cells), labels=starts.LABELS, notes=notes, settings=settings)

    def _measure(self, problem: Problem, task: Task, cancel: Callable[[], bool] | None) -> Rows:
        with one_blas_thread():
            if task.column == SOLVED:
                made = starts.random(problem, self.solved, self.seed)
                made = starts.solved(problem, made, cancel=cancel)[0].particles
            elif task.column == BEST:
                made = starts.best(problem, self.transfer_rank)
            elif task.column == RANDOM:
                made = starts.random(problem, self.count, self.seed)
            else:
                try:
                    made = starts.transferred(
                        problem, self.count, self.seed, process=task.column,
                        transfer_rank=self.transfer_rank,
                        source_size=max(12, self.transfer_rank),
                    )  # fmt: skip
                except RunError:  # a sparse target may give nothing but zeros
                    return []
            return rows(starts.errors(problem, *made))
