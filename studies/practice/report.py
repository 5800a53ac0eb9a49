"""The study of common practice on the command line and in the documentation."""

from collections.abc import Collection

from bnmf_core.compare.modes import SAME_MODE
from studies.practice.findings import sentences, tables
from studies.practice.plan import SHORT, WORDS, PracticeStudy
from studies.report import Report, Section
from studies.result import StudyResult


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """How often the programs' reports differ, and the reports."""
    summary = WORDS["summary"].format_map({**found.settings, "angle": SAME_MODE})
    return [
        {
            "title": WORDS["title"],
            "summary": [*sentences(found), "", summary],
            "tables": tables(found),
            "plots": [],
        }
    ]


# One cell at a time: more at once would disturb the times.
REPORT = Report("practice", WORDS, PracticeStudy(), SHORT, sections, lambda found: {}, workers=1)
