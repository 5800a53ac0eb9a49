"""The atlas on the command line and in the documentation."""

import base64
from collections.abc import Collection
from typing import Any

import numpy as np

from bnmf_core.core.names import listed, percent
from studies.atlas import findings
from studies.atlas.plan import SHORT, WORDS, AtlasStudy
from studies.atlas.sources import SOURCES
from studies.drawing.panels import Panel, panels
from studies.report import Report, Section
from studies.result import StudyResult


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """The answer, the numbers of all data sets, and a section with verdicts for each of them."""
    answer = f"{findings.answer(found)} {findings.counted(found)}"
    summary = [answer, "", WORDS["summary"].format_map(found.settings)]
    measured = findings.by_data(found)
    missing = [SOURCES[key].label for key in SOURCES.keys() - measured.keys()]
    if missing:
        summary += [WORDS["missing"].format(labels=listed(sorted(missing)))]
    whole: Section = {
        "title": WORDS["title"],
        "summary": [*summary, *found.notes],
        "tables": findings.tables(found),
        "plots": [],
    }
    return [whole, *(_of_data(key, ranked, drawn) for key, ranked in measured.items())]


def _of_data(key: str, ranked: list[findings.Ranked], drawn: Collection[str]) -> Section:
    source, (_, first) = SOURCES[key], ranked[0]
    D, N = first["shape"]
    summary = [f"{D:,} features × {N:,} observations; {source.field}. {first['model_said']}"]
    summary += [first["data_said"]] * bool(first["data_said"])
    if first["missing"]:
        summary.append(WORDS["missing_entries"].format(part=percent(first["missing"])))
    summary += [f"Published: {source.reference}."] * bool(source.reference)
    if "rank_said" in first:
        summary.append(f"Recommended: {first['rank_said']}")
    left_out = dict.fromkeys(note for _, cell in ranked for note in cell["left_out"])
    return {
        "title": source.label,
        "summary": [*summary, *left_out],
        "tables": [findings.verdicts_of(ranked)],
        "plots": [path for path in drawn if path == f"{key}.svg"],
    }


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG: the maps of all factorizations of a data set, coloured by algorithm."""
    return {
        f"{key}.svg": panels(
            WORDS["map"].format(label=SOURCES[key].label),
            [[_map(cell) for _, cell in ranked]],
        )
        for key, ranked in findings.by_data(found).items()
    }


def _map(cell: dict[str, Any]) -> Panel:
    traces = [
        (trace["name"], np.column_stack([_values(trace["x"]), _values(trace["y"])]))
        for trace in cell["pictures"]["map"]["figure"]["data"]
        if trace["mode"] == "markers" and "customdata" in trace
    ]
    points = {name: at[np.isfinite(at).all(axis=1)] for name, at in traces}
    every = np.concatenate([*points.values(), np.zeros((1, 2))])
    # One scale for both axes: distances are what is drawn.
    middle, reach = (every.max(0) + every.min(0)) / 2, 0.55 * float(np.ptp(every, axis=0).max())
    (x, y), reach = middle.tolist(), max(reach, 1e-6)
    return Panel(
        f"{findings.components_label(cell)}, {cell['modes']} mode{'s' * (cell['modes'] != 1)}",
        x=(x - reach, x + reach),
        y=(y - reach, y + reach),
        points={name: [*map(tuple, at.tolist())] for name, at in points.items()},
    )


def _values(packed: Any) -> np.ndarray:
    """The numbers of an axis, decoded if Plotly has packed them."""
    if isinstance(packed, dict):
        return np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"]).astype(float)
    return np.array(packed, dtype=float)


# An analysis uses all cores itself; the page has every table.
REPORT = Report("atlas", WORDS, AtlasStudy(), SHORT, sections, figures, workers=1, first=99)
