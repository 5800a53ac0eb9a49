"""Paper 3's comparison of algorithms by Stein discrepancy (§6, §7; figures 3, 4, 9, 15–26, 29–32).

A cell is one repetition of one data set under one model: every algorithm makes its particles, the
kernel's lengths are taken from all of them, and then all are measured with the same lengths.

- ``paper`` form: A and W as they are, with the published lengths.
- ``interior`` form: log coordinates, with the median distances between the particles of the cell.

Discrepancies can be compared within a cell, for any M; between cells the lengths differ.
"""

from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from bnmf_core import registry
from bnmf_core.nouns.errors import BNMFError, NotFoundError, SettingsError, raise_if_cancelled
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import describe, make_plan
from studies.cells import as_made, digest, keep, stored
from studies.coverage import StudyProgress
from studies.result import StudyResult
from studies.stein_measures import common_lengths, measure
from studies.stein_problems import MODELS, PROBLEMS, SteinProblem
from studies.stein_sources import ALGORITHMS, CHAINS, DESCENTS, SWEEPS, Source, kind, sources

COLUMNS = ("problem", "model", "column", "particles", "repetition", "point", "last")
# Digits that are kept of a measured number.
DIGITS = 6


@dataclass(frozen=True)
class SteinPlan:
    """What decides a study's numbers, beside the data sets, the models and the algorithms.

    Attributes
    ----------
    sizes : numbers of particles M, ascending. iterations : of the descents, ascending.
    seconds : how long a chain that has enough draws may take, and all descents of one M.
    holdout : part of the observations that no run sees.
    """

    repetitions: int = 3
    sizes: tuple[int, ...] = (5, 25, 50)
    iterations: tuple[int, ...] = (10, 30, 100, 300, 1000)
    seconds: float = 5.0
    holdout: float = 0.1
    seed: int = 0


Cell = tuple[str, str, int]


def stein_study(
    problems: list[str] | None = None,
    plan: SteinPlan | None = None,
    algorithms: list[str] | None = None,
    models: list[str] | None = None,
    data: str | Path | None = None,
    folder: str | Path | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    executor: Executor | None = None,
) -> StudyResult:
    """Make and measure the particles of every algorithm on every data set.

    Parameters
    ----------
    problems, algorithms, models : keys of ``PROBLEMS``, ``ALGORITHMS`` and ``MODELS``; None: all.
        What cannot be had is left out with a note.
    data : the folder of public data sets. folder : where each measured cell is kept, so that an
        interrupted study goes on from there.
    on_progress, cancel : called and asked after every cell.
    executor : where cells are measured, such as a ``ProcessPoolExecutor``; None: here.

    Returns
    -------
    StudyResult whose ``values`` have the columns problem, model, column (the algorithm),
    particles (M), repetition, point (in time, from 0), last (of this M), quantity and value.

    Raises
    ------
    NotFoundError, SettingsError
        For an unknown name, or a study of nothing.
    Cancelled
        When ``cancel()`` returned True; the cells in the folder stay.
    """
    plan = _checked(SteinPlan() if plan is None else plan)
    chosen = [PROBLEMS[_known(PROBLEMS, key, "data set")] for key in (problems or PROBLEMS)]
    names = [_known(ALGORITHMS, key, "algorithm") for key in (algorithms or ALGORITHMS)]
    kinds = [_known(MODELS, key, "model") for key in (models or MODELS)]
    data = None if data is None else Path(data)
    present = [problem for problem in chosen if problem.present(data)]
    notes = [
        f"{problem.label} is left out: its file is not in the folder of public data sets."
        for problem in chosen
        if problem not in present
    ]
    tasks: list[Cell] = [
        (problem.key, model, repetition)
        for problem in present
        for model in problem.models
        if model in kinds
        for repetition in range(plan.repetitions)
    ]
    if not tasks:
        raise SettingsError(" ".join(["None of what was asked for can be measured.", *notes]))
    cells: dict[Cell, dict[str, Any]] = {}

    def report(done: int, words: str) -> None:
        if on_progress is not None:
            on_progress(StudyProgress(done, len(tasks), words))
        raise_if_cancelled(cancel, "the study of Stein discrepancies")

    report(0, "Starting")
    arguments = {task: (*task, names, plan, data, folder) for task in tasks}
    with closing(as_made(executor, measure_cell, arguments)) as made:
        for task, cell in made:
            cells[task] = cell
            report(len(cells), _stage(task))
    return _collect({task: cells[task] for task in tasks}, names, notes, plan)


def measure_cell(
    problem: str,
    model: str,
    repetition: int,
    algorithms: list[str],
    plan: SteinPlan,
    data: Path | None,
    folder: Any,
) -> dict[str, Any]:
    """Every algorithm in one repetition: lengths, measured numbers and what is left out, and why.

    Depends on its arguments only, but for the times, and what ended at a time.
    """
    place = _place(folder, PROBLEMS[problem], model, repetition, algorithms, plan)
    cell = stored(place)
    if cell is None:
        with one_blas_thread():
            cell = _measure(PROBLEMS[problem], model, repetition, algorithms, plan, data)
        keep(place, cell)
    return cell


def _measure(
    problem: SteinProblem,
    model: str,
    repetition: int,
    algorithms: list[str],
    plan: SteinPlan,
    data: Path | None,
) -> dict[str, Any]:
    dataset = problem.dataset(data, plan.seed)
    seed = plan.seed + 1000 * (repetition + 1)
    made: dict[str, list[Source]] = {}
    left_out: dict[str, str] = {}
    settings: dict[str, Any] = {}
    for key in working(algorithms, model):
        spec = RunSpec(key, problem.rank, model, 1, seed, {}, settings, plan.holdout)
        try:
            # What the model takes from the data is found once, and shared.
            settings = settings or describe(make_plan(dataset, spec))["model_settings"]
            shared = RunSpec(key, problem.rank, model, 1, seed, {}, settings, plan.holdout)
            made[key] = sources(dataset, shared, plan.sizes, plan.iterations, plan.seconds)
        except BNMFError as error:
            left_out[key] = str(error)
    everything = [source for found in made.values() for source in found]
    if not everything:
        return {"lengths": {}, "rows": [], "left_out": left_out}
    lengths = common_lengths(everything)
    rows = []
    for key, found in made.items():
        measured = [part for source in found for part in measure(source, dataset, lengths)]
        points: dict[int, int] = defaultdict(int)
        for M, last, values in measured:
            rows += [[key, M, points[M], last, name, _short(v)] for name, v in values.items()]
            points[M] += 1
    return {"lengths": lengths, "rows": rows, "left_out": left_out}


def _collect(
    cells: dict[Cell, dict[str, Any]], algorithms: list[str], notes: list[str], plan: SteinPlan
) -> StudyResult:
    rows = [
        (problem, model, key, M, repetition, point, last, quantity, value)
        for (problem, model, repetition), cell in cells.items()
        for key, M, point, last, quantity, value in cell["rows"]
    ]
    values = pd.DataFrame(rows, columns=[*COLUMNS, "quantity", "value"])
    values["value"] = values["value"].astype(float)
    lengths = [
        [problem, model, repetition, *cell["lengths"]["interior"]]
        for (problem, model, repetition), cell in cells.items()
        if cell["lengths"]
    ]
    labels = {key: PROBLEMS[key].label for key, _, _ in cells}
    labels |= {key: registry.algorithm(key).label for key in algorithms}
    ranks = {key: [PROBLEMS[key].rank, PROBLEMS[key].reason] for key, _, _ in cells}
    settings = asdict(plan) | {"lengths": lengths, "ranks": ranks}
    notes += _unfit(cells, algorithms)
    notes += [*_left_out(cells), *_stopped(values, labels, plan)]
    return StudyResult(values, labels=labels, notes=tuple(notes), settings=settings)


def working(algorithms: list[str], model: str) -> list[str]:
    """Those that can be run with the model."""
    return [key for key in algorithms if registry.algorithm(key).works_with(registry.model(model))]


def _unfit(cells: dict[Cell, dict[str, Any]], algorithms: list[str]) -> list[str]:
    notes = []
    for model in dict.fromkeys(model for _, model, _ in cells):
        fit = working(algorithms, model)
        labels = [registry.algorithm(key).label for key in algorithms if key not in fit]
        if labels:
            notes.append(f"Left out, because not made for the model {model}: {', '.join(labels)}.")
    return notes


def _left_out(cells: dict[Cell, dict[str, Any]]) -> list[str]:
    where: dict[tuple[str, str], dict[str, None]] = {}
    for (problem, model, _), cell in cells.items():
        for key, reason in cell["left_out"].items():
            label = registry.algorithm(key).label
            where.setdefault((label, reason), {})[f"{PROBLEMS[problem].label} ({model})"] = None
    return [
        f"{label} is left out on {', '.join(places)}: {reason}"
        for (label, reason), places in where.items()
    ]


def _stopped(values: pd.DataFrame, labels: dict[str, str], plan: SteinPlan) -> list[str]:
    """What the clock has cut short: one sentence for each algorithm."""
    steps = values[(values["quantity"] == "steps") & values["last"]]
    notes = []
    for key, part in steps.groupby("column", sort=False):
        if kind(key) == "restarts":
            continue
        asked, what = max(plan.iterations), "iterations"
        if kind(key) == "chain":
            asked = SWEEPS + CHAINS[key]["warm_up"]
            what = "sweeps" if key == "gibbs" else "trajectories"
        short = part[part["value"] < asked].groupby(["problem", "particles"], sort=False)["value"]
        if not len(short):
            continue
        of_problem: dict[str, list[float]] = defaultdict(list)
        for (problem, _), found in short.median().items():
            of_problem[problem].append(found)
        places = ", ".join(
            f"{labels[problem]} {min(found):,.0f}"
            + (f"–{max(found):,.0f}" if max(found) > min(found) else "")
            for problem, found in of_problem.items()
        )
        notes.append(
            f"{labels[key]} was stopped by the clock ({plan.seconds:g} s) before {asked:,} {what}, "
            f"after: {places}."
        )
    return notes


def _place(
    folder: Any,
    problem: SteinProblem,
    model: str,
    repetition: int,
    algorithms: list[str],
    plan: SteinPlan,
) -> Path | None:
    """Where a cell is kept: under a name that changes with everything that decides its numbers."""
    if folder is None:
        return None
    asked = working(algorithms, model)
    fixed = [{key: dict(CHAINS[key]) for key in asked if key in CHAINS}, dict(DESCENTS)]
    decides = [asdict(problem), asked, fixed, asdict(plan) | {"repetitions": None}]
    return Path(folder) / problem.key / f"{model}-{repetition}-{digest(decides)}.json"


def _checked(plan: SteinPlan) -> SteinPlan:
    fine = (
        plan.repetitions >= 1
        and plan.sizes
        and min(plan.sizes) >= 2
        and plan.iterations
        and min(plan.iterations) >= 1
        and plan.seconds > 0
        and 0 < plan.holdout <= 0.5
    )
    if not fine:
        raise SettingsError(
            f"A study of {plan.repetitions} repetitions of M = {list(plan.sizes)} with descents of "
            f"{list(plan.iterations)} iterations in {plan.seconds:g} s and {plan.holdout:g} of the "
            "observations held out was asked for; at least 1 repetition of 2 particles, 1 "
            "iteration, a time above 0 and a part between 0 and 0.5 are needed."
        )
    return plan


def _stage(task: Cell) -> str:
    problem, model, repetition = task
    return f"{PROBLEMS[problem].label}: {model}, repetition {repetition + 1}"


def _short(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


def _known(entries: Any, key: str, kind: str) -> str:
    if key not in entries:
        raise NotFoundError(f"There is no {kind} {key!r}; there are {', '.join(entries)}.")
    return key
