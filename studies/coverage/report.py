"""The coverage study on the command line and in the documentation."""

from collections.abc import Collection
from typing import Any

from studies.coverage import calibration
from studies.coverage.findings import QUANTITIES, WORDS, beside, differences
from studies.coverage.plan import SHORT, CoverageStudy
from studies.coverage.problems import COLUMNS, PROBLEMS
from studies.drawing.covering import covering_curves
from studies.report import Report, Section, as_table
from studies.result import StudyResult
from studies.words import titled


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """The tables in the paper's layout, ours above the published numbers; differences."""
    tables = [
        as_table(titled(entry), beside(found, quantity))
        for quantity, entry in QUANTITIES.items()
        if found.measured(quantity)
    ]
    summary = [WORDS["summary"].format_map(found.settings), *found.notes]
    differences_ = [f"- {difference}" for difference in differences(found)]
    return [
        {"title": WORDS["title"], "summary": summary, "tables": tables, "plots": list(drawn)},
        {"title": WORDS["differences_title"], "summary": differences_, "tables": []},
    ]


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG of figures 5 to 10: mean covering numbers over the repetitions."""
    drawn = {}
    for problem in dict.fromkeys(problem for problem, _, _ in found.curves):
        number = 5 + list(PROBLEMS).index(problem)
        for part, metric in zip("ab", found.radii, strict=True):
            curves: dict[str, Any] = {}
            for column in (c for p, c, m in found.curves if (p, m) == (problem, metric)):
                curve = found.curve(problem, column, metric)
                if curve["least"].min() > 0:  # a repetition may have kept no sample
                    curves[found.labels[column]] = curve.to_numpy()
            made_by = {
                found.labels[key]: COLUMNS[key].algorithm for key in found.labels.keys() & COLUMNS
            }
            title = f"Figure {number}{part}: {found.labels[problem]}"
            label = f"radius, {WORDS['units'][metric]}"
            drawn[f"figure_{number}{part}.svg"] = covering_curves(title, label, curves, made_by)
    return drawn


REPORT = Report("coverage", WORDS, CoverageStudy(), SHORT, sections, figures, calibration.measure)
