"""Paper 2's comparison of ways to propose components to online variational inference (§5).

A cell is one method on one data set under one noise, once: its proposals are handed to a mixture
as they are made, and the mixture they end in is measured. Every repetition has its own random
numbers, and the data are the same.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from studies.result import StudyResult, values_of
from studies.rrt import measure
from studies.rrt.problems import (
    COLUMNS,
    METHODS,
    NOISES,
    PROBLEMS,
    SCALES,
    Method,
    Noise,
    RRTPlan,
    RRTProblem,
    row,
)
from studies.rrt.stream import CLOCK
from studies.runner import Cancel, Cell, Study, Task, at_hand, digest, one_by_one, refused, require
from studies.words import words

NOTES = words("rrt")["notes"]
CURVES = ("components", "draws")


@dataclass(frozen=True)
class RRTStudy(Study):
    """Every method on every data set under every noise.

    Attributes
    ----------
    problems, noises, methods : keys of ``PROBLEMS``, ``NOISES`` and ``METHODS``; none: all.
        Unavailable ones are left out with a note.
    data : the folder of public data sets.
    """

    problems: Sequence[str] = ()
    plan: RRTPlan = field(default_factory=RRTPlan)
    noises: Sequence[str] = ()
    methods: Sequence[str] = ()
    data: Path | None = None
    title = "the study of components"
    tables: ClassVar = {
        "problems": ("data set", PROBLEMS),
        "noises": ("noise", NOISES),
        "methods": ("method", METHODS),
    }

    def batches(self) -> list[list[Task]]:
        """One batch a cell."""
        plan = self.plan
        fine = plan.repetitions >= 1 and plan.seconds > 0 and plan.tolerance > 0
        require(fine, NOTES["refused"], plan)
        problems, notes = self._problems()
        noises, methods = self.selected("noises"), self.selected("methods")
        tasks = [
            self._task(problem, NOISES[noise], METHODS[method], repetition)
            for problem in problems
            for noise in problem.noises
            if noise in noises
            for method in NOISES[noise].methods
            if method in methods
            for repetition in range(NOISES[noise].count(method, plan))
        ]
        return one_by_one(tasks, notes)

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """Columns → quantities, their covering curves, why the method ended or was left out."""
        return measure.measured(*task.of, self.plan, self.data)

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """A ``problem`` of the result is a data set and a noise (:func:`row`).

        ``settings`` also hold the sizes, the noise levels, why each method ended and the pictures
        of the simplex.
        """
        rows: list[tuple[Any, ...]] = []
        ended: list[list[Any]] = []
        labels, curves = dict(COLUMNS), {}
        sizes, noises, pictures = {}, {}, {}
        for (problem, noise, method, repetition), cell in cells.items():
            name = row(problem, noise)
            labels |= {problem: PROBLEMS[problem].label, noise: NOISES[noise].label}
            labels[name] = f"{PROBLEMS[problem].label}: {NOISES[noise].label}"
            sizes[problem], noises[name] = cell["size"], cell["noise"]
            ended.append([name, method, repetition, cell["left_out"] or cell["ended"]])
            for column, numbers in cell["columns"].items():
                rows += [(name, column, repetition, *pair) for pair in numbers.items()]
                for kind in CURVES:
                    found = cell["curves"][column][kind]
                    curves.setdefault((name, column, f"wad_{kind}"), []).append(found)
            if cell["picture"]:
                pictures.setdefault(name, {})[method] = cell["picture"]
        facts = {"sizes": sizes, "noises": noises, "ended": ended, "pictures": pictures}
        return StudyResult(
            values_of(["problem", "column", "repetition"], rows),
            curves={key: np.array(numbers) for key, numbers in curves.items()},
            radii={f"wad_{kind}": measure.RADII for kind in CURVES},
            labels=labels,
            notes=(*self._problems()[1], *_left_out(cells)),
            settings=asdict(self.plan) | facts,
        )

    def cells_in(self, earlier: StudyResult) -> dict[Hashable, Cell]:
        """Cells under the same time limit, or that no time limit has ended."""
        plan = RRTPlan(**{name: earlier.settings[name] for name in asdict(self.plan)})
        if (plan.tolerance, plan.seed) != (self.plan.tolerance, self.plan.seed):
            return {}
        ended = {tuple(entry[:3]): entry[3] for entry in earlier.settings["ended"]}
        cells: dict[Hashable, Cell] = {}
        for problem, noise, method, repetition in (t.of for batch in self.batches() for t in batch):
            name, limit = row(problem, noise), NOISES[noise].limit(method, self.plan)
            reason = ended.get((name, method, repetition))
            same = min(plan.seconds, NOISES[noise].seconds) == limit
            if reason is not None and (same or reason != CLOCK):
                found = _cell_in(earlier, name, method, repetition, reason)
                found["size"] = earlier.settings["sizes"][problem]
                cells[problem, noise, method, repetition] = found
        return cells

    def _problems(self) -> tuple[list[RRTProblem], list[str]]:
        return at_hand((PROBLEMS[key] for key in self.selected("problems")), self.data)

    def _task(self, problem: RRTProblem, noise: Noise, method: Method, repetition: int) -> Task:
        fixed = [problem.rank, problem.known, asdict(noise) | {"repetitions": None}]
        seconds = noise.limit(method.key, self.plan)
        plan = asdict(self.plan) | {"repetitions": None, "seconds": seconds}
        of_method = asdict(method)
        if method.variance == "threshold":  # as cells were called before there was another
            del of_method["variance"]
        name = digest([*fixed, of_method, plan])
        return Task(
            (problem.key, noise.key, method.key, repetition),
            f"{problem.key}/{noise.key}/{method.key}-{repetition}-{name}.json",
            f"{problem.label}, {noise.label}: {method.label}, repetition {repetition + 1}",
        )


def _cell_in(earlier: StudyResult, name: str, method: str, repetition: int, reason: str) -> Cell:
    """One cell of a result, without the size of the data."""
    columns = [method + SCALES[scale][0] for scale in METHODS[method].scales]
    rows = earlier.values[earlier.values["problem"] == name]
    cell: Cell = {"columns": {}, "curves": {}, "ended": "", "left_out": "", "picture": None}
    for column in columns:
        of_column = rows[rows["column"] == column]
        numbers = of_column[of_column["repetition"] == repetition]
        if numbers.empty:
            continue
        cell["columns"][column] = dict(zip(numbers["quantity"], numbers["value"], strict=True))
        place = sorted(of_column["repetition"].unique()).index(repetition)
        cell["curves"][column] = {
            kind: earlier.curves[name, column, f"wad_{kind}"][place].tolist() for kind in CURVES
        }
    cell["ended" if cell["columns"] else "left_out"] = reason
    cell["noise"] = earlier.settings["noises"][name]
    if repetition == 0:
        cell["picture"] = earlier.settings["pictures"].get(name, {}).get(method)
    return cell


def _left_out(cells: dict[Any, Cell]) -> Iterator[str]:
    found = (
        (
            METHODS[method].label,
            cell["left_out"],
            f"{PROBLEMS[problem].label} ({NOISES[noise].label})",
        )
        for (problem, noise, method, _), cell in cells.items()
        if cell["left_out"]
    )
    for label, reason, places in refused(found):
        where = ", ".join(f"{place}, {count}×" for place, count in places.items())
        yield NOTES["left_out"].format(label=label, places=where, reason=reason)
