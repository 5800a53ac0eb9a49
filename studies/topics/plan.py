"""Topics of newsgroup posts: words and predictions of equally good factorizations (paper 3, §7).

A cell is one algorithm on one split of the posts, with its own seed. Figure 5 (words), figures 6
and 28 (AUC of categories on held-out posts); key terms of figure 5 are counted in the place of
figure 7, whose data are not public.
"""

from collections.abc import Hashable
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

from studies.result import StudyResult, values_of
from studies.runner import Cancel, Cell, Study, Task, digest, one_by_one, require
from studies.topics import measure
from studies.topics.measure import COLUMNS, TABLES, TopicsPlan
from studies.words import words

WORDS = words("topics")
VARIED = ["problem", "column", "repetition", "x"]


@dataclass(frozen=True)
class TopicsStudy(Study):
    """Every algorithm on every split; ``algorithms``: keys of ``COLUMNS``, none: all."""

    plan: TopicsPlan = field(default_factory=TopicsPlan)
    algorithms: tuple[str, ...] = ()
    title = "the study of topics"
    tables: ClassVar = {"algorithms": ("algorithm", COLUMNS)}

    def batches(self) -> list[list[Task]]:
        """One batch a cell."""
        plan = self.plan
        fine = plan.repetitions >= 1 and plan.particles >= 2 and plan.iterations >= 1
        require(fine, WORDS["refused"])
        fixed = asdict(plan) | {"repetitions": None}
        tasks = []
        for column in self.selected("algorithms"):
            name = digest([COLUMNS[column], fixed])
            tasks += [
                Task(
                    (column, repetition),
                    f"topics/{column}-{repetition}-{name}.json",
                    f"{COLUMNS[column]['label']}, repetition {repetition + 1}",
                )
                for repetition in range(plan.repetitions)
            ]
        return one_by_one(tasks)

    def measure(self, task: Task, before: dict[Hashable, Cell], cancel: Cancel) -> Cell:
        """Words and predictions of one algorithm's factorizations."""
        return measure.measured(*task.of, self.plan)

    def cells_in(self, earlier: StudyResult) -> dict[Hashable, Cell]:
        """All cells of a result of the same plan, for any number of repetitions."""
        plan = {name: earlier.settings[name] for name in asdict(self.plan)}
        if plan | {"repetitions": None} != asdict(self.plan) | {"repetitions": None}:
            return {}
        groups = dict(iter(earlier.values.groupby(["column", "repetition"], sort=False)))
        return {
            task.of: {
                "rows": groups[task.of][["problem", "x", "quantity", "value"]].to_numpy().tolist(),
                "words": earlier.settings["side_by_side"] if task.of == (measure.OURS, 0) else {},
            }
            for batch in self.batches()
            for task in batch
            if task.of in groups
        }

    def result(self, cells: dict[Any, Cell]) -> StudyResult:
        """Values with the columns problem (a category, a topic, a term, "all"), column, repetition.

        ``x`` : which factorization. ``settings`` also hold the words of the first repetition.
        """
        rows = [
            (problem, column, repetition, int(m), quantity, value)
            for (column, repetition), cell in cells.items()
            for problem, m, quantity, value in cell["rows"]
        ]
        posts = measure.posts()
        sizes = {"posts": posts.N, "terms": posts.D}
        shown = cells.get((measure.OURS, 0), {}).get("words", {})
        return StudyResult(
            values_of(VARIED, rows),
            labels={key: str(column["label"]) for key, column in COLUMNS.items()},
            notes=tuple(note.format_map(asdict(self.plan)) for note in WORDS["notes"]),
            settings=asdict(self.plan) | sizes | {"side_by_side": shown},
        )


SHORT = TopicsStudy(TopicsPlan(**TABLES["short"]))
