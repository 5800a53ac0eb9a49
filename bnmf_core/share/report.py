"""A report of a comparison: one HTML file that makes no requests.

Findings come first and need no script; then interactive figures, a table of all factorizations,
settings, versions and references. The file contains the data of every figure.
"""

import base64
import gzip
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.figures.thinning import named_by
from bnmf_core.findings.answer import Answer
from bnmf_core.lazy import lazy
from bnmf_core.share.flat import flattened, too_many
from bnmf_core.share.pictures import Picture, Subject, pictures
from bnmf_core.share.sections import body

offline = lazy("plotly.offline")

# Largest size of a report in bytes, and rows of a shortened table.
LIMIT, FEWER = 5_000_000, 500
# Significant digits of numbers in tables.
DIGITS = 9
HERE = Path(__file__).parent
# Columns of the members and their headings; the heading of the error depends on the measure.
COLUMNS = {
    "run": "run",
    "particle": "number",
    "mode": "mode",
    "error": "",
    "log_joint": "log joint (nats)",
    "movement": "remaining rotation (°)",
    "converged": "converged",
    "seconds": "seconds",
}
AS_PICTURE = " Its many points are drawn as a picture, to keep the file small."
SHORTENED = f" Its table is cut after {FEWER} rows, to keep the file small."


def report(answer: Answer, limit: int = LIMIT) -> bytes:
    """The report as HTML, of at most ``limit`` bytes as far as pictures and tables can give way.

    A larger report has images for figures, the largest first; then shortened tables. The captions
    state both.
    """
    subject = Subject(answer)
    shown = [
        picture if picture.figure is None or not too_many(picture.figure) else _made_small(picture)
        for picture in pictures(subject)
    ]
    plotly = _packed(offline.get_plotlyjs())
    while True:
        page = _page(subject, shown, plotly)
        if len(page) <= limit:
            return page
        smaller = _smaller(shown)
        if smaller is None:
            return page
        shown = smaller


def _made_small(picture: Picture) -> Picture:
    assert picture.figure is not None
    reading = picture.reading + AS_PICTURE
    return replace(picture, reading=reading, figure=flattened(picture.figure))


def _smaller(shown: Sequence[Picture]) -> list[Picture] | None:
    """Rasterize the largest figure, else shorten the longest table; None if neither is possible."""
    weights = [
        0 if p.figure is None or AS_PICTURE in p.reading else len(p.figure.to_json()) for p in shown
    ]
    found = list(shown)
    if max(weights, default=0):
        largest = int(np.argmax(weights))
        found[largest] = _made_small(shown[largest])
        return found
    longest = int(np.argmax([p.table.size for p in shown])) if shown else 0
    if not shown or len(shown[longest].table) <= FEWER:
        return None
    cut = shown[longest]
    reading = cut.reading + SHORTENED
    found[longest] = replace(cut, reading=reading, table=cut.table.head(FEWER))
    return found


def title(comparison: Comparison) -> str:
    """The launch's name, if all runs are of one named launch, data and rank."""
    called = {run.launch_name for run in comparison.runs}
    data = f"{comparison.dataset.name}, {comparison.rank} components"
    return f"{called.pop()}: {data}" if len(called) == 1 and any(called) else data


def _page(subject: Subject, shown: Sequence[Picture], plotly: str) -> bytes:
    comparison = subject.comparison
    named = title(comparison)
    content = {
        "id": comparison.key,
        "runs": [
            {"name": subject.names[run_id], "label": style.label, "color": style.color}
            for run_id, style in subject.styles.items()
        ],
        "modes": [{"name": name} for name in subject.answer.mode_names],
        "factorizations": _factorizations(subject),
        "pictures": [_plain_picture(subject, picture) for picture in shown],
    }
    parts = {
        "title": escape(named),
        "css": (HERE / "report.css").read_text(),
        "body": body(subject, named, shown),
        "content": _packed(json.dumps(content, allow_nan=False)),
        "plotly": plotly,
        "js": (HERE / "report.js").read_text(),
    }
    page = (HERE / "report.html").read_text()
    # All at once: a name in the data may look like a placeholder.
    page = re.sub(r"\{(\w+)\}", lambda found: parts.get(found[1], found[0]), page)
    return page.encode()


def _packed(text: str) -> str:
    return base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()


def _plain_picture(subject: Subject, picture: Picture) -> dict[str, object]:
    """A picture as plain values: its figure, the run of each trace, the members it shows."""
    values: dict[str, object] = {"key": picture.key, "table": _plain(picture.table)}
    if picture.figure is None:
        return values | {"figure": None, "runs": [], "members": []}
    figure = go.Figure(picture.figure)
    figure.update_layout(template="none", width=None)
    labels = [style.label for style in subject.styles.values()]
    of_run = [_run_of(trace.name, labels) for trace in figure.data]
    if picture.key == "coverage":  # a band stands before its curve and has no name
        for i, trace in enumerate(figure.data):
            if trace.name is None and i + 1 < len(of_run):
                of_run[i] = of_run[i + 1]
    drawn = json.loads(figure.to_json())
    members = [
        None if run is None or trace.customdata is None else [*map(named_by, trace.customdata)]
        for run, trace in zip(of_run, figure.data, strict=True)
    ]
    return values | {"figure": drawn, "runs": of_run, "members": members}


def _run_of(name: str | None, labels: Sequence[str]) -> int | None:
    """Index of the run that a trace belongs to, by its name."""
    found = [i for i, label in enumerate(labels) if f"{name}, ".startswith(f"{label}, ")]
    return max(found, key=lambda i: len(labels[i])) if found else None


def _factorizations(subject: Subject) -> dict[str, object]:
    comparison, members = subject.comparison, subject.comparison.members
    named = COLUMNS | {"error": comparison.measure}
    if comparison.explains:
        named |= {"error": f"{comparison.measure_heading} (%)"}
        members = members.assign(error=100.0 * (1.0 - members["error"]))
    known = {
        key: label for key, label in named.items() if key == "mode" or members[key].notna().any()
    }
    position = {run_id: i for i, run_id in enumerate(subject.styles)}
    table = members.assign(
        mode=subject.modes.labels,
        run=members["run"].map(position),
        converged=[
            "" if np.isnan(moves) else "yes" if done else "on a ridge" if ridge else "no"
            for moves, done, ridge in zip(
                members["movement"], members["converged"], members["ridge"], strict=True
            )
        ],
    )
    columns = [{"key": key, "label": label} for key, label in known.items()]
    return {"columns": columns, "rows": _plain(table[list(known)])["rows"]}


def _plain(table: pd.DataFrame) -> dict[str, list[object]]:
    """A table as plain values: rounded numbers, null for missing ones."""
    columns = [[_value(value) for value in table[column].tolist()] for column in table.columns]
    return {
        "columns": list(map(str, table.columns)),
        "rows": list(map(list, zip(*columns, strict=True))),
    }


def _value(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None
    return value if isinstance(value, bool | int | str) else None if value is None else str(value)
