"""Paper 2's comparison of ways to propose components to online variational inference (§5).

A cell is one method on one data set under one noise, once: its proposals are handed to a mixture
as they are made, and the mixture they end in is measured. Every repetition has its own random
numbers, and the data are the same.
"""

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.nouns.errors import NotFoundError, SettingsError, raise_if_cancelled
from studies.cells import as_made, digest, keep, stored
from studies.coverage import StudyProgress
from studies.result import StudyResult
from studies.rrt_cell import RADII, measured
from studies.rrt_problems import COLUMNS, METHODS, NOISES, PROBLEMS

CURVES = ("components", "draws")
Cell = tuple[str, str, str, int]


@dataclass(frozen=True)
class RRTPlan:
    """What decides a study's numbers, beside the data sets, the noises and the methods.

    Attributes
    ----------
    seconds : of processor time that a method may take after its first proposal.
    tolerance : smallest gain of a component, nats.
    """

    repetitions: int = 3
    seconds: float = 3.0
    tolerance: float = 1e-4
    seed: int = 0


def rrt_study(
    problems: list[str] | None = None,
    plan: RRTPlan | None = None,
    noises: list[str] | None = None,
    methods: list[str] | None = None,
    data: str | Path | None = None,
    folder: str | Path | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    executor: Executor | None = None,
) -> StudyResult:
    """Run and measure every method on every data set under every noise.

    Parameters
    ----------
    problems, noises, methods : keys of ``PROBLEMS``, ``NOISES`` and ``METHODS``; None: all. What
        cannot be had is left out with a note.
    data : the folder of public data sets. folder : where each measured cell is kept, so that an
        interrupted study goes on from there.
    on_progress, cancel : called and asked after every cell.
    executor : where cells are measured, such as a ``ProcessPoolExecutor``; None: here.

    Returns
    -------
    StudyResult whose ``problem`` is a data set and a noise (:func:`row`), and whose ``settings``
    also hold the sizes, the noise levels, why each method ended and the pictures of the simplex.

    Raises
    ------
    NotFoundError, SettingsError
        For an unknown name, or a study of nothing.
    Cancelled
        When ``cancel()`` returned True; the cells in the folder stay.
    """
    plan = _checked(RRTPlan() if plan is None else plan)
    chosen = [PROBLEMS[_known(PROBLEMS, key, "data set")] for key in (problems or PROBLEMS)]
    kinds = [_known(NOISES, key, "noise") for key in (noises or NOISES)]
    names = [_known(METHODS, key, "method") for key in (methods or METHODS)]
    data = None if data is None else Path(data)
    notes = [
        f"{problem.label} is left out: its files are not in the folder of public data sets."
        for problem in chosen
        if not problem.present(data)
    ]
    tasks: list[Cell] = [
        (problem.key, noise, method, repetition)
        for problem in chosen
        if problem.present(data)
        for noise in problem.noises
        if noise in kinds
        for method in NOISES[noise].methods
        if method in names
        for repetition in range(plan.repetitions)
    ]
    if not tasks:
        raise SettingsError(" ".join(["None of what was asked for can be measured.", *notes]))
    cells: dict[Cell, dict[str, Any]] = {}

    def report(done: int, words: str) -> None:
        if on_progress is not None:
            on_progress(StudyProgress(done, len(tasks), words))
        raise_if_cancelled(cancel, "the study of components")

    report(0, "Starting")
    arguments = {task: (*task, plan, data, folder) for task in tasks}
    with closing(as_made(executor, measure_cell, arguments)) as made:
        for task, cell in made:
            cells[task] = cell
            report(len(cells), _stage(task))
    return _collect({task: cells[task] for task in tasks}, notes, plan)


def measure_cell(
    problem: str, noise: str, method: str, repetition: int, plan: RRTPlan, data: Path | None,
    folder: Any,
) -> dict[str, Any]:  # fmt: skip
    """One cell, from its file where it has been measured before.

    Depends on its arguments only, but for the times, and what ended at a time.
    """
    place = None
    if folder is not None:
        known = PROBLEMS[problem]
        fixed = [known.rank, known.known, asdict(NOISES[noise]), asdict(METHODS[method])]
        decides = [*fixed, asdict(plan) | {"repetitions": None}]
        name = f"{method}-{repetition}-{digest(decides)}.json"
        place = Path(folder) / problem / noise / name
    cell = stored(place)
    if cell is None:
        cell = measured(
            problem, noise, method, repetition, plan.seconds, plan.tolerance, plan.seed, data
        )
        keep(place, cell)
    return cell


def row(problem: str, noise: str) -> str:
    """What a data set under a noise is called in results."""
    return f"{problem}/{noise}"


def _collect(cells: dict[Cell, dict[str, Any]], notes: list[str], plan: RRTPlan) -> StudyResult:
    rows, labels, curves, ended = [], dict(COLUMNS), {}, []
    sizes, noises, pictures = {}, {}, {}
    for (problem, noise, method, repetition), cell in cells.items():
        name = row(problem, noise)
        labels |= {problem: PROBLEMS[problem].label, noise: NOISES[noise].label}
        labels[name] = f"{PROBLEMS[problem].label}: {NOISES[noise].label}"
        sizes[problem], noises[name] = cell["size"], cell["noise"]
        ended.append([name, method, repetition, cell["left_out"] or cell["ended"]])
        for column, numbers in cell["columns"].items():
            rows += [(name, column, repetition, *pair) for pair in numbers.items()]
            for kind in CURVES:
                found = cell["curves"][column][kind]
                curves.setdefault((name, column, f"wad_{kind}"), []).append(found)
        if cell["picture"]:
            pictures.setdefault(name, {})[method] = cell["picture"]
    values = pd.DataFrame(rows, columns=["problem", "column", "repetition", "quantity", "value"])
    values["value"] = values["value"].astype(float)
    settings = asdict(plan) | {
        "sizes": sizes, "noises": noises, "ended": ended, "pictures": pictures,
    }  # fmt: skip
    return StudyResult(
        values,
        curves={key: np.array(numbers) for key, numbers in curves.items()},
        radii={f"wad_{kind}": RADII for kind in CURVES},
        labels=labels,
        notes=(*notes, *_left_out(cells)),
        settings=settings,
    )


def _left_out(cells: dict[Cell, dict[str, Any]]) -> list[str]:
    where: dict[tuple[str, str], dict[str, int]] = {}
    for (problem, noise, method, _), cell in cells.items():
        if cell["left_out"]:
            place = f"{PROBLEMS[problem].label} ({NOISES[noise].label})"
            counts = where.setdefault((METHODS[method].label, cell["left_out"]), {})
            counts[place] = counts.get(place, 0) + 1
    return [
        f"{label} could not begin on {', '.join(f'{p}, {n}×' for p, n in counts.items())}: {reason}"
        for (label, reason), counts in where.items()
    ]


def _checked(plan: RRTPlan) -> RRTPlan:
    if plan.repetitions < 1 or not plan.seconds > 0 or not plan.tolerance > 0:
        raise SettingsError(
            f"A study of {plan.repetitions} repetitions of {plan.seconds:g} s with a smallest gain "
            f"of {plan.tolerance:g} was asked for; at least 1 repetition, a time and a gain above "
            "0 are needed."
        )
    return plan


def _stage(task: Cell) -> str:
    problem, noise, method, repetition = task
    return (
        f"{PROBLEMS[problem].label}, {NOISES[noise].label}: {METHODS[method].label}, "
        f"repetition {repetition + 1}"
    )


def _known(entries: Any, key: str, kind: str) -> str:
    if key not in entries:
        raise NotFoundError(f"There is no {kind} {key!r}; there are {', '.join(entries)}.")
    return key
