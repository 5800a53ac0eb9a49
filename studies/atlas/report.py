"""The atlas on the command line and in the documentation."""

from collections.abc import Collection

from studies.atlas.findings import tables
from studies.atlas.plan import SHORT, WORDS, AtlasStudy
from studies.report import Report, Section
from studies.result import StudyResult


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """What the program says of every data set, and the numbers behind it."""
    summary = [WORDS["summary"].format_map(found.settings), *found.notes]
    return [
        {
            "title": WORDS["title"],
            "summary": summary,
            "tables": tables(found),
            "plots": list(drawn),
        }
    ]


def figures(found: StudyResult) -> dict[str, str]:
    """None yet."""
    return {}


# An analysis keeps all cores busy by itself.
REPORT = Report("atlas", WORDS, AtlasStudy(), SHORT, sections, figures, workers=1)
