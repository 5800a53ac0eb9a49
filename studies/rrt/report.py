"""The study of components on the command line and in the documentation."""

from collections.abc import Collection
from typing import Any

import numpy as np

from benchmarks.svg import side_by_side
from bnmf_core import registry
from studies.drawing.covering import covering_curves
from studies.drawing.simplex import simplex
from studies.report import Report, Section, as_table, machine
from studies.result import StudyResult, number
from studies.rrt import findings
from studies.rrt.findings import QUANTITIES, WORDS
from studies.rrt.plan import RRTStudy
from studies.rrt.problems import (
    ABSENT,
    LAURBERG_NOISE,
    METHODS,
    NOISES,
    PROBLEMS,
    REPETITIONS,
    RRTPlan,
    row,
)
from studies.rrt.stream import CLOCK
from studies.words import clause, of

SHORT = RRTStudy(("laurberg_dense",), RRTPlan(1, seconds=0.2), ("demonstration_tight",))
# Noises whose mixtures keep many components, and so have curves to draw.
DRAWN = ("uniform", "uniform_flat")
KINDS = {"wad_components": "components", "wad_draws": "draws of the mixture"}


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """The study's findings on the paper, then a section with tables for each noise."""
    numbers = {**found.settings, "where": machine(found)}
    first = {
        "title": WORDS["title"],
        "noises": (),
        "summary": [
            WORDS["claim"],
            "",
            *(f"- {sentence}" for sentence in findings.findings(found)),
            "",
            WORDS["summary"].format_map(numbers),
            "",
            WORDS["absent"].format(", ".join(ABSENT)),
            *(f"- {note}" for note in found.notes),
        ],
        "tables": [_sizes(found), as_table("Why each method ended", findings.endings(found))],
    }
    shown = [noise for noise in NOISES if len(findings.values(found, noise, "elbo"))]
    return [first, *(_of_noise(found, noise, drawn) for noise in shown)]


def _of_noise(found: StudyResult, noise: str, drawn: Collection[str]) -> Section:
    known = NOISES[noise]
    note = findings.standing(found, findings.MAIN, noise)
    elbos = findings.values(found, noise, "elbo")
    clocked = elbos[~elbos["column"].isin(known.whole)]
    numbers = {
        "seconds": min(found.settings["seconds"], known.seconds),
        "repetitions": clocked["repetition"].nunique(),
        "standing": clause(" ({})", note),
    }
    summary = [WORDS["clock"].format_map(numbers)]
    if known.whole:
        ended = found.settings["ended"]
        rows = {row(problem, noise) for problem in PROBLEMS}
        whole = [e for e in ended if e[0] in rows and e[1] in known.whole and e[3] != CLOCK]
        names = ", ".join(METHODS[method].label for method in known.whole)
        planned = len({name for name, *_ in ended if name in rows}) * len(known.whole) * REPETITIONS
        summary.append(WORDS["whole"].format(methods=names, count=of(len(whole), planned)))
    summary += [WORDS["beside"].format(known.table)] if known.table else []
    if noise in findings.SYNTHETIC:
        summary.append(WORDS["demonstration"].format(LAURBERG_NOISE))
    tables = [
        as_table(title, table)
        for quantity, title in QUANTITIES.items()
        if len(table := findings.table(found, noise, quantity))
    ]
    return {
        "title": known.label,
        "noises": (noise,),
        "summary": summary,
        "tables": tables,
        "plots": [path for path in drawn if path.split("-")[1] == noise],
    }


def _sizes(found: StudyResult) -> dict[str, Any]:
    rows = []
    for key, (D, N) in found.settings["sizes"].items():
        problem = PROBLEMS[key]
        levels: dict[str, float] = {}
        for noise in reversed(problem.noises):  # the first one counts
            levels |= found.settings["noises"].get(row(key, noise), {})
        size = f"{problem.published[0]}×{problem.published[1]}"
        noise_words = [number(levels[k]) if k in levels else None for k in ("sigma", "epsilon")]
        rows.append([problem.label, f"{D}×{N}", size, problem.rank, *noise_words])
    columns = ("data", "D×N", "published", "R", "σ", "ε")
    return {"title": "Data and noise", "columns": columns, "rows": rows}


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG: components in the simplex, and covering numbers."""
    drawn = {}
    for name, pictures in found.settings["pictures"].items():
        panels = {
            method: [np.array(p[k], dtype=float) for k in ("data", "known", "bases")]
            for method, p in pictures.items()
        }
        within = np.concatenate([a.reshape(-1, 2) for arrays in panels.values() for a in arrays])
        title = found.labels[name]
        drawings = []
        for method, arrays in panels.items():
            known = METHODS[method]
            color = registry.algorithm(known.algorithm).color
            drawings.append(simplex(f"{known.label}: {title}", *arrays, color, within))
        problem, noise = name.split("/")
        drawn[f"simplex-{noise}-{problem}.svg"] = side_by_side(title, drawings)
    for name in dict.fromkeys(name for name, _, _ in found.curves):
        problem, noise = name.split("/")
        kinds = KINDS if PROBLEMS[problem].known else ("wad_components",) if noise in DRAWN else ()
        for kind in kinds:
            series = {
                found.labels[column]: found.curve(name, column, kind).to_numpy()
                for of, column, measure in found.curves
                if (of, measure) == (name, kind) and column in METHODS
            }
            made_by = {
                found.labels[key]: METHODS[key].algorithm for key in found.labels.keys() & METHODS
            }
            title = f"{found.labels[name]}, {KINDS[kind]}"
            path = f"{kind.removeprefix('wad_')}-{noise}-{problem}.svg"
            drawn[path] = covering_curves(title, "radius, WAD, °", series, made_by)
    return drawn


REPORT = Report("rrt", WORDS, RRTStudy(), SHORT, sections, figures, first=15)
