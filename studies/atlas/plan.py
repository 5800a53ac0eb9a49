"""The atlas: how often does a published factorization depend on the mode?

A cell is one data set at one number of components with one seed, through the automatic analysis
with nothing set by hand; see ``plan.toml``, which was written before anything ran.
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from studies.atlas.measure import PUBLISHED, RECOMMENDED, AtlasPlan, measured
from studies.atlas.sources import SOURCES, Source
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, at_hand, digest, require
from studies.words import words

WORDS, TABLES = words("atlas"), words("atlas", "plan")
KINDS = (RECOMMENDED, PUBLISHED)
VARIED = ["problem", "column", "repetition"]
# The numbers of a cell.
NUMBERS = ("rank", "restarts", "unconverged", "modes", "as_good", "elsewhere", "seconds")


@dataclass(frozen=True)
class AtlasStudy(Study):
    """Every data set; ``problems``: keys of ``SOURCES``, none: all. ``data``: the public ones.

    kinds : the recommended number of components, the published one, or both.
    sessions : a folder for the analyses themselves, which changes no number.
    """

    plan: AtlasPlan = field(default_factory=lambda: AtlasPlan(**TABLES["plan"]))
    problems: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    data: Path | None = None
    sessions: Path | None = None
    title = "the atlas"
    tables: ClassVar = {
        "problems": ("data set", SOURCES),
        "kinds": ("kind of number of components", KINDS),
    }

    def _there(self) -> tuple[list[Source], list[str]]:
        return at_hand((SOURCES[key] for key in self.selected("problems")), self.data)

    def batches(self) -> list[list[Task]]:
        """One batch per data set and seed, the first seed of all data sets first."""
        plan = self.plan
        fine = plan.seeds >= 1 and plan.restarts >= 2 and plan.last_rank >= plan.first_rank >= 1
        require(fine, WORDS["refused"])
        there, notes = self._there()
        require(there, " ".join(notes))
        every = [
            [
                self._task(source, of_rank, seed)
                for of_rank in self.selected("kinds")
                if of_rank == RECOMMENDED or source.rank
            ]
            for seed in range(plan.seeds)
            for source in there
        ]
        return [batch for batch in every if batch]

    def _task(self, source: Source, of_rank: str, seed: int) -> Task:
        name = digest([source.decides, _deciding(self.plan)])
        return Task(
            (source.key, of_rank, seed),
            f"atlas/{source.key}-{of_rank}-{seed}-{name}.json",
            f"{source.label}, {of_rank} rank, seed {seed}",
        )

    def cells_in(self, earlier: StudyResult) -> dict[Any, Cell]:
        """The cells that were measured of the same data under the same plan."""
        tasks = [task for batch in self.batches() for task in batch]
        cells = earlier.settings["cells"]
        return {
            task.of: cells[name]["cell"]
            for task in tasks
            if (name := _name(task.of)) in cells and cells[name]["place"] == task.place
        }

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """Analyse one data set; the published rank may be the recommended one."""
        key, of_rank, seed = task.of
        recommended = before.get((key, RECOMMENDED, seed))
        if recommended is not None and recommended["rank"] == SOURCES[key].rank:
            return recommended
        return measured(key, of_rank, seed, self.plan, self.data, self.sessions)

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """Values by data set (``problem``), kind of rank (``column``) and seed (``repetition``).

        ``settings`` hold the words of every cell: verdicts, findings, models.
        """
        rows = [
            (key, of_rank, seed, quantity, float(cell[quantity]))
            for (key, of_rank, seed), cell in cells.items()
            for quantity in NUMBERS
        ]
        stored = {
            _name(of): {
                "place": self._task(SOURCES[of[0]], *of[1:]).place,
                "cell": cell,
            }
            for of, cell in cells.items()
        }
        return StudyResult(
            values_of(VARIED, rows),
            labels={source.key: source.label for source in SOURCES.values()},
            notes=tuple(self._there()[1]),
            settings=asdict(self.plan) | {"cells": stored},
        )


def _deciding(plan: AtlasPlan) -> dict[str, Any]:
    """Everything that decides a cell's numbers, without the number of seeds and the time."""
    return {key: v for key, v in asdict(plan).items() if key != "minutes"} | {"seeds": None}


def _name(of: tuple[str, str, int]) -> str:
    return "|".join(map(str, of))


SHORT = AtlasStudy(AtlasPlan(**TABLES["short"]), ("breast_genomes", "wine"))
