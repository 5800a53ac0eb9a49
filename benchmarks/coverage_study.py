"""Paper 1's tables 1 to 8 and figures 5 to 10, made again and put beside the published numbers.

``python -m benchmarks.coverage_study`` measures everything (about half an hour on two cores); it
goes on where it was stopped. ``--short``: two repetitions of 500 samples, small problems only.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks import calibration, harness
from benchmarks.covering_svg import covering_curves
from benchmarks.tables import as_markdown, as_text
from studies import full
from studies.beside import beside
from studies.coverage import StudyPlan, coverage_study
from studies.problems import COLUMNS, PROBLEMS
from studies.published import DIFFERENCES
from studies.result import QUANTITIES, StudyResult

OUT = Path(__file__).resolve().parent / ".study"
DOCS = Path(__file__).resolve().parents[1] / "docs"
SHORT = StudyPlan(repetitions=2, samples=500)
UNITS = {"max_angle": "maximum angle, °", "l1_max": "ℓ1 distance, largest column"}


def main() -> int:
    """The command line."""
    asked = _arguments()
    if asked.calibrate:
        result = calibration.measure(asked.repetitions or calibration.REPETITIONS)
        print(_as_json(result) if asked.json else as_text(result))
        return 0
    usual = SHORT if asked.short else StudyPlan()
    plan = StudyPlan(
        asked.repetitions or usual.repetitions,
        asked.samples or usual.samples,
        capped=not asked.uncapped,
    )
    only = "small" if asked.short and asked.only is None else asked.only
    problems = [key for key in PROBLEMS if only is None or key.endswith(only)]
    if asked.problem:
        problems = [key for key in problems if key in asked.problem]
    asked.out.mkdir(parents=True, exist_ok=True)
    with harness.workers(asked.workers) as executor:
        study = coverage_study(
            problems, plan, asked.column, asked.out / "cells",
            on_progress=harness.reporter(),
            executor=executor,
        )  # fmt: skip
    study.save(asked.out / "study.json")
    drawn, result = figures(study), as_result(study)
    for path, drawing in drawn.items():
        (asked.out / path).write_text(drawing)
    if asked.keep:
        _keep(study, drawn, result)
    print(_as_json(result) if asked.json else as_text(result))
    print(f"Figures and study.json are in {asked.out}.", file=sys.stderr)
    return 0


def _keep(study: StudyResult, drawn: dict[str, str], result: dict[str, Any]) -> None:
    """Put the study where the Study page and the documentation show it."""
    study.save(full.PATH)
    pictures = DOCS / "coverage-study"
    pictures.mkdir(parents=True, exist_ok=True)
    for path, drawing in drawn.items():
        (pictures / path).write_text(drawing)
    told = ["## What differs from the publication, and why", "", *(f"- {d}" for d in DIFFERENCES)]
    plots = [{"title": path, "path": f"coverage-study/{path}"} for path in drawn]
    tables = as_markdown(result | {"plots": plots})
    (DOCS / "coverage-study.md").write_text("\n".join([tables, *told, ""]))


def as_result(study: StudyResult) -> dict[str, Any]:
    """The tables in the paper's layout, ours above the published numbers."""
    plan = study.settings
    return {
        "title": "Coverage study",
        "summary": [
            f"{plan['repetitions']} repetitions of {plan['samples']:,} samples, each repetition "
            f"with an X̃ of its own, noise σ = {plan['sigma']:g} (not published; see --calibrate). "
            "A cell holds the mean over repetitions and, in brackets, the quartiles. Distances "
            "are measured on the first 1,000 samples. The IAT in the paper's form leaves out a "
            "factor 2 and follows the entries of A, whose scale drifts.",
            *study.notes,
        ],
        "tables": [
            _table(study, quantity) for quantity in QUANTITIES if _measured(study, quantity)
        ],
        "raw": json.loads(study.values.to_json(orient="records")),
    }


def _table(study: StudyResult, quantity: str) -> dict[str, Any]:
    table = beside(study, quantity)
    table.loc[table["source"] == "published", "problem"] = ""
    title, where = QUANTITIES[quantity]
    return {
        "title": f"{title} ({where})" if where else title,
        "columns": tuple(table.columns),
        "rows": table.to_numpy().tolist(),
    }


def figures(study: StudyResult) -> dict[str, str]:
    """File name → SVG of figures 5 to 10: mean covering numbers over the repetitions."""
    drawn = {}
    problems = list(dict.fromkeys(problem for problem, _, _ in study.curves))
    for problem in problems:
        number = 5 + list(PROBLEMS).index(problem)
        for part, metric in zip("ab", study.radii, strict=True):
            series = {}
            for column in (c for p, c, m in study.curves if p == problem and m == metric):
                curve = study.curve(problem, column, metric)
                if curve["least"].min() > 0:  # a repetition may have kept no sample
                    series[study.labels[column]] = curve.to_numpy()
            title = f"Figure {number}{part}: {study.labels[problem]}"
            label = f"radius, {UNITS[metric]}"
            drawn[f"figure_{number}{part}.svg"] = covering_curves(title, label, series)
    return drawn


def _measured(study: StudyResult, quantity: str) -> bool:
    return bool((study.values["quantity"] == quantity).any())


def _as_json(result: dict[str, Any]) -> str:
    return json.dumps(result | {"machine": harness.machine()}, indent=1, default=harness.plain)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.coverage_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--repetitions", type=int, help="10 when left out")
    parser.add_argument("--samples", type=int, help="10,000 when left out")
    parser.add_argument("--only", choices=("small", "large"), help="these problems only")
    parser.add_argument("--problem", nargs="+", choices=tuple(PROBLEMS), help="these only")
    parser.add_argument("--column", nargs="+", choices=tuple(COLUMNS), help="these only")
    parser.add_argument("--short", action="store_true", help="small problems, 2 × 500 samples")
    parser.add_argument("--uncapped", action="store_true", help="slow columns in full, for hours")
    parser.add_argument(
        "--keep", action="store_true", help="show it on the Study page and in docs/ from now on"
    )
    parser.add_argument("--calibrate", action="store_true", help="find the noise and the updates")
    parser.add_argument("--out", type=Path, default=OUT, help="where results are kept")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
