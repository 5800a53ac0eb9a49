"""When Q-Transform is successful: figures 11 to 14 and 33 of its paper, made again.

``python -m benchmarks.transfer_study`` measures everything (some minutes on two cores); it goes on
where it was stopped. ``--short``: one target of 100×100 and few starts.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from benchmarks import harness
from benchmarks.boxes_svg import boxes
from benchmarks.svg import curves
from benchmarks.tables import as_markdown, as_text
from studies import full
from studies.result import StudyResult
from studies.starts import BEST, RANDOM, SOLVED
from studies.transfer import PARTS, SHORT, TransferPlan, TransferStudy
from studies.transfer_tables import RATIOS, claims, ratios, reference, spread

OUT = Path(__file__).resolve().parent / ".study"
DOCS = Path(__file__).resolve().parents[1] / "docs"
ERROR = "‖X − A₀W₀‖/‖X‖"
SCALED = "the least over one common factor"


def main() -> int:
    """The command line."""
    asked = _arguments()
    asked.out.mkdir(parents=True, exist_ok=True)
    plan = SHORT if asked.short else TransferPlan()
    study = TransferStudy(plan, tuple(asked.part or PARTS)).make(
        asked.out / "cells",
        on_progress=lambda p: print(f"{p.done}/{p.total} {p.stage}", file=sys.stderr),
    )
    study.save(asked.out / "transfer_study.json")
    drawn, result = figures(study), as_result(study)
    for path, drawing in drawn.items():
        (asked.out / path).write_text(drawing)
    if asked.keep:
        _keep(study, drawn, result)
    shown = result | {"machine": harness.machine()}
    print(json.dumps(shown, indent=1, default=harness.plain) if asked.json else as_text(result))
    print(f"Figures and transfer_study.json are in {asked.out}.", file=sys.stderr)
    return 0


def _keep(study: StudyResult, drawn: dict[str, str], result: dict[str, Any]) -> None:
    """Put the study where the Starts page and the documentation show it."""
    study.save(full.TRANSFER_PATH)
    pictures = DOCS / "transfer-study"
    pictures.mkdir(parents=True, exist_ok=True)
    for path, drawing in drawn.items():
        (pictures / path).write_text(drawing)
    plots = [{"title": path, "path": f"transfer-study/{path}"} for path in drawn]
    (DOCS / "transfer-study.md").write_text(as_markdown(result | {"plots": plots}))


def as_result(study: StudyResult) -> dict[str, Any]:
    """What holds of the paper's claims, and the numbers behind it."""
    plan = study.settings
    present = set(study.values["problem"])
    tables = [
        {
            "title": "The paper's claims",
            "columns": ("claim", "here", "numbers"),
            "rows": [(c.claim, f"**{c.verdict}**", c.numbers) for c in claims(study)],
        }
    ]
    tables += [_errors(study, part) for part in PARTS if part in present - {"noise", "weights"}]
    if "noise" in present:
        tables.append(_ratios(study))
    if "weights" in present:
        tables.append(_times(study))
    return {
        "title": "Transfer study",
        "summary": [
            f"{plan['targets']} targets of {plan['side']}×{plan['side']} and rank {plan['rank']} "
            f"(rank {plan['noisy_rank']} with noise), {plan['starts']} starts of each kind on "
            "each.",
            *study.notes,
        ],
        "tables": tables,
        "raw": json.loads(study.values.to_json(orient="records")),
    }


def figures(study: StudyResult) -> dict[str, str]:
    """File name → SVG of the figures that were measured."""
    present, drawn = set(study.values["problem"]), {}
    if "process" in present:
        chosen = study.values.query("problem == 'process' and quantity == 'error'")
        lines = reference(study, "error")
        drawn["figure_11.svg"] = boxes(
            "Figure 11: what the transforms were learned on",
            f"{ERROR} of the starts",
            {
                study.labels[key]: part["value"]
                for key, part in chosen.groupby("column", sort=False)
            },
            {study.labels[key]: lines[key] for key in (SOLVED, BEST, RANDOM)},
        )
    for part, number in (("source_rank", 12), ("transfer_rank", 14)):
        if part in present:
            title, words = f"Figure {number}: {PARTS[part][0].lower()}", PARTS[part][0].lower()
            drawn[f"figure_{number}.svg"] = curves(
                title, words, f"median {ERROR}", _with_reference(study, part)
            )
    if "noise" in present:
        table = ratios(study)
        shown = ("error", "iterations", "seconds", "arrival")
        drawn["figure_13.svg"] = curves(
            "Figure 13: Q-Transform over random starts", "noise ε", "ratio",
            {RATIOS[key].replace(" until", ""): _points(table, key) for key in shown},
        )  # fmt: skip
    if "weights" in present:
        table = spread(study, "weights", "seconds")
        drawn["figure_33.svg"] = curves(
            "Figure 33: time of Stein weights", "particles M", "seconds",
            {study.labels[key]: _points(table, key) for key in dict.fromkeys(table["column"])},
        )  # fmt: skip
    return dict(sorted(drawn.items()))


def _with_reference(study: StudyResult, part: str) -> dict[str, list[tuple[float, float]]]:
    table, lines = spread(study, part, "error"), reference(study, "error")
    ends = float(table["x"].min()), float(table["x"].max())
    series = {"Q-Transform": _points(table, table["column"].iloc[0])}
    for key in (RANDOM, SOLVED):
        series[study.labels[key]] = [(x, lines[key]) for x in ends]
    return series


def _points(table: Any, column: str) -> list[tuple[float, float]]:
    part = table[table["column"] == column].dropna()
    return list(zip(part["x"], part["median"], strict=True))


def _errors(study: StudyResult, part: str) -> dict[str, Any]:
    once, scaled = (spread(study, part, quantity) for quantity in ("error", "scaled"))
    once, scaled = (table[table["column"] != BEST] for table in (once, scaled))
    names = once["column"].map(study.labels) if part == "process" else once["x"].map("{:g}".format)
    rows = [
        (name, *_cells(a), *_cells(b))
        for name, a, b in zip(names, once.itertuples(), scaled.itertuples(), strict=True)
    ]
    lines = [reference(study, quantity) for quantity in ("error", "scaled")]
    for key in (RANDOM, SOLVED, BEST):
        rows.append((study.labels[key], *[v for found in lines for v in (found[key], None)]))
    title, where = PARTS[part]
    return {
        "title": f"{title} ({where}): {ERROR} of the starts",
        "columns": (title.lower(), "median", "quartiles", f"median, {SCALED}", "quartiles"),
        "rows": rows,
    }


def _ratios(study: StudyResult) -> dict[str, Any]:
    table = ratios(study)
    rows = [
        (f"{x:g}", *[f"{row.median:.3g} ({row.lower:.3g}–{row.upper:.3g})" for row in rows])
        for x, rows in ((x, list(part.itertuples())) for x, part in table.groupby("x"))
    ]
    title, where = PARTS["noise"]
    return {
        "title": f"{title} ({where}): Q-Transform over random starts, median and quartiles",
        "columns": ("noise ε", *RATIOS.values()),
        "rows": rows,
    }


def _times(study: StudyResult) -> dict[str, Any]:
    table = spread(study, "weights", "seconds")
    wide = table.pivot_table(index="x", columns="column", values="median", sort=False)
    return {
        "title": "Seconds to find Stein weights (figure 33)",
        "columns": ("M", *[study.labels[column] for column in wide]),
        "rows": [(f"{M:g}", *map(float, row)) for M, row in wide.iterrows()],
    }


def _cells(row: Any) -> tuple[float, str]:
    return float(row.median), f"{row.lower:.3g}–{row.upper:.3g}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.transfer_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--part", nargs="+", choices=tuple(PARTS), help="these only")
    parser.add_argument("--short", action="store_true", help="one small target, few starts")
    parser.add_argument(
        "--keep", action="store_true", help="show it on the Starts page and in docs/ from now on"
    )
    parser.add_argument("--out", type=Path, default=OUT, help="where results are kept")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
