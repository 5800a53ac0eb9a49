"""Paper 2's demonstration and tables 1 to 3, made again and put beside the published numbers.

``python -m benchmarks.rrt_study --data FOLDER`` measures everything; it goes on where it was
stopped. FOLDER holds public data sets (20newsgroups, bbc, olivetti); what is not there is left out.
``--short``: the synthetic data only, in seconds.
"""

import argparse
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.covering_svg import covering_curves
from benchmarks.simplex_svg import simplex
from benchmarks.svg import side_by_side
from benchmarks.tables import as_markdown, as_text
from bnmf_core import registry
from studies import rrt_result
from studies.result import StudyResult, number
from studies.rrt import RRTPlan, row, rrt_study
from studies.rrt_problems import ABSENT, LAURBERG_NOISE, METHODS, NOISES, PROBLEMS

OUT = Path(__file__).resolve().parent / ".rrt_study"
DOCS = Path(__file__).resolve().parents[1] / "docs"
SHORT = RRTPlan(repetitions=1, seconds=0.2)
SHORT_PROBLEMS = ("laurberg_dense",)
SHORT_NOISES = ("demonstration_tight",)
# Noises whose mixtures keep many components, and so have curves to draw.
DRAWN = ("uniform", "uniform_flat")
KINDS = {"wad_components": "components", "wad_draws": "draws of the mixture"}


def main() -> int:
    """The command line."""
    asked = _arguments()
    plan = SHORT if asked.short else RRTPlan()
    plan = replace(
        plan,
        repetitions=asked.repetitions or plan.repetitions,
        seconds=asked.seconds or plan.seconds,
    )
    problems = list(asked.only or (SHORT_PROBLEMS if asked.short else PROBLEMS))
    noises = list(asked.noise or (SHORT_NOISES if asked.short else NOISES))
    asked.out.mkdir(parents=True, exist_ok=True)
    with harness.workers(asked.workers) as executor:
        study = rrt_study(
            problems, plan, noises, asked.method, asked.data, asked.out / "cells",
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
    """Put the study into the documentation."""
    pictures = docs / "rrt-study"
    pictures.mkdir(parents=True, exist_ok=True)
    for path, drawing in drawn.items():
        (pictures / path).write_text(drawing)
    (docs / "rrt-study.md").write_text(document(study, drawn))


def document(study: StudyResult, drawn: dict[str, str]) -> str:
    """docs/rrt-study.md: what was done, what it says of the paper, tables and figures."""
    parts = ["# Rapidly exploring random trees: more of the posterior, and a higher ELBO?", ""]
    for result in as_results(study):
        plots = [
            {"title": path, "path": f"rrt-study/{path}"}
            for path in drawn
            if path.removesuffix(".svg").split("-")[1] in result["noises"]
        ]
        parts.append(as_markdown(result | {"plots": plots}))
    return "\n".join(parts).rstrip() + "\n"


def as_results(study: StudyResult) -> list[dict[str, Any]]:
    """What the study says of the paper, then one result with tables for each noise."""
    plan = study.settings
    first = {
        "title": "What the numbers say of the paper's claims",
        "noises": (),
        "summary": [
            "The paper: “RRT+ONVI has the highest ELBO across all data sets”; under uniform noise "
            "“the RRT components are most distinctly placed”, and HMC keeps one component.",
            "",
            *(f"- {sentence}" for sentence in rrt_result.findings(study)),
            "",
            f"Repetitions: {plan['repetitions']} (the paper: 10). Each method stops "
            f"{plan['seconds']:g} s of processor time after its first proposal, if it is not done "
            "before: 10,000 draws of a chain, 5,000 nodes of a tree or 10,000 failed attempts, 300 "
            f"iterations of NVI. A component joins for a gain of {plan['tolerance']:g} nats. HMC "
            "and RRT begin at solved NMFs, under uniform noise HMC at one of the ten that give ε, "
            "and all methods have one σ² for all components: that of a single Gaussian under "
            "Gaussian noise of the same standard deviation; it grows with ε, and with it how far "
            "a component must lie from the others. Columns “as found” leave proposals at the scale "
            "where the chain had them, “prior's scale” brings them to the most probable one a "
            "priori, the others to the one with the smallest curvature. Machine: "
            f"{_machine(plan)}. A table holds means over the repetitions and, in brackets, "
            "quartiles.",
            "",
            f"Not measured: {', '.join(ABSENT)}, which are not at hand in the paper's form.",
            *(f"- {note}" for note in study.notes),
        ],
        "tables": [_sizes(study), _endings(study)],
    }
    shown = [noise for noise in NOISES if len(rrt_result.values(study, noise, "elbo"))]
    return [first, *(_of_noise(study, noise) for noise in shown)]


def _of_noise(study: StudyResult, noise: str) -> dict[str, Any]:
    known = NOISES[noise]
    words = [f"Beside {known.table} of the paper."] if known.table else []
    if noise.startswith("demonstration"):
        words.append(
            "The 6×6 problem with two solutions, embedded in 500×500, with uniform noise of ±"
            f"{LAURBERG_NOISE:g}. Every method begins at the first solution (drawn through; the "
            "other one is dashed). Figures 1 to 3 of the paper show the components' columns of A, "
            "figure 4 the covering numbers of draws, which fall to 1 below 0.01° for HMC and NVI."
        )
    return {
        "title": known.label,
        "noises": (noise,),
        "summary": words,
        "tables": [
            {
                "title": title,
                "columns": tuple(found.columns),
                "rows": found.to_numpy().tolist(),
            }
            for quantity, title in rrt_result.QUANTITIES.items()
            if len(found := rrt_result.table(study, noise, quantity))
        ],
    }


def _sizes(study: StudyResult) -> dict[str, Any]:
    rows = []
    for key, (D, N) in study.settings["sizes"].items():
        problem = PROBLEMS[key]
        found = study.settings["noises"]
        levels = [found.get(row(key, noise), {}) for noise in problem.noises]
        sigma = next((level["sigma"] for level in levels if "sigma" in level), None)
        epsilon = next((level["epsilon"] for level in levels if "epsilon" in level), None)
        told = f"{problem.published[0]}×{problem.published[1]}"
        rows.append(
            [problem.label, f"{D}×{N}", told, problem.rank]
            + [None if level is None else number(level) for level in (sigma, epsilon)]
        )
    columns = ("data", "D×N", "published", "R", "σ", "ε")
    return {"title": "Data and noise", "columns": columns, "rows": rows}


def _endings(study: StudyResult) -> dict[str, Any]:
    found = rrt_result.endings(study)
    return {
        "title": "Why each method ended",
        "columns": tuple(found.columns),
        "rows": found.to_numpy().tolist(),
    }


def figures(study: StudyResult) -> dict[str, str]:
    """File name → SVG: components in the simplex, and covering numbers."""
    drawn = {}
    for name, pictures in study.settings["pictures"].items():
        panels = {method: _as_arrays(picture) for method, picture in pictures.items()}
        within = np.concatenate(
            [part.reshape(-1, 2) for arrays in panels.values() for part in arrays]
        )
        title = study.labels[name]
        drawings = [
            simplex(
                f"{METHODS[method].label}: {title}", *arrays,
                registry.algorithm(METHODS[method].algorithm).color, within,
            )
            for method, arrays in panels.items()
        ]  # fmt: skip
        problem, noise = name.split("/")
        drawn[f"simplex-{noise}-{problem}.svg"] = side_by_side(title, drawings)
    for name in dict.fromkeys(name for name, _, _ in study.curves):
        problem, noise = name.split("/")
        kinds = KINDS if PROBLEMS[problem].known else ("wad_components",)
        for kind in kinds if PROBLEMS[problem].known or noise in DRAWN else ():
            series = {
                study.labels[column]: study.curve(name, column, kind).to_numpy()
                for found, column, of in study.curves
                if (found, of) == (name, kind) and column in METHODS
            }
            title = f"{study.labels[name]}, {KINDS[kind]}"
            path = f"{kind.removeprefix('wad_')}-{noise}-{problem}.svg"
            drawn[path] = covering_curves(title, "radius, WAD, °", series)
    return drawn


def _as_arrays(picture: dict[str, Any]) -> tuple[np.ndarray, ...]:
    return tuple(np.array(picture[part], dtype=float) for part in ("data", "known", "bases"))


def _machine(plan: Mapping[str, Any]) -> str:
    here = plan["machine"]
    return f"{here['processor']}, {here['cores']} cores, {plan['workers']} cells at once"


def _as_json(study: StudyResult, results: list[dict[str, Any]]) -> str:
    raw = {"values": json.loads(study.values.to_json(orient="records"))}
    whole = {"results": results, "raw": raw, "machine": harness.machine()}
    return json.dumps(whole, indent=1, default=harness.plain)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rrt_study",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--data", type=Path, help="folder with public data sets")
    parser.add_argument("--repetitions", type=int, help="3 when left out")
    parser.add_argument("--seconds", type=float, help="of each method after its first proposal")
    parser.add_argument("--only", nargs="+", choices=tuple(PROBLEMS), help="these data sets only")
    parser.add_argument("--noise", nargs="+", choices=tuple(NOISES), help="these only")
    parser.add_argument("--method", nargs="+", choices=tuple(METHODS), help="these only")
    parser.add_argument("--short", action="store_true", help="seconds: numbers mean little")
    parser.add_argument("--keep", action="store_true", help="show it in docs/ from now on")
    parser.add_argument("--out", type=Path, default=OUT, help="where results are kept")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="processes")
    parser.add_argument("--json", action="store_true", help="print everything as JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
