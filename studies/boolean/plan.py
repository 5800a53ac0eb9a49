"""Binary matrices by stochastic gradients: the experiments of paper 4, chapters 3 and 4.

Runs of IASG on tables made of 30 tiles, in both readings of how dense they are: the density that
table 3.1 states, and the one that the errors of tables 4.1 and 4.2 imply. Three ranks, three batch
sizes, two starts and four priors; longer runs; more data sets where a claim depends on luck; and
exact samplers on the same data. As published σ is 1, nothing is discarded, and a batch stands
against the whole prior.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from studies.boolean import measure
from studies.boolean.measure import (
    CASE_PRIORS,
    CASES,
    LABELS,
    PROBLEMS,
    REFERENCES,
    BooleanPlan,
    Place,
)
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, digest, one_by_one, require
from studies.words import constant, words

WORDS = words("boolean")
PLAN = words("boolean", "plan")
PARTS: dict[str, dict[str, Any]] = PLAN["parts"]
COLUMNS = ["part", "problem", "column", "start", "rank", "size", "repetition", "x"]
BASE = PARTS["grid"]
# Field of a study → name of its entries.
VARIED = {"columns": "column", "starts": "start", "ranks": "rank", "sizes": "size"}


@dataclass(frozen=True)
class BooleanStudy(Study):
    """The study of these parts, on these data, with these priors, starts, ranks and batch sizes.

    A part uses the chosen values that it varies; references have neither start nor batch.
    """

    plan: BooleanPlan = field(default_factory=BooleanPlan)
    parts: tuple[str, ...] = tuple(PARTS)
    problems: tuple[str, ...] = tuple(PROBLEMS)
    columns: tuple[str, ...] = tuple(BASE["columns"])
    starts: tuple[str, ...] = tuple(BASE["starts"])
    ranks: tuple[str, ...] = tuple(BASE["ranks"])
    sizes: tuple[str, ...] = tuple(BASE["sizes"])
    title = "the study of binary matrices"
    tables: ClassVar = {
        "parts": ("part", PARTS),
        "problems": ("data set", PROBLEMS),
        "columns": ("prior", BASE["columns"]),
        "starts": ("start", BASE["starts"]),
        "ranks": ("rank", BASE["ranks"]),
        "sizes": ("batch size", BASE["sizes"]),
    }

    def batches(self) -> list[list[Task]]:
        """One batch a cell."""
        plan = self.plan
        require(min(plan.iterations, plan.repetitions, plan.sweeps) >= 1, WORDS["refused"])
        places = [place for part in self.selected("parts") for place in self._places(part)]
        return one_by_one([_task(place, plan) for place in places])

    def _places(self, part: str) -> list[Place]:
        if part == "three":
            return [Place(part, prior, case) for prior in CASE_PRIORS for case in CASES]
        problems, every = self.selected("problems"), range(self.plan.repetitions)
        if part == "reference":
            return [
                Place(part, problem, key, repetition=i)
                for problem in problems
                for key in REFERENCES
                for i in every
            ]
        varied = PARTS[part]
        column, start, rank, size = (
            [key for key in self.selected(name) if key in varied[name]] for name in VARIED
        )
        problems = [key for key in problems if key in varied.get("problems", problems)]
        # The grid has the first data set.
        sets = every[1:] if varied.get("luck") else every[:1]
        return [
            Place(part, problem, c, s, r, m, varied.get("weight", "published"), varied["length"], i)
            for i in sets
            for problem in problems
            for c in column
            for s in start
            for r in rank
            for m in size
        ]

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """The rows of one cell."""
        return {"rows": measure.measured(task.of, self.plan, cancel)}

    def result(self, cells: dict[Place, Cell]) -> StudyResult:
        """Values with the columns of ``COLUMNS``; x : number of a point, a bin or an output."""
        rows = [
            (*(getattr(place, name) for name in COLUMNS[:-1]), x, quantity, value)
            for place, cell in cells.items()
            for quantity, x, value in cell["rows"]
        ]
        settings = asdict(self.plan)
        notes = (*(note.format_map(settings) for note in WORDS["notes"]), *self._missing(cells))
        return StudyResult(values_of(COLUMNS, rows), labels=LABELS, notes=notes, settings=settings)

    def cells_in(self, earlier: StudyResult) -> dict[Place, Cell]:
        """Cells measured with the same numbers of the plan."""
        plan = BooleanPlan(**{name: earlier.settings[name] for name in asdict(self.plan)})
        names = COLUMNS[:-1]
        groups = dict(iter(earlier.values.groupby(names, sort=False)))
        cells = {}
        for place in (task.of for batch in self.batches() for task in batch):
            rows = groups.get(tuple(getattr(place, name) for name in names))
            if rows is not None and plan.decides(place) == self.plan.decides(place):
                cells[place] = {"rows": rows[["quantity", "x", "value"]].to_numpy().tolist()}
        return cells

    def _missing(self, cells: dict[Place, Cell]) -> list[str]:
        """A note on the progress of each part, if one is incomplete."""
        planned = Counter(task.of.part for batch in self.batches() for task in batch)
        there = Counter(place.part for place in cells)
        parts = [f"{PARTS[p]['label']}: {there[p]} of {n} cells" for p, n in planned.items()]
        short = any(there[part] < count for part, count in planned.items())
        return [WORDS["missing"].format(parts="; ".join(parts))] if short else []


def _task(place: Place, plan: BooleanPlan) -> Task:
    name = f"{place.problem}-{place.column}-{digest([asdict(place), plan.decides(place)])}.json"
    labels = [
        PARTS[place.part]["label"],
        PROBLEMS[place.problem].label if place.problem in PROBLEMS else place.problem,
        LABELS.get(place.column, place.column),
        *[f"{word} {value}" for word, value in (("rank", place.rank), ("S", place.size)) if value],
        place.start,
    ]
    return Task(place, f"boolean/{place.part}/{name}", ", ".join(part for part in labels if part))


SHORT = BooleanStudy(BooleanPlan(**constant(PLAN["short"])))
