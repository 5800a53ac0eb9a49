"""Results as tables: plain text for the terminal, Markdown for RESULTS.md.

A result is a dictionary with ``title``, ``summary`` (sentences), ``tables`` (each with ``title``,
``columns`` and ``rows`` of values) and ``raw`` (everything measured, for JSON only).
"""

from collections.abc import Sequence
from typing import Any


def cell(value: Any) -> str:
    """A value in a few characters."""
    if value is None:
        return "—"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def part(value: float | None) -> str:
    """A fraction of the target: "120 %" is better than the target, "50 %" is half."""
    return "—" if value is None else f"{value:.0%}"


def spread(found: dict[str, Any], unit: str = "×") -> str:
    """A median with its least and largest value."""
    low, high = cell(float(found["min"])), cell(float(found["max"]))
    return f"{cell(float(found['median']))}{unit} ({low}–{high})"


def as_markdown(result: dict[str, Any]) -> str:
    """One section of RESULTS.md."""
    lines = [f"## {result['title']}", "", *result["summary"], ""]
    for table in result["tables"]:
        lines += [f"**{table['title']}**", "", *_grid(table), ""]
    for plot in result.get("plots", ()):
        lines += [f"![{plot['title']}]({plot['path']})", ""]
    return "\n".join(lines)


def as_text(result: dict[str, Any]) -> str:
    """The tables for a terminal, columns aligned."""
    lines = [result["title"], *result["summary"]]
    for table in result["tables"]:
        rows = [list(table["columns"]), *[[cell(v) for v in row] for row in table["rows"]]]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines += ["", table["title"]]
        lines += ["  ".join(v.ljust(w) for v, w in zip(row, widths, strict=True)) for row in rows]
    return "\n".join(lines)


def _grid(table: dict[str, Any]) -> list[str]:
    def line(values: Sequence[Any]) -> str:
        return "| " + " | ".join(cell(v).replace("|", "\\|") for v in values) + " |"

    return [
        line(table["columns"]),
        "|" + "---|" * len(table["columns"]),
        *[line(row) for row in table["rows"]],
    ]
