"""Paper 3's comparison of algorithms by Stein discrepancy (§6, §7; figures 3, 4, 9, 15–26, 29–32).

A cell is one repetition of one data set under one model: every algorithm makes its particles, the
kernel's lengths are taken from all of them, and then all are measured with the same lengths.

- ``paper`` form: A and W as they are, with the published lengths.
- ``interior`` form: log coordinates, with the median distances between the particles of the cell.

Discrepancies can be compared within a cell, for any M; between cells the lengths differ.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from bnmf_core import registry
from bnmf_core.numerics.threads import one_blas_thread
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, at_hand, digest, one_by_one, refused, require
from studies.stein import measure
from studies.stein.problems import COLUMNS, MODELS, PROBLEMS, Column, SteinPlan, SteinProblem
from studies.stein.sources import kind, length
from studies.words import words

VARIED = ("problem", "model", "column", "particles", "repetition", "point", "last")
NOTES = words("stein")["notes"]


@dataclass(frozen=True)
class SteinStudy(Study):
    """The particles of every algorithm on every data set.

    Attributes
    ----------
    problems, algorithms, models : keys of ``PROBLEMS``, ``COLUMNS`` and ``MODELS``; none: all.
        Unavailable ones are left out with a note.
    data : the folder of public data sets.
    """

    problems: Sequence[str] = ()
    plan: SteinPlan = field(default_factory=SteinPlan)
    algorithms: Sequence[str] = ()
    models: Sequence[str] = ()
    data: Path | None = None
    title = "the study of Stein discrepancies"
    tables: ClassVar = {
        "problems": ("data set", PROBLEMS),
        "algorithms": ("algorithm", COLUMNS),
        "models": ("model", MODELS),
    }

    def batches(self) -> list[list[Task]]:
        """One batch a cell."""
        plan = self.plan
        least = min(plan.repetitions, *plan.iterations, *(size - 1 for size in plan.sizes))
        fine = least >= 1 and plan.seconds > 0 and 0 < plan.holdout <= 0.5
        require(fine and plan.sizes and plan.iterations, NOTES["refused"], plan)
        problems, notes = self._problems()
        tasks = [
            self._task(problem, model, repetition)
            for problem in problems
            for model in problem.models
            if model in self.selected("models")
            for repetition in range(plan.repetitions)
        ]
        return one_by_one(tasks, notes)

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """For every algorithm: lengths, measured numbers, and omissions with reasons."""
        key, model, repetition = task.of
        plan, problem = self.plan, PROBLEMS[key]
        dataset = problem.dataset(self.data, plan.seed)
        with one_blas_thread():
            seed = plan.seed + 1000 * (repetition + 1)
            working = self._working(model)
            return measure.measured(dataset, problem.rank, MODELS[model], working, seed, plan)

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """Values with the columns problem, model, column (the algorithm), particles (M), and so on.

        ``point`` : in time, from 0. ``last`` : of this M.
        """
        rows = [
            (problem, model, key, M, repetition, point, last, quantity, value)
            for (problem, model, repetition), cell in cells.items()
            for key, M, point, last, quantity, value in cell["rows"]
        ]
        values = values_of(VARIED, rows)
        lengths = [
            [*place, *cell["lengths"]["interior"]]
            for place, cell in cells.items()
            if cell["lengths"]
        ]
        labels = {key: PROBLEMS[key].label for key, _, _ in cells}
        labels |= {key: COLUMNS[key].label for key in self.selected("algorithms")}
        ranks = {key: [PROBLEMS[key].rank, PROBLEMS[key].reason] for key, _, _ in cells}
        notes = (*self._problems()[1], *self._unfit(cells), *_left_out(cells))
        notes += tuple(_stopped(values, labels, self.plan))
        found = [[*place, cell["model"]] for place, cell in cells.items()]
        settings = asdict(self.plan) | {"lengths": lengths, "ranks": ranks, "model_settings": found}
        return StudyResult(values, labels=labels, notes=notes, settings=settings)

    def _problems(self) -> tuple[list[SteinProblem], list[str]]:
        return at_hand((PROBLEMS[key] for key in self.selected("problems")), self.data)

    def _working(self, model: str) -> list[Column]:
        """The algorithms that can be run with the model."""
        chosen = registry.model(MODELS[model].model)
        columns = [COLUMNS[key] for key in self.selected("algorithms")]
        return [c for c in columns if registry.algorithm(c.algorithm).works_with(chosen)]

    def _task(self, problem: SteinProblem, model: str, repetition: int) -> Task:
        working = [asdict(column) for column in self._working(model)]
        plan = asdict(self.plan) | {"repetitions": None}
        one = asdict(problem) | {"models": None}
        name = digest([one, asdict(MODELS[model]), working, plan])
        return Task(
            (problem.key, model, repetition),
            f"{problem.key}/{model}-{repetition}-{name}.json",
            f"{problem.label}: {model}, repetition {repetition + 1}",
        )

    def _unfit(self, cells: dict[Any, Cell]) -> Iterator[str]:
        for model in dict.fromkeys(model for _, model, _ in cells):
            working = self._working(model)
            columns = [COLUMNS[key] for key in self.selected("algorithms")]
            labels = ", ".join(column.label for column in columns if column not in working)
            if labels:
                yield NOTES["unfit"].format(model=MODELS[model].label, labels=labels)


def _left_out(cells: dict[Any, Cell]) -> Iterator[str]:
    found = (
        (COLUMNS[key].label, reason, f"{PROBLEMS[problem].label} ({MODELS[model].label})")
        for (problem, model, _), cell in cells.items()
        for key, reason in cell["left_out"].items()
    )
    for label, reason, places in refused(found):
        yield NOTES["left_out"].format(label=label, places=", ".join(places), reason=reason)


def _stopped(values: pd.DataFrame, labels: dict[str, str], plan: SteinPlan) -> Iterator[str]:
    """Runs stopped by the time limit: one sentence for each algorithm."""
    steps = values[(values["quantity"] == "steps") & values["last"]]
    for key, part in steps.groupby("column", sort=False):
        column = COLUMNS[key]
        most = length(column, max(plan.iterations))
        if most is None:
            continue
        what = "iterations"
        if kind(column.algorithm) == "chain":
            what = "sweeps" if key == "gibbs" else "trajectories"
        short = part[part["value"] < most].groupby(["problem", "particles"], sort=False)["value"]
        of_problem: dict[str, list[float]] = defaultdict(list)
        for (problem, _), found in short.median().items():
            of_problem[problem].append(found)
        places = ", ".join(
            f"{labels[problem]} {min(found):,.0f}"
            + (f"–{max(found):,.0f}" if max(found) > min(found) else "")
            for problem, found in of_problem.items()
        )
        if places:
            yield NOTES["stopped"].format(
                label=labels[key], seconds=plan.seconds, asked=most, what=what, places=places
            )
