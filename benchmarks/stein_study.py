"""Paper 3's comparison of algorithms by Stein discrepancy, made again (§6, §7, appendices A to E).

``python -m benchmarks.stein_study --data FOLDER`` measures everything; it goes on where it was
stopped. FOLDER holds public data sets (cbcl, olivetti, samson); what is not there is left out.
``--short``: one repetition of two samples, few particles, in about a minute.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.svg import curves, side_by_side
from benchmarks.tables import as_markdown, as_text
from bnmf_core import registry
from studies import stein_result
from studies.result import StudyResult
from studies.stein import SteinPlan, stein_study
from studies.stein_problems import MODELS, PROBLEMS
from studies.stein_result import (
    FORMS,
    QUANTITIES,
    SHORT_FORMS,
    Selection,
    findings,
    ordering,
    over_time,
    selections,
    table,
)
from studies.stein_sources import ALGORITHMS

OUT = Path(__file__).resolve().parent / ".stein_study"
DOCS = Path(__file__).resolve().parents[1] / "docs"
SHORT = SteinPlan(repetitions=1, sizes=(5, 10), iterations=(5, 20), seconds=1.0)
SHORT_PROBLEMS = ("faces", "digits")
# Errors and diversity hardly depend on M: they are told for the largest only.
FOR_EVERY_M = ("paper_weighted", "interior_weighted", "paper_equal", "interior_equal", "seconds")


def main() -> int:
    """The command line."""
    asked = _arguments()
    plan = SHORT if asked.short else SteinPlan(asked.repetitions or SteinPlan.repetitions)
    usual = SHORT_PROBLEMS if asked.short else PROBLEMS
    problems = [key for key in PROBLEMS if key in (asked.only or usual)]
    asked.out.mkdir(parents=True, exist_ok=True)
    with harness.workers(asked.workers) as executor:
        study = stein_study(
            problems, plan, asked.algorithm, asked.model, asked.data, asked.out / "cells",
            on_progress=harness.reporter(), executor=executor,
        )  # fmt: skip
    where = {"machine": harness.machine(), "workers": asked.workers}
    study = replace(study, settings=dict(study.settings) | where)
    study.save(asked.out / "study.json")
    drawn = figures(study)
    for path, drawing in drawn.items():
        (asked.out / path).write_text(drawing)
    if asked.keep:
        keep(study, drawn)
    results = as_results(study)
    print(_as_json(study, results) if asked.json else "\n\n".join(map(as_text, results)))
    print(f"Figures and study.json are in {asked.out}.", file=sys.stderr)
    return 0


def keep(study: StudyResult, drawn: dict[str, str], docs: Path = DOCS) -> None:
    """Put the study where the Discrepancy page and the documentation show it."""
    study.save(stein_result.PATH)
    pictures = docs / "stein-study"
    pictures.mkdir(parents=True, exist_ok=True)
    for path, drawing in drawn.items():
        (pictures / path).write_text(drawing)
    (docs / "stein-study.md").write_text(document(study, drawn))


def document(study: StudyResult, drawn: dict[str, str]) -> str:
    """docs/stein-study.md: what was done, what it says of the paper, tables and figures."""
    results = as_results(study)
    parts = ["# Stein discrepancies: which algorithm makes the better posterior in less time?", ""]
    parts.append(as_markdown(results[0]))
    for result, model in zip(results[1:], _models(study), strict=True):
        plots = [
            {"title": path, "path": f"stein-study/{path}"}
            for path in drawn
            if path.startswith(f"{model}_")
        ]
        parts.append(as_markdown(result | {"plots": plots}))
    return "\n".join(parts).rstrip() + "\n"


def as_results(study: StudyResult) -> list[dict[str, Any]]:
    """What the study says of the paper, then one result with tables for each model."""
    plan = study.settings
    ranks = "; ".join(
        f"{study.labels[key]} {rank} ({reason})" for key, (rank, reason) in plan["ranks"].items()
    )
    first = {
        "title": "What the numbers say of the paper's ordering",
        "summary": [
            "The paper: “the best discrete posteriors (lowest Stein discrepancy) are produced in "
            "the least time using the Q-Transform initializations”; gradient-based algorithms "
            "rarely do well; for the exponential–Gaussian model Gibbs is the other best.",
            "",
            *(f"- {sentence}" for sentence in findings(study)),
            "",
            f"{plan['repetitions']} repetitions; {plan['holdout']:.0%} of the observations held "
            f"out; chains and the descents of one M stopped after {plan['seconds']:g} s (10,000 "
            "draws and 2,000 iterations in the paper); one thread, one BLAS thread. In the "
            "interior form the lengths are the median distances between all particles of a cell. "
            f"Machine: {_machine(plan)}. Ranks: {ranks}. A table holds means over the repetitions "
            "and, in brackets, ranges.",
            "",
            *(f"- {note}" for note in study.notes),
        ],
        "tables": [_ordering(study, chosen) for chosen in selections(study)],
    }
    return [first, *(_of_model(study, model) for model in _models(study))]


def _of_model(study: StudyResult, model: str) -> dict[str, Any]:
    sizes = [chosen for chosen in selections(study) if chosen.model == model]
    told = [(quantity, chosen) for quantity in FOR_EVERY_M for chosen in sizes]
    told += [(quantity, sizes[-1]) for quantity in QUANTITIES if quantity not in FOR_EVERY_M]
    return {
        "title": stein_result.MODELS[model],
        "summary": [],
        "tables": [
            _table(study, chosen, quantity)
            for quantity, chosen in told
            if _measured(study, chosen, quantity)
        ],
    }


def _table(study: StudyResult, chosen: Selection, quantity: str) -> dict[str, Any]:
    found = table(study, chosen, quantity)
    title, where = QUANTITIES[quantity]
    return {
        "title": f"{title}, M = {chosen.M}" + (f" ({where})" if where else ""),
        "columns": tuple(found.columns),
        "rows": found.to_numpy().tolist(),
    }


def _ordering(study: StudyResult, chosen: Selection) -> dict[str, Any]:
    rows = []
    for form in FORMS:
        for row in ordering(study, chosen, f"{form}_weighted").itertuples():
            names = [study.labels[key] for key in (row.problem, row.lowest, row.fastest)]
            rows.append(
                [names[0], SHORT_FORMS[form], names[1], row.rank, row.ratio, names[2], row.holds]
            )
    return {
        "title": f"{stein_result.MODELS[chosen.model]}, M = {chosen.M}, Stein weights",
        "columns": (
            "data", "form", "lowest", "rank of Q-Transform", "Q-Transform / lowest",
            f"fastest within {stein_result.SAME:.0%} of the lowest", "holds",
        ),
        "rows": rows,
    }  # fmt: skip


def figures(study: StudyResult) -> dict[str, str]:
    """File name → SVG: discrepancy with Stein weights against time, both forms side by side."""
    drawn = {}
    colors = {study.labels[key]: registry.algorithm(key).color for key in ALGORITHMS
              if key in study.labels}  # fmt: skip
    for chosen in selections(study):
        for problem in study.values[study.values["model"] == chosen.model]["problem"].unique():
            title = f"{study.labels[problem]}, {chosen.model}, M = {chosen.M}"
            panels = []
            for form in FORMS:
                found = over_time(study, chosen, problem, f"{form}_weighted")
                found = found[(found["value"] > 0) & (found["seconds"] > 0)]
                if found.empty:
                    continue
                series = {
                    study.labels[key]: _mean_points(part)
                    for key, part in found.groupby("column", sort=False)
                }
                words = f"{title}: {SHORT_FORMS[form]}"
                panels.append(curves(words, "seconds", "Stein discrepancy", series, colors))
            if panels:
                path = f"{chosen.model}_{problem}_{chosen.M}.svg"
                drawn[path] = side_by_side(title, panels)
    return drawn


def _machine(plan: Mapping[str, Any]) -> str:
    here = plan["machine"]
    return f"{here['processor']}, {here['cores']} cores, {plan['workers']} cells at once"


def _mean_points(part: Any) -> list[tuple[float, float]]:
    """Means over the repetitions, point by point; a repetition may have fewer points."""
    number = part.groupby("repetition").cumcount()
    points = part.groupby(number)[["seconds", "value"]].mean()
    return list(points.itertuples(index=False, name=None))


def _measured(study: StudyResult, chosen: Selection, quantity: str) -> bool:
    values = study.values
    here = (values["model"] == chosen.model) & (values["particles"] == chosen.M)
    return bool((here & (values["quantity"] == quantity)).any())


def _models(study: StudyResult) -> list[str]:
    return list(study.values["model"].unique())


def _as_json(study: StudyResult, results: list[dict[str, Any]]) -> str:
    raw = {"values": json.loads(study.values.to_json(orient="records"))}
    whole = {"results": results, "raw": raw, "machine": harness.machine()}
    return json.dumps(whole, indent=1, default=harness.plain)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.stein_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with public data sets")
    parser.add_argument("--repetitions", type=int, help="3 when left out")
    parser.add_argument("--only", nargs="+", choices=tuple(PROBLEMS), help="these data sets only")
    parser.add_argument("--model", nargs="+", choices=MODELS, help="these only")
    parser.add_argument("--algorithm", nargs="+", choices=ALGORITHMS, help="these only")
    parser.add_argument("--short", action="store_true", help="a minute: numbers mean little")
    parser.add_argument(
        "--keep", action="store_true", help="show it on the Discrepancy page and in docs/"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where results are kept")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
