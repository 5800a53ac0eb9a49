"""Paper 1's comparison of samplers: fit, independence and coverage (sections 4 and 5).

Each repetition draws its own X̃, which every column then explores. Measured for each set of
samples: the mean log-likelihood and the autocorrelation time of all of it; the largest and the mean
pairwise distance and the covering numbers of its first 1000 samples, as the paper does for the
latter. The 100 radii are the same for all, evenly spaced on a logarithmic scale, because the sets
differ in size by a factor of a thousand.
"""

from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np

from bnmf_core import registry
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core.errors import RunError
from bnmf_core.core.spec import RunSpec
from studies.coverage import measure
from studies.coverage.problems import COLUMNS, PROBLEMS, SIGMA, Column, StudyProblem
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, digest, require
from studies.words import words

NOTES = words("coverage")["notes"]


@dataclass(frozen=True)
class StudyPlan:
    """Everything that decides a study's numbers, except the problems and the columns.

    ``capped`` : whether slow columns make fewer samples or repetitions, see ``Column``.
    """

    repetitions: int = 10
    samples: int = 10_000
    sigma: float = SIGMA
    seed: int = 0
    capped: bool = True


@dataclass(frozen=True)
class CoverageStudy(Study):
    """Every column on every problem.

    Attributes
    ----------
    problems, columns : keys of ``PROBLEMS`` and ``COLUMNS``; none: all. Columns whose algorithm is
        not there, or which need another one that is left out, are left out with a note.
    """

    problems: Sequence[str] = ()
    plan: StudyPlan = StudyPlan()
    columns: Sequence[str] = ()
    title = "the coverage study"
    tables: ClassVar = {"problems": ("problem", PROBLEMS), "columns": ("column", COLUMNS)}

    @property
    def decides(self) -> list[Any]:
        """What decides the numbers."""
        named = [list(self.columns)] if self.columns else []
        return [list(self.problems), asdict(self.plan), *named]

    def batches(self) -> list[list[Task]]:
        """One batch per repetition: its columns use the same data, some the same run."""
        plan = self.plan
        fine = plan.repetitions >= 1 and plan.samples >= 2 and plan.sigma > 0
        require(fine, NOTES["refused"], plan)
        problems, (columns, _) = self._problems(), self._columns()
        # A filtered column comes after the one it needs, beside the one that looks at the same run.
        shared = {column.algorithm for column in columns if column.filtered}
        ordered = sorted(columns, key=lambda c: (c.algorithm in shared, c.filtered))
        return [
            [
                self._task(problem, column, repetition)
                for column in ordered
                if repetition < self.repetitions(problem, column)
            ]
            for problem in problems
            for repetition in range(plan.repetitions)
        ]

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """The numbers of one set of samples, and its covering curves."""
        key, name, repetition = task.of
        problem, column = PROBLEMS[key], COLUMNS[name]
        largest = before[key, column.needs, repetition]["largest_error"] if column.needs else None
        spec = self.spec(problem, column, repetition)
        return measure.measured(problem, spec, self.plan.sigma, self.plan.seed, repetition, largest)

    def spec(self, problem: StudyProblem, column: Column, repetition: int) -> RunSpec:
        """The run behind one cell."""
        settings = dict(column.settings) | (dict(column.large_settings) if problem.large else {})
        return RunSpec(
            algorithm=column.algorithm,
            rank=problem.rank,
            particles=self.samples(problem, column),
            seed=self.plan.seed + 1000 * (repetition + 1),
            settings=settings,
            model_settings={"sigma": self.plan.sigma, "rate": 1.0},
        )

    def samples(self, problem: StudyProblem, column: Column) -> int:
        """Number of samples of a cell."""
        return self._capped(self.plan.samples, column.most_large if problem.large else None)

    def repetitions(self, problem: StudyProblem, column: Column) -> int:
        """Number of repetitions of a column."""
        most = column.repetitions and column.repetitions[problem.large]
        return self._capped(self.plan.repetitions, most)

    def _capped(self, count: int, most: int | None) -> int:
        return count if most is None or not self.plan.capped else min(count, most)

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """Values and curves by problem and column, in the requested order."""
        problems, (columns, left_out) = self._problems(), self._columns()
        rows: list[tuple[Any, ...]] = []
        curves = {}
        for problem in problems:
            for column in columns:
                here = [
                    cells[problem.key, column.key, repetition]
                    for repetition in range(self.repetitions(problem, column))
                ]
                rows += [
                    (problem.key, column.key, repetition, *pair)
                    for repetition, cell in enumerate(here)
                    for pair in cell.items()
                    if pair[0] != "curves"
                ]
                for metric in measure.RADII if here else ():
                    found = np.array([cell["curves"][metric] for cell in here])
                    curves[problem.key, column.key, metric] = found
        labels = {entry.key: entry.label for entry in (*problems, *columns)}
        labels |= {metric: DISTANCES[metric].label for metric in measure.RADII}
        return StudyResult(
            values_of(["problem", "column", "repetition"], rows),
            curves,
            measure.RADII,
            labels,
            (*left_out, *self.reductions()),
            asdict(self.plan),
        )

    def reductions(self) -> list[str]:
        """A note on every column with fewer samples or repetitions than planned."""
        plan, (columns, _), notes = self.plan, self._columns(), []
        for large, what in ((False, NOTES["small"]), (True, NOTES["large"])):
            of_size = [problem for problem in self._problems() if problem.large == large]
            for column in columns if of_size else []:
                for made, planned, what_of in (
                    (self.samples(of_size[0], column), plan.samples, "samples"),
                    (self.repetitions(of_size[0], column), plan.repetitions, "repetitions"),
                ):
                    if made < planned:
                        numbers = {"column": column.label, "made": made, "asked": planned}
                        chain = registry.algorithm(column.algorithm).family == "sampler"
                        short = NOTES["short_chain"] * (chain and what_of == "samples")
                        notes.append(NOTES[what_of].format(what=what, **numbers) + short)
        return notes

    def _problems(self) -> list[StudyProblem]:
        return [PROBLEMS[key] for key in self.selected("problems")]

    def _columns(self) -> tuple[list[Column], list[str]]:
        """Columns that can be measured, and notes on the others."""
        chosen = [COLUMNS[key] for key in self.selected("columns")]
        there = {column.key: column for column in chosen if column.algorithm in registry.ALGORITHMS}
        notes = [
            NOTES["no_algorithm"].format(column=column.label, algorithm=column.algorithm)
            for column in chosen
            if column.key not in there
        ]
        for column in [column for column in there.values() if column.needs not in ("", *there)]:
            del there[column.key]
            needed = COLUMNS[column.needs].label
            notes.append(NOTES["unfiltered"].format(column=column.label, needed=needed))
        if not there:
            raise RunError("None of the columns asked for can be measured. " + " ".join(notes))
        return list(there.values()), notes

    def _task(self, problem: StudyProblem, column: Column, repetition: int) -> Task:
        # How often something is repeated decides no number of one repetition.
        once = {"repetitions": None}
        needed = asdict(COLUMNS[column.needs]) | once if column.needs else None
        plan = asdict(self.plan) | once
        name = digest([asdict(problem), asdict(column) | once, plan, needed])
        return Task(
            (problem.key, column.key, repetition),
            f"{problem.key}/{column.key}-{repetition}-{name}.json",
            f"{problem.label}: {column.label}, repetition {repetition + 1}",
        )


SHORT = CoverageStudy(
    ("unique_small", "two_small", "infinite_small"), StudyPlan(repetitions=2, samples=500)
)
