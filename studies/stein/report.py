"""The study of Stein discrepancies on the command line and in the documentation."""

from collections.abc import Collection
from typing import Any

import pandas as pd

from benchmarks.svg import curves, side_by_side
from bnmf_core import registry
from studies.report import Report, Section, as_table, machine
from studies.result import StudyResult
from studies.stein import findings
from studies.stein.findings import FORMS, QUANTITIES, SHORT_FORMS, WORDS, Selection
from studies.stein.plan import SteinStudy
from studies.stein.problems import COLUMNS, TABLES, SteinPlan
from studies.words import titled

SHORT = SteinStudy(
    ("faces", "digits"), SteinPlan(repetitions=1, sizes=(5, 10), iterations=(5, 20), seconds=1.0)
)
# Errors and diversity hardly depend on M: tables show them for the largest only.
NOISE = {"sigma": "σ", "epsilon": "ε"}
FOR_EVERY_M = ("paper_weighted", "interior_weighted", "paper_equal", "interior_equal", "seconds")


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """The study's findings on the paper, then a section with tables for each model."""
    numbers = {**found.settings, "where": machine(found)}
    claims = [f"- {sentence}" for sentence in findings.findings(found)]
    notes = [f"- {note}" for note in found.notes]
    summary = [WORDS["claim"], "", *claims, "", WORDS["summary"].format_map(numbers), "", *notes]
    every = findings.selections(found)
    first = {
        "title": WORDS["title"],
        "summary": summary,
        "tables": [_data(found), *(_ordering(found, chosen) for chosen in every)],
    }
    models = dict.fromkeys(chosen.model for chosen in every)
    return [first, *(_of_model(found, model, drawn) for model in models)]


def _of_model(found: StudyResult, model: str, drawn: Collection[str]) -> Section:
    sizes = [chosen for chosen in findings.selections(found) if chosen.model == model]
    shown = [(quantity, chosen) for quantity in FOR_EVERY_M for chosen in sizes]
    shown += [(quantity, sizes[-1]) for quantity in QUANTITIES if quantity not in FOR_EVERY_M]
    tables = []
    for quantity, chosen in shown:
        if (chosen.rows(found)["quantity"] == quantity).any():
            title, where = QUANTITIES[quantity]
            words = titled((f"{title}, M = {chosen.M}", where))
            tables.append(as_table(words, findings.table(found, chosen, quantity)))
    problems = {f"{model}_{key}" for key in sizes[0].rows(found)["problem"].unique()}
    plots = [path for path in drawn if path.rsplit("_", 1)[0] in problems]
    return {"title": findings.MODELS[model], "summary": [], "tables": tables, "plots": plots}


def _data(found: StudyResult) -> dict[str, Any]:
    """Ranks, and model settings estimated from the data of the first repetition."""
    rows = []
    for key, model, repetition, taken in found.settings["model_settings"]:
        if repetition == 0:
            rank, reason = found.settings["ranks"][key]
            noise = next(f"{sign} = {taken[k]:.3g}" for k, sign in NOISE.items() if k in taken)
            rows.append(
                [found.labels[key], findings.MODELS[model], rank, reason, noise, taken["rate"]]
            )
    columns = ("data", "model", "R", "why this rank", "noise", "λ")
    return {"title": "Data and models", "columns": columns, "rows": rows}


def _ordering(found: StudyResult, chosen: Selection) -> dict[str, Any]:
    rows = []
    for form in FORMS:
        for row in findings.ordering(found, chosen, f"{form}_weighted").itertuples():
            data, lowest, fastest = (
                found.labels[key] for key in (row.problem, row.lowest, row.fastest)
            )
            rows.append([data, SHORT_FORMS[form], lowest, row.rank, row.ratio, fastest, row.holds])
    columns = (
        "data",
        "form",
        "lowest",
        "rank of Q-Transform",
        "Q-Transform / lowest",
        f"fastest within {findings.SAME:.0%} of the lowest",
        "holds",
    )
    note = findings.standing(found, chosen.model)
    title = f"{findings.MODELS[chosen.model]}, M = {chosen.M}, Stein weights{note}"
    return {"title": title, "columns": columns, "rows": rows}


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG: discrepancy with Stein weights against time, both forms side by side."""
    drawn = {}
    colors = {
        found.labels[key]: TABLES["colors"].get(key, registry.algorithm(column.algorithm).color)
        for key, column in COLUMNS.items()
        if key in found.labels
    }
    for chosen in findings.selections(found):
        values = found.values
        for problem in values[values["model"] == chosen.model]["problem"].unique():
            model = findings.MODELS[chosen.model]
            title = f"{found.labels[problem]}, {model}, M = {chosen.M}"
            panels = []
            for form, words in SHORT_FORMS.items():
                points = findings.over_time(found, chosen, problem, f"{form}_weighted")
                points = points[(points["value"] > 0) & (points["seconds"] > 0)]
                if points.empty:
                    continue
                series = {
                    found.labels[key]: _mean_points(part)
                    for key, part in points.groupby("column", sort=False)
                }
                label = "Stein discrepancy"
                panels.append(curves(f"{title}: {words}", "seconds", label, series, colors))
            if panels:
                path = f"{chosen.model}_{problem}_{chosen.M}.svg"
                drawn[path] = side_by_side(title, panels)
    return drawn


def _mean_points(part: pd.DataFrame) -> list[tuple[float, float]]:
    """Means over the repetitions, point by point; a repetition may have fewer points."""
    number = part.groupby("repetition").cumcount()
    points = part.groupby(number)[["seconds", "value"]].mean()
    return list(points.itertuples(index=False, name=None))


REPORT = Report("stein", WORDS, SteinStudy(), SHORT, sections, figures)
