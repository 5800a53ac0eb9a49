"""The study of topics on the command line and in the documentation."""

from collections.abc import Collection

from studies.drawing.boxes import boxes
from studies.report import Report, Section
from studies.result import StudyResult
from studies.topics.findings import of_quantity, tables
from studies.topics.measure import OURS
from studies.topics.plan import SHORT, WORDS, TopicsStudy


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """Verdicts on the paper's claims, and the numbers behind them."""
    made = tables(found)
    made[0]["rows"] = [(claim, f"**{here}**", numbers) for claim, here, numbers in made[0]["rows"]]
    summary = [WORDS["summary"].format_map(found.settings), *found.notes]
    return [{"title": WORDS["title"], "summary": summary, "tables": made, "plots": list(drawn)}]


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG: AUC of Q-Transform's factorizations, and of all algorithms by category."""
    aucs, drawn = of_quantity(found, "auc"), {}
    ours = aucs[aucs["column"] == OURS]
    if len(ours):
        series = {str(task): part["value"] for task, part in ours.groupby("problem", sort=False)}
        title = "Figure 6: AUC of Q-Transform's factorizations"
        drawn["figure_6.svg"] = boxes(title, "AUC on held-out posts", series, {"chance": 0.5})
    for task, part in aucs.groupby("problem", sort=False):
        series = {
            found.labels[key]: rows["value"] for key, rows in part.groupby("column", sort=False)
        }
        title = f"Figure 28: AUC of the category {task}"
        drawing = boxes(title, "AUC on held-out posts", series, {"chance": 0.5})
        drawn[f"figure_28_{task}.svg"] = drawing
    return dict(sorted(drawn.items()))


# One cell at a time: more at once would disturb the times.
REPORT = Report("topics", WORDS, TopicsStudy(), SHORT, sections, figures, workers=1)
