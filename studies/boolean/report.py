"""The study of binary matrices on the command line and in the documentation."""

from collections.abc import Collection

from studies.boolean.figures import figures
from studies.boolean.plan import SHORT, WORDS, BooleanStudy
from studies.boolean.tables import tables
from studies.report import Report, Section
from studies.result import StudyResult


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """Verdicts on the paper's claims, and the numbers behind them."""
    made = tables(found)
    made[0]["rows"] = [(claim, f"**{here}**", numbers) for claim, here, numbers in made[0]["rows"]]
    summary = [WORDS["summary"].format_map(found.settings), *found.notes]
    return [{"title": WORDS["title"], "summary": summary, "tables": made, "plots": list(drawn)}]


REPORT = Report("boolean", WORDS, BooleanStudy(), SHORT, sections, figures, first=1)
