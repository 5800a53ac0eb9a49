"""Counts: planted ranks, mutational signatures, and topics, under the noise of counts.

Three parts. A cell of the first is the rank study of one planted data set; of the second the rank
study of 21 genomes under one model; of the third the topics of one collection of documents at one
rank under both noises, or the evidence of one model on a few documents.
"""

from collections.abc import Hashable, Iterator
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, TypeVar

from bnmf_core.numerics.threads import one_blas_thread
from studies.counts import planted, signatures, topics
from studies.counts.planted import NOISES, Planted
from studies.counts.signatures import Signatures
from studies.counts.topics import CORPORA, Topics
from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, at_hand, digest, one_by_one, require
from studies.words import constant, words

WORDS, TABLES = words("counts"), words("counts", "plan")
MODELS: dict[str, str] = WORDS["models"]
# Part → its title on the page.
PARTS: dict[str, str] = {key: part["title"] for key, part in WORDS["parts"].items()}
VARIED = ["part", "problem", "column", "repetition", "x"]
P = TypeVar("P")


@dataclass(frozen=True)
class CountsPlan:
    """What decides the numbers; see :class:`Planted`, :class:`Signatures` and :class:`Topics`.

    Attributes
    ----------
    repetitions : planted data sets of each rank and noise. planted : their ranks.
    topics : ranks of topics.
    """

    repetitions: int = 10
    planted: tuple[int, ...] = tuple(range(2, 9))
    counts: float = 2000.0
    ratio: float = 3.0
    around: int = 2
    weighed: int = 1
    compared: int = 1
    most: int = 8
    published: int = 5
    modes: int = 2
    topics: tuple[int, ...] = (8, 16)
    terms: int = 1000
    documents: int = 2500
    restarts: int = 10
    words: int = 10
    few: int = 200
    few_rank: int = 4
    seed: int = 0


@dataclass(frozen=True)
class CountsStudy(Study):
    """These parts, keys of ``PARTS``; none: all. ``data`` : the folder of public data sets."""

    plan: CountsPlan = field(default_factory=CountsPlan)
    parts: tuple[str, ...] = ()
    data: Path | None = None
    title = "the study of counts"
    tables: ClassVar = {"parts": ("part", PARTS)}

    def batches(self) -> list[list[Task]]:
        """One batch per cell, ordered by repetition over all planted ranks."""
        plan = self.plan
        fine = plan.repetitions >= 1 and plan.restarts >= 2 and plan.published <= plan.most
        require(fine and plan.ratio > 1, WORDS["refused"])
        corpora, notes = self._corpora()
        places: dict[str, list[tuple[str, str, int]]] = {
            "signatures": [(model, "", 0) for model in signatures.MODELS],
            "topics": [(key, str(rank), 0) for key in corpora for rank in plan.topics],
            "evidence": [(key, model, 0) for key in corpora for model in signatures.MODELS],
            "planted": [
                (noise, str(rank), repetition)
                for repetition in range(plan.repetitions)
                for noise in NOISES
                for rank in plan.planted
            ],
        }
        parts = self.selected("parts")
        chosen = [part for part in places if (part if part in PARTS else "topics") in parts]
        tasks = [self._task(part, *place) for part in chosen for place in places[part]]
        return one_by_one(tasks, notes)

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """The rows of one cell, and further facts."""
        part, problem, column, repetition = task.of
        if part == "planted":
            return planted.measured(int(column), problem, repetition, self._of(Planted))
        if part == "signatures":
            return signatures.measured(problem, self._of(Signatures))
        with one_blas_thread():
            if part == "topics":
                return topics.measured(problem, int(column), self._folder, self._of(Topics))
            return topics.evidence(problem, column, self._folder, self._of(Topics))

    def cells_in(self, earlier: StudyResult) -> dict[Hashable, Cell]:
        """All cells of a result of the same plan, for any number of repetitions."""
        plan = constant({name: earlier.settings.get(name) for name in asdict(self.plan)})
        if plan | {"repetitions": None} != asdict(self.plan) | {"repetitions": None}:
            return {}
        groups = dict(iter(earlier.values.groupby(VARIED[:-1], sort=False)))
        return {
            task.of: {"rows": groups[task.of][["quantity", "x", "value"]].to_numpy().tolist()}
            | earlier.settings["told"].get(_name(task.of), {})
            for batch in self.batches()
            for task in batch
            if task.of in groups
        }

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """Values with the columns part, problem, column, repetition and x.

        - planted: the noise; the planted rank; which data set; the rank tried.
        - signatures: the model; ""; 0; the rank tried.
        - topics: the collection; the rank; 0; which factorization.
        - evidence: the collection; the model; 0; the rank.
        """
        rows = [
            (*of, int(x), quantity, float("nan") if value is None else value)
            for of, cell in cells.items()
            for quantity, x, value in cell["rows"]
        ]
        facts = {
            _name(of): {key: value for key, value in cell.items() if key != "rows"}
            for of, cell in cells.items()
        }
        labels = MODELS | {key: corpus.label for key, corpus in CORPORA.items()}
        notes = tuple(self._corpora()[1])
        settings = asdict(self.plan) | {"told": facts}
        return StudyResult(values_of(VARIED, rows), labels=labels, notes=notes, settings=settings)

    @property
    def _folder(self) -> Path:
        assert self.data is not None  # see ``_corpora``
        return self.data

    def _corpora(self) -> tuple[list[str], list[str]]:
        if "topics" not in self.selected("parts"):
            return [], []
        found, notes = at_hand(CORPORA.values(), self.data)
        return [corpus.key for corpus in found], notes

    def _task(self, part: str, problem: str, column: str, repetition: int) -> Task:
        kinds = {"planted": Planted, "signatures": Signatures}
        plan = asdict(self._of(kinds.get(part, Topics)))
        decides = [problem, int(column) if part == "planted" else column, repetition, plan]
        name = "-".join(filter(None, [part, problem, column, str(repetition), digest(decides)]))
        label = ", ".join(filter(None, [part, problem, column, str(repetition + 1)]))
        return Task((part, problem, column, repetition), f"counts/{name}.json", label)

    def _of(self, kind: type[P]) -> P:
        return kind(**{one.name: getattr(self.plan, one.name) for one in fields(kind)})


def _name(of: tuple[Any, ...]) -> str:
    return " ".join(map(str, of))


def facts_of(study: StudyResult, part: str, key: str) -> Iterator[tuple[list[str], Any]]:
    """The facts under a key of all cells of a part, each with its place."""
    for name, cell in study.settings["told"].items():
        place = name.split(" ")
        if place[0] == part and key in cell:
            yield place, cell[key]


SHORT = CountsStudy(CountsPlan(**constant(TABLES["short"])))
