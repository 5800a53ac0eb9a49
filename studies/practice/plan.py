"""Common practice on the data sets of the atlas: what would a user of one program have reported?

A cell is one program on one data set, more than once; see ``plan.toml``, which was written before
anything ran.
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from studies.atlas.findings import shipped
from studies.atlas.sources import SOURCES
from studies.practice.measure import PRACTICES, TABLES, UNSUITED, PracticePlan, measured
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, at_hand, digest, one_by_one, require
from studies.words import words

WORDS = words("practice")
VARIED = ["problem", "column", "repetition"]


def ranks() -> dict[str, int]:
    """The number of components of each data set: published, else recommended by the atlas."""
    found = {key: ranked[0][1]["rank"] for key, ranked in shipped().items()}
    return found | {key: source.rank for key, source in SOURCES.items() if source.rank}


@dataclass(frozen=True)
class PracticeStudy(Study):
    """Every program on every data set; ``problems``, ``practices``: keys, none: all."""

    plan: PracticePlan = field(default_factory=lambda: PracticePlan(**TABLES["plan"]))
    problems: tuple[str, ...] = ()
    practices: tuple[str, ...] = ()
    data: Path | None = None
    title = "the study of common practice"
    tables: ClassVar = {"problems": ("data set", SOURCES), "practices": ("program", PRACTICES)}

    def batches(self) -> list[list[Task]]:
        """One batch a cell."""
        plan, numbers = self.plan, ranks()
        require(min(plan.starts, plan.runs) >= 2 <= plan.last_rank, WORDS["refused"])
        there, notes = at_hand((SOURCES[key] for key in self.selected("problems")), self.data)
        tasks = []
        for key in self.selected("practices"):
            practice = PRACTICES[key]
            for source in there:
                rank, fields = numbers.get(source.key), practice.fields
                # One component is the same from every start.
                if not rank or (rank == 1 and not practice.peer):
                    continue
                if not fields or source.field in fields:
                    decides = [source.decides, practice.decides, asdict(plan), rank]
                    place = f"practice/{source.key}-{key}-{digest(decides)}.json"
                    words = f"{practice.label}, {source.label}"
                    tasks.append(Task((source.key, key, rank), place, words))
        return one_by_one(tasks, notes)

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """The report of one program on one data set."""
        return measured(*task.of, self.plan, self.data)

    def cells_in(self, earlier: StudyResult) -> dict[Any, Cell]:
        """The cells measured on the same data under the same plan."""
        cells = {path: cell for path, cell in earlier.settings["cells"].items() if self.keeps(cell)}
        return {task.of: cells[task.place] for [task] in self.batches() if task.place in cells}

    def keeps(self, cell: Cell) -> bool:
        """Whether the program ran; a failure may be temporary."""
        return cell["left_out"] in ("", UNSUITED)

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """``settings`` hold every cell with its program and data set."""
        places = {task.of: task.place for [task] in self.batches()}
        return StudyResult(
            values_of(
                VARIED,
                [
                    (key, practice, 0, "seconds", cell["seconds"])
                    for (key, practice, _), cell in cells.items()
                    if not cell["left_out"]
                ],
            ),
            labels={source.key: source.label for source in SOURCES.values()},
            settings=asdict(self.plan)
            | {
                "cells": {places[of]: cell for of, cell in cells.items()},
                "of": {places[of]: of for of in cells},
            },
        )


SHORT = PracticeStudy(PracticePlan(**TABLES["plan"] | TABLES["short"]), ("wine", "breast_genomes"))
