"""When Q-Transform is successful: the experiments of paper 3, §8, and of its appendix E.

Errors of starts by what the transforms were learned on (figure 11), by the rank of the sources
(figure 12), by the noise of the target (figure 13, with how long the starts take to converge) and
by the transfer rank (figure 14); and the time that Stein weights take (figure 33). Targets are
|N(0, 1)| factors' products; where there is noise it is Gaussian, scaled to the norm of the product,
and entries below 0 become 0.
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import pandas as pd

from bnmf_core.explorers.processes import PROCESSES
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, digest, one_by_one, require
from studies.transfer import measure, projection, starts, weight_times
from studies.transfer.measure import LEARNING, PROJECTION, TRANSFER, Place, TransferPlan
from studies.transfer.starts import BEST, RANDOM, SOLVED
from studies.words import constant, words

WORDS = words("transfer")
COLUMNS = ["problem", "column", "x", "repetition"]
# Part → varied setting, and figure of the paper.
PARTS: dict[str, tuple[str, str]] = WORDS["parts"]
# Measured for all parts that compare errors of starts: random ones, solved NMFs, the best possible.
REFERENCE = "reference"
LABELS = starts.LABELS | {TRANSFER: "Q-Transform"} | weight_times.LABELS | projection.LABELS
# Prefixes of quantities of a race that belong to a target, not to each start.
OF_TARGET = ("seconds_", "arrival_seconds_", "making_seconds_")


@dataclass(frozen=True)
class TransferStudy(Study):
    """The study of these parts, keys of ``PARTS``."""

    plan: TransferPlan = field(default_factory=TransferPlan)
    parts: tuple[str, ...] = tuple(PARTS)
    title = "the transfer study"
    tables: ClassVar = {"parts": ("part", PARTS)}

    @property
    def decides(self) -> list[Any]:
        """What decides the numbers."""
        return ["transfer", asdict(self.plan), list(self.parts)]

    def batches(self) -> list[list[Task]]:
        """One batch a cell."""
        plan, parts = self.plan, self.selected("parts")
        fine = self.parts and min(plan.targets, plan.starts, plan.raced) >= 1
        require(fine, WORDS["refused"])
        varied: dict[str, list[tuple[str, float | None]]] = {
            "process": [(key, None) for key in PROCESSES],
            "source_rank": [("gaussian", float(rank)) for rank in plan.source_ranks],
            "noise": [(TRANSFER, noise) for noise in plan.noises],
            "transfer_rank": [
                (column, float(rank)) for column in (TRANSFER, BEST) for rank in plan.transfer_ranks
            ],
        }
        chosen = {part: pairs for part, pairs in varied.items() if part in parts}
        if set(chosen) - {"noise"}:
            chosen[REFERENCE] = [(column, None) for column in (RANDOM, SOLVED, BEST)]
        places = [
            Place(part, column, x, target)
            for part, pairs in chosen.items()
            for target in range(plan.targets)
            for column, x in pairs
        ]
        if "process" in parts:
            places += [
                Place(PROJECTION, column, float(iterations), target)
                for target in range(plan.targets)
                for column in projection.LABELS
                for iterations in projection.ITERATIONS
            ]
        if "noise" in parts:
            places.append(Place(LEARNING, TRANSFER, None, 0))
        if "weights" in parts:
            places += [
                Place("weights", column, float(M), 0)
                for column in weight_times.LABELS
                for M in plan.particles
            ]
        return batches_of(places, asdict(plan))

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """The rows of one cell."""
        return {"rows": measure.measured(task.of, self.plan, cancel)}

    def cells_in(self, earlier: StudyResult) -> dict[Place, Cell]:
        """All of a result of the same plan."""
        plan = {name: earlier.settings[name] for name in asdict(self.plan)}
        if TransferPlan(**constant(plan)) != self.plan:
            return {}
        values = earlier.values.assign(target=earlier.values["repetition"] // self.plan.starts)
        once = values["quantity"].str.startswith(OF_TARGET)
        values.loc[once, "target"] = values.loc[once, "repetition"]
        values.loc[values["problem"].isin(["weights", LEARNING]), "target"] = 0
        groups = dict(iter(values.groupby(["problem", "column", "x", "target"], sort=False)))
        cells = {}
        for place in (task.of for batch in self.batches() for task in batch):
            found = groups.get((place.problem, place.column, place.x or 0.0, place.target))
            if found is not None:
                rows = found[["repetition", "quantity", "value"]].astype(object)
                cells[place] = {"rows": rows.where(rows.notna(), None).to_numpy().tolist()}
        return cells

    def result(self, cells: dict[Place, Cell]) -> StudyResult:
        """Values with the columns problem (a part, or "reference"), column, x and repetition.

        ``column`` : what started, or which solver. ``x`` : what is varied.
        """
        numbers = {"starts": self.plan.starts, "raced": self.plan.raced}
        numbers["arrived"] = measure.ARRIVED - 1
        notes = tuple(note.format_map(numbers) for note in WORDS["notes"])
        return StudyResult(collected(cells), labels=LABELS, notes=notes, settings=asdict(self.plan))


def batches_of(places: list[Place], decides: Any) -> list[list[Task]]:
    """A batch for each cell; ``decides`` : what decides its numbers beside its place."""
    tasks = []
    for place in places:
        name = f"{place.problem}-{place.column}-{digest([asdict(place), decides])}.json"
        words = LABELS[place.column] + ("" if place.x is None else f", {place.x:g}")
        tasks.append(Task(place, f"transfer/{name}", words))
    return one_by_one(tasks)


def collected(cells: dict[Place, Cell]) -> pd.DataFrame:
    """All rows with the columns of ``COLUMNS``; x is 0 where nothing is varied."""
    rows = [
        (place.problem, place.column, place.x, *row)
        for place, cell in cells.items()
        for row in cell["rows"]
    ]
    return values_of(COLUMNS, rows).astype({"x": float}).fillna({"x": 0.0})


SHORT = TransferStudy(TransferPlan(**constant(words("transfer", "plan")["short"])))
