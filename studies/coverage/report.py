"""The coverage study on the command line and in the documentation."""

from argparse import Namespace
from collections.abc import Collection
from typing import Any

from studies.coverage import calibration
from studies.coverage.findings import DIFFERENCES, QUANTITIES, WORDS, beside
from studies.coverage.plan import CoverageStudy, StudyPlan
from studies.coverage.problems import COLUMNS, PROBLEMS
from studies.drawing.covering import covering_curves
from studies.report import Report, Section, as_table
from studies.result import StudyResult
from studies.words import titled

SHORT = StudyPlan(repetitions=2, samples=500)
OPTIONS = {
    "--repetitions": {"type": int, "help": "10 when left out"},
    "--samples": {"type": int, "help": "10,000 when left out"},
    "--only": {"choices": ("small", "large"), "help": "these problems only"},
    "--problem": {"nargs": "+", "choices": tuple(PROBLEMS), "help": "these only"},
    "--column": {"nargs": "+", "choices": tuple(COLUMNS), "help": "these only"},
    "--uncapped": {"action": "store_true", "help": "slow columns in full, for hours"},
    "--calibrate": {"action": "store_true", "help": "find the noise and the updates"},
}


def study(asked: Namespace) -> CoverageStudy:
    """The study that the command line asks for."""
    usual = SHORT if asked.short else StudyPlan()
    plan = StudyPlan(
        asked.repetitions or usual.repetitions,
        asked.samples or usual.samples,
        capped=not asked.uncapped,
    )
    only = "small" if asked.short and asked.only is None else asked.only or ""
    problems = [
        key for key in PROBLEMS if key.endswith(only) and key in (asked.problem or PROBLEMS)
    ]
    return CoverageStudy(tuple(problems), plan, tuple(asked.column or ()))


def instead(asked: Namespace) -> Section | None:
    """What is told in the place of a study: how its free numbers were found."""
    repetitions = asked.repetitions or calibration.REPETITIONS
    return calibration.measure(repetitions) if asked.calibrate else None


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """The tables in the paper's layout, ours above the published numbers; what differs, and why."""
    tables = [
        as_table(titled(entry), beside(found, quantity))
        for quantity, entry in QUANTITIES.items()
        if found.measured(quantity)
    ]
    summary = [WORDS["summary"].format_map(found.settings), *found.notes]
    told = [f"- {difference}" for difference in DIFFERENCES]
    return [
        {"title": WORDS["title"], "summary": summary, "tables": tables, "plots": list(drawn)},
        {"title": WORDS["differences_title"], "summary": told, "tables": []},
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
            title = f"Figure {number}{part}: {found.labels[problem]}"
            label = f"radius, {WORDS['units'][metric]}"
            drawn[f"figure_{number}{part}.svg"] = covering_curves(title, label, curves)
    return drawn


REPORT = Report("coverage", WORDS, OPTIONS, study, sections, figures, instead=instead)
