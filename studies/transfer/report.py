"""The transfer study on the command line and in the documentation."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from benchmarks.svg import curves
from studies.drawing.boxes import boxes
from studies.report import Report, Section
from studies.result import StudyResult
from studies.transfer.findings import RATIOS, claims, race, ratios, reference, spread
from studies.transfer.plan import PARTS, SHORT, WORDS, TransferStudy
from studies.transfer.starts import BEST, RANDOM, SOLVED

ERROR = WORDS["error"]


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """Verdicts on the paper's claims, and the numbers behind them."""
    tables = [
        {
            "title": "The paper's claims",
            "columns": ("claim", "here", "numbers"),
            "rows": [(c.claim, f"**{c.verdict}**", c.numbers) for c in claims(found)],
        }
    ]
    writers = {"process": _errors, "source_rank": _errors, "transfer_rank": _errors}
    writers |= {"noise": _ratios, "weights": _times}
    present = set(found.values["problem"])
    tables += [table(found, part) for part, table in writers.items() if part in present]
    if "noise" in present:
        tables += [_race(found, which) for which in WORDS["race"]]
    summary = [WORDS["summary"].format_map(found.settings), *found.notes]
    return [{"title": WORDS["title"], "summary": summary, "tables": tables, "plots": list(drawn)}]


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG of the figures that were measured."""
    present, drawn = set(found.values["problem"]), {}
    if "process" in present:
        chosen = found.values.query("problem == 'process' and quantity == 'error'")
        lines = reference(found, "error")
        drawn["figure_11.svg"] = boxes(
            "Figure 11: what the transforms were learned on",
            f"{ERROR} of the starts",
            {
                found.labels[key]: part["value"]
                for key, part in chosen.groupby("column", sort=False)
            },
            {found.labels[key]: lines[key] for key in (SOLVED, BEST, RANDOM)},
        )
    for part, number in (("source_rank", 12), ("transfer_rank", 14)):
        if part in present:
            words = PARTS[part][0].lower()
            series = _with_reference(found, part)
            drawn[f"figure_{number}.svg"] = curves(
                f"Figure {number}: {words}", words, f"median {ERROR}", series
            )
    if "noise" in present:
        table = ratios(found)
        series = {name: _points(table, key) for key, name in WORDS["drawn"].items()}
        title = "Figure 13: Q-Transform over random starts"
        drawn["figure_13.svg"] = curves(title, "noise ε", "ratio", series)
    if "weights" in present:
        table = spread(found, "weights", "seconds")
        series = {found.labels[key]: _points(table, key) for key in table["column"].unique()}
        title = "Figure 33: time of Stein weights"
        drawn["figure_33.svg"] = curves(title, "particles M", "seconds", series)
    return dict(sorted(drawn.items()))


def _with_reference(found: StudyResult, part: str) -> dict[str, list[tuple[float, float]]]:
    table, lines = spread(found, part, "error"), reference(found, "error")
    ends = float(table["x"].min()), float(table["x"].max())
    series = {"Q-Transform": _points(table, table["column"].iloc[0])}
    return series | {found.labels[key]: [(x, lines[key]) for x in ends] for key in (RANDOM, SOLVED)}


def _points(table: pd.DataFrame, column: str) -> list[tuple[float, float]]:
    part = table[table["column"] == column].dropna()
    return list(zip(part["x"], part["median"], strict=True))


def _errors(found: StudyResult, part: str) -> dict[str, Any]:
    once, scaled = (spread(found, part, quantity) for quantity in ("error", "scaled"))
    once, scaled = (table[table["column"] != BEST] for table in (once, scaled))
    names = once["column"].map(found.labels) if part == "process" else once["x"].map("{:g}".format)
    rows = [
        (name, *_cells(a), *_cells(b))
        for name, a, b in zip(names, once.itertuples(), scaled.itertuples(), strict=True)
    ]
    lines = [reference(found, quantity) for quantity in ("error", "scaled")]
    for key in (RANDOM, SOLVED, BEST):
        rows.append((found.labels[key], *[v for line in lines for v in (line[key], None)]))
    title, where = PARTS[part]
    columns = (title.lower(), "median", "quartiles", f"median, {WORDS['scaled']}", "quartiles")
    return {"title": f"{title} ({where}): {ERROR} of the starts", "columns": columns, "rows": rows}


def _ratios(found: StudyResult, part: str) -> dict[str, Any]:
    rows = [
        (f"{x:g}", *[f"{row.median:.3g} ({_quartiles(row)})" for row in group.itertuples()])
        for x, group in ratios(found).groupby("x")
    ]
    title, where = PARTS[part]
    return {
        "title": f"{title} ({where}): Q-Transform over random starts, median and quartiles",
        "columns": ("noise ε", *RATIOS.values()),
        "rows": rows,
    }


def _race(found: StudyResult, which: str) -> dict[str, Any]:
    medians, titles = race(found), WORDS["race"][which]
    efforts = {key: titles[key] for key in medians.columns.get_level_values(0) if key in titles}
    columns = [
        (f"{words}, {WORDS['racers'][column]}", medians[effort, column])
        for effort, words in efforts.items()
        for column in medians[effort]
    ]
    rows = [(f"{x:g}", *(float(values[x]) for _, values in columns)) for x in medians.index]
    names = ("noise ε", *(name for name, _ in columns))
    return {"title": titles["title"].format_map(found.settings), "columns": names, "rows": rows}


def _times(found: StudyResult, part: str) -> dict[str, Any]:
    table = spread(found, part, "seconds")
    wide = table.pivot_table(index="x", columns="column", values="median", sort=False)
    return {
        "title": f"Seconds to find Stein weights ({PARTS[part][1]})",
        "columns": ("M", *[found.labels[column] for column in wide]),
        "rows": [(f"{M:g}", *map(float, row)) for M, row in wide.iterrows()],
    }


def _cells(row: Any) -> tuple[float, str]:
    return float(row.median), _quartiles(row)


def _quartiles(row: Any) -> str:
    return f"{row.lower:.3g}–{row.upper:.3g}"


# One cell at a time: more at once would disturb the times.
REPORT = Report("transfer", WORDS, TransferStudy(), SHORT, sections, figures, workers=1)
