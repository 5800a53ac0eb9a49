"""The tables of the study of binary matrices, with those of the paper."""

from collections.abc import Collection, Iterator
from typing import Any

import pandas as pd

from studies.boolean.findings import RANK, READINGS, cells, claims, printed
from studies.boolean.plan import PARTS, WORDS
from studies.result import StudyResult

Table = dict[str, Any]
SHOWN: dict[str, str] = WORDS["columns"]
# Published columns, and columns summarized over several data sets.
PRINTED = ("half", "best", "low", "high")
OVER_SETS = ("half", "best", "last_half", "seconds")


def tables(found: StudyResult) -> list[Table]:
    """The paper's claims, and the numbers behind them: ``title``, ``columns`` and ``rows``."""
    rows = [(claim.claim, claim.verdict, claim.numbers) for claim in claims(found)]
    first = {
        "title": WORDS["claims_title"],
        "columns": ("claim", "here", "numbers"),
        "rows": rows,
    }
    made = [first, *_grid(found), *_runs(found), *_sets(found), *_references(found)]
    return [*made, *_three(found)]


def _grid(found: StudyResult) -> Iterator[Table]:
    """Tables 4.1 and 4.2, a table for each start, rank and reading."""
    table = cells(found, "grid")
    order = sorted(table["rank"].unique(), key=lambda rank: (rank != RANK, rank))
    for rank in order:
        for start in WORDS["tables"]:
            for reading, words in READINGS.items():
                same = (table["rank"] == rank) & (table["start"] == start)
                rows = table[same & (table["reading"] == reading)]
                if len(rows):
                    numbers = {"outputs": found.settings["iterations"], "rank": rank}
                    title = WORDS["tables"][start]["title"].format(reading=words, **numbers)
                    reference = printed(start) if rank == RANK else printed(start).iloc[:0]
                    lines = list(_beside(found, rows, reference))
                    columns = ("data", "prior", "batch", "source", *SHOWN.values())
                    yield {"title": title, "columns": columns, "rows": lines}


def _beside(found: StudyResult, rows: pd.DataFrame, reference: pd.DataFrame) -> Iterator[list[Any]]:
    """Every row, and below it the published one, if there is one."""
    for row in rows.to_dict("records"):
        names = [row["noise"], found.labels[row["column"]], row["size"]]
        yield [*names, "ours", *_numbers(row, SHOWN)]
        same = (reference["noise"] == row["noise"]) & (reference["column"] == row["column"])
        for theirs in reference[same & (reference["size"] == row["size"])].to_dict("records"):
            numbers = _numbers(theirs, PRINTED)
            yield ["", "", "", "published", *numbers, *[None] * (len(SHOWN) - len(PRINTED))]


def _numbers(row: dict[str, Any], names: Collection[str]) -> list[float | None]:
    return [None if pd.isna(row[name]) else float(row[name]) for name in names]


def _runs(found: StudyResult) -> Iterator[Table]:
    """Longer runs, and runs with the prior at another weight, cell by cell."""
    for part in ("long", "longest", "unbiased"):
        rows = cells(found, part)
        if len(rows):
            outputs = found.settings[PARTS[part]["length"]]
            columns = ("data", "prior", "start", "rank", "batch", *SHOWN.values())
            yield {
                "title": WORDS["runs_title"].format(part=PARTS[part]["label"], outputs=outputs),
                "columns": columns,
                "rows": [
                    [
                        found.labels[row["problem"]],
                        found.labels[row["column"]],
                        *(row[name] for name in ("start", "rank", "size")),
                        *_numbers(row, SHOWN),
                    ]
                    for row in rows.to_dict("records")
                ],
            }


def _sets(found: StudyResult) -> Iterator[Table]:
    """Runs of IASG over several data sets: medians and ranges."""
    table = cells(found, "grid", "luck")
    table = table[table["problem"].isin(PARTS["luck"]["problems"])] if len(table) else table
    several = table.groupby(["problem", "column", "start", "rank", "size"], sort=False)
    names = ("data", "prior", "start", "rank", "batch")
    rows = [
        [found.labels[key[0]], found.labels[key[1]], *key[2:], *_over(group)]
        for key, group in several
        if len(group) > 1
    ]
    if rows:
        yield _over_table(WORDS["sets_title"], names, rows)


def _references(found: StudyResult) -> Iterator[Table]:
    table = cells(found, "reference")
    rows = [
        [found.labels[problem], found.labels[column], *_over(group)]
        for (problem, column), group in table.groupby(["problem", "column"], sort=False)
    ]
    if rows:
        yield _over_table(WORDS["references_title"], ("data", "by"), rows)


def _over_table(title: str, names: tuple[str, ...], rows: list[list[Any]]) -> Table:
    columns = (*names, "data sets", "ones", *(SHOWN[name] for name in OVER_SETS))
    return {"title": title, "columns": columns, "rows": rows}


def _over(group: pd.DataFrame) -> list[Any]:
    spreads = [
        f"{group[name].median():.4g} ({group[name].min():.4g}–{group[name].max():.4g})"
        for name in OVER_SETS
    ]
    return [len(group), float(group["ones"].median()), *spreads]


def _three(found: StudyResult) -> Iterator[Table]:
    values = found.values[found.values["part"] == "three"]
    rows = []
    for (prior, case), part in values.groupby(["problem", "column"], sort=False):
        lists = part.sort_values("x").groupby("quantity")["value"].apply(list)
        largest, means = (", ".join(f"{v:.4f}" for v in lists[q]) for q in ("largest_at", "mean"))
        rows.append(
            [found.labels[prior], f"({case})", f"{lists['largest'][0] + 0.0:.6f}", largest, means]
        )
    if rows:
        columns = ("prior", "(a, b, c)", "largest log density", "at x, y, z", "posterior means")
        yield {"title": WORDS["three_title"], "columns": columns, "rows": rows}
