"""Paper 1's comparison of samplers: fit, independence and coverage (sections 4 and 5).

Each repetition draws an X̃ of its own, which every column then explores. Measured of each set of
samples: the mean log-likelihood and the autocorrelation time of all of it; the largest and the mean
pairwise distance and the covering numbers of its first 1000 samples, as the paper does for the
latter. The 100 radii are the same for all, evenly spaced on a logarithmic scale, because the sets
differ in size by a factor of a thousand.
"""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core import registry
from bnmf_core.compare.coverage import covering_numbers, largest_distance, mean_distance
from bnmf_core.compare.distances import DISTANCES, distances
from bnmf_core.compare.mixing import autocorrelation_time, published_autocorrelation_time
from bnmf_core.compare.quality import FACTOR, within_error
from bnmf_core.nouns.errors import NotFoundError, RunError, SettingsError, raise_if_cancelled
from bnmf_core.nouns.spec import RunSpec
from bnmf_core.runs.engine import run
from studies.cells import as_made, digest, keep, stored
from studies.problems import COLUMNS, PROBLEMS, SIGMA, Column, StudyProblem
from studies.result import StudyResult

RADII = {"max_angle": np.geomspace(1e-3, 90.0, 100), "l1_max": np.geomspace(1e-5, 2.0, 100)}
COMPARED = 1000
# Entries of A whose autocorrelation is measured and averaged.
FOLLOWED = 100
SHARED = {column.algorithm for column in COLUMNS.values() if column.filtered}


@dataclass(frozen=True)
class StudyPlan:
    """What decides a study's numbers, beside the problems and the columns.

    ``capped`` : whether slow columns make fewer samples, see ``Column.most``.
    """

    repetitions: int = 10
    samples: int = 10_000
    sigma: float = SIGMA
    seed: int = 0
    capped: bool = True


@dataclass(frozen=True)
class CoverageStudy:
    """A coverage study of these problems with all columns, to be made in the background."""

    problems: tuple[str, ...]
    plan: StudyPlan

    @property
    def key(self) -> str:
        """What it is called: changes with everything that decides its numbers."""
        return digest([list(self.problems), asdict(self.plan)])

    def make(
        self,
        folder: Path,
        on_progress: Callable[["StudyProgress"], None],
        cancel: Callable[[], bool],
    ) -> StudyResult:
        """Measure what is not in the folder yet."""
        return coverage_study(
            list(self.problems), self.plan, folder=folder, on_progress=on_progress, cancel=cancel
        )


@dataclass(frozen=True)
class StudyProgress:
    """How far a study is: cells measured, cells in all, and what was measured last."""

    done: int
    total: int
    stage: str


def coverage_study(
    problems: list[str] | None = None,
    plan: StudyPlan | None = None,
    columns: list[str] | None = None,
    folder: str | Path | None = None,
    on_progress: Callable[[StudyProgress], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    executor: Executor | None = None,
) -> StudyResult:
    """Run and measure every column on every problem.

    Parameters
    ----------
    problems, columns : keys of ``PROBLEMS`` and ``COLUMNS``; None: all. Columns whose algorithm
        is not there, or which need another one that is left out, are left out with a note.
    folder : where each measured cell is kept, so that an interrupted study goes on from there.
    on_progress, cancel : called and asked after every cell, with an executor after every
        repetition.
    executor : where repetitions are measured, such as a ``ProcessPoolExecutor``; None: here.

    Raises
    ------
    NotFoundError, SettingsError
        For an unknown problem or column, or a study of nothing.
    Cancelled
        When ``cancel()`` returned True; the cells in the folder stay.
    """
    plan = StudyPlan() if plan is None else plan
    if plan.repetitions < 1 or plan.samples < 2 or not plan.sigma > 0:
        raise SettingsError(
            f"A study of {plan.repetitions} repetitions of {plan.samples} samples with noise "
            f"{plan.sigma:g} was asked for; at least 1 repetition of 2 samples and noise above 0 "
            "are needed."
        )
    chosen = [_find(PROBLEMS, key, "problem") for key in (problems or PROBLEMS)]
    asked = [_find(COLUMNS, key, "column") for key in (columns or COLUMNS)]
    present, notes = _present(asked)
    notes += _reductions(present, chosen, plan)
    tasks = [(p.key, repetition) for p in chosen for repetition in range(plan.repetitions)]
    keys = [column.key for column in present]
    cells: dict[tuple[str, int], dict[str, Any]] = {}
    total = len(tasks) * len(present)

    def report(done: int, words: str) -> None:
        if on_progress is not None:
            on_progress(StudyProgress(done, total, words))
        raise_if_cancelled(cancel, "the coverage study")

    report(0, "Starting")
    if executor is None:
        done = 0
        for problem, repetition in tasks:
            cells[problem, repetition] = {}
            for key, cell in _measure_cells(problem, repetition, keys, plan, folder):
                cells[problem, repetition][key] = cell
                done += 1
                report(done, _stage(problem, key, repetition))
    else:
        arguments = {task: (*task, keys, plan, folder) for task in tasks}
        with closing(as_made(executor, measure_repetition, arguments)) as made:
            for task, found in made:
                cells[task] = found
                report(len(cells) * len(keys), _stage(task[0], "all", None))
    return _collect(chosen, present, cells, tuple(notes), plan)


def measure_repetition(
    problem: str, repetition: int, columns: list[str], plan: StudyPlan, folder: Any
) -> dict[str, dict[str, Any]]:
    """Every column of one repetition: key → its cell. Depends on its arguments only."""
    return dict(_measure_cells(problem, repetition, columns, plan, folder))


def _measure_cells(
    problem_key: str, repetition: int, columns: list[str], plan: StudyPlan, folder: Any
) -> Iterator[tuple[str, dict[str, Any]]]:
    problem = PROBLEMS[problem_key]
    dataset, made = None, {}
    # A filtered column comes after the one whose error it is measured by.
    ordered = sorted((COLUMNS[key] for key in columns), key=lambda column: column.filtered)
    known: dict[str, dict[str, Any]] = {}
    for column in ordered:
        place = _place(folder, problem, column, repetition, plan)
        cell = stored(place)
        if cell is None:
            if dataset is None:
                dataset = problem.dataset(plan.sigma, plan.seed, repetition)
            if column.algorithm not in made:
                began = time.perf_counter()
                particles = run(dataset, _spec(problem, column, plan, repetition))
                # Two columns look at the restarts; no other run's factors are kept.
                made = {key: made[key] for key in made if key in SHARED}
                made[column.algorithm] = particles, time.perf_counter() - began
            particles, seconds = made[column.algorithm]
            if column.filtered:
                largest = known[column.needs]["largest_error"]
                particles = particles.subset(within_error(particles, largest, FACTOR))
            cell = _measure(particles, dataset, plan.sigma) | {"seconds": seconds}
            keep(place, cell)
        known[column.key] = cell
        yield column.key, cell


def _measure(particles: Any, dataset: Any, sigma: float) -> dict[str, Any]:
    """The numbers of one set of samples, and its covering curves."""
    M = particles.M
    cell: dict[str, Any] = {"kept": M, "curves": {}}
    empty = not M
    squared = np.asarray(particles.error) ** 2 * dataset.squared_norm
    cell["log_likelihood"] = None if empty else float(-squared.mean() / (2 * sigma**2))
    cell["largest_error"] = None if empty else float(np.max(particles.error))
    cell["iat"], cell["iat_proper"] = _autocorrelation(particles)
    first = particles.subset(np.arange(min(M, COMPARED)))
    for metric, radii in RADII.items():
        if empty:
            cell |= {f"{metric}_largest": None, f"{metric}_average": None}
            cell["curves"][metric] = [0] * radii.size
            continue
        matrix = distances(first, metric)
        cell[f"{metric}_largest"] = largest_distance(matrix)
        cell[f"{metric}_average"] = mean_distance(matrix)
        cell["curves"][metric] = covering_numbers(matrix, radii).tolist()
    return cell


def _autocorrelation(particles: Any) -> tuple[float | None, float | None]:
    """Means over entries of A as the samples hold them, in the paper's form and in the usual one.

    The paper does not say what it followed; entries of A as they stand, the scale included, give
    its numbers for Gibbs. (Numbers that are free of scale mix within a few sweeps there.)
    """
    M, D, R = particles.A.shape
    entries = np.unique(np.linspace(0, D * R - 1, min(D * R, FOLLOWED)).round().astype(int))
    draws = particles.A.reshape(M, D * R)[:, entries]
    found = []
    for measure in (published_autocorrelation_time, autocorrelation_time):
        values = np.array([measure(column) for column in draws.T])
        values = values[np.isfinite(values)]  # an entry that stays at zero tells nothing
        found.append(float(values.mean()) if values.size else None)
    return found[0], found[1]


def _spec(problem: StudyProblem, column: Column, plan: StudyPlan, repetition: int) -> RunSpec:
    settings = dict(column.settings) | (dict(column.large_settings) if problem.large else {})
    return RunSpec(
        algorithm=column.algorithm,
        rank=problem.rank,
        particles=_samples(problem, column, plan),
        seed=plan.seed + 1000 * (repetition + 1),
        settings=settings,
        model_settings={"sigma": plan.sigma, "rate": 1.0},
    )


def _samples(problem: StudyProblem, column: Column, plan: StudyPlan) -> int:
    most = column.most_large if problem.large else column.most
    return plan.samples if most is None or not plan.capped else min(plan.samples, most)


def _place(
    folder: Any, problem: StudyProblem, column: Column, repetition: int, plan: StudyPlan
) -> Path | None:
    """Where a cell is kept: under a name that changes with everything that decides its numbers."""
    if folder is None:
        return None
    decides = [asdict(problem), asdict(column), asdict(plan) | {"repetitions": None}]
    decides.append(asdict(COLUMNS[column.needs]) if column.needs else None)
    return Path(folder) / problem.key / f"{column.key}-{repetition}-{digest(decides)}.json"


def _present(asked: list[Column]) -> tuple[list[Column], list[str]]:
    there = [column for column in asked if column.algorithm in registry.ALGORITHMS]
    notes = [
        f"{column.label} is left out: there is no algorithm {column.algorithm!r}."
        for column in asked
        if column not in there
    ]
    keys = {column.key for column in there}
    for column in [column for column in there if column.needs and column.needs not in keys]:
        there.remove(column)
        needed = COLUMNS[column.needs].label
        notes.append(f"{column.label} is left out: it is filtered by the errors of {needed}.")
    if not there:
        raise RunError("None of the columns asked for can be measured. " + " ".join(notes))
    return there, notes


def _reductions(columns: list[Column], problems: list[StudyProblem], plan: StudyPlan) -> list[str]:
    notes = []
    for large, what in ((False, "small problem"), (True, "500×50 problem")):
        of_size = [problem for problem in problems if problem.large == large]
        for column in columns if of_size else []:
            made = _samples(of_size[0], column, plan)
            if made == plan.samples:
                continue
            words = f"{column.label}: {made:,} instead of {plan.samples:,} samples of each {what}."
            if registry.algorithm(column.algorithm).family == "sampler":
                words += " Its IAT is not comparable: it grows with the length of a short chain."
            notes.append(words)
    return notes


def _collect(
    problems: list[StudyProblem], columns: list[Column], cells: dict, notes: tuple, plan: StudyPlan
) -> StudyResult:
    rows, curves = [], {}
    for problem in problems:
        for column in columns:
            here = [cells[problem.key, i][column.key] for i in range(plan.repetitions)]
            for repetition, cell in enumerate(here):
                rows += [
                    (problem.key, column.key, repetition, quantity, value)
                    for quantity, value in cell.items()
                    if quantity != "curves"
                ]
            for metric in RADII:
                curves[problem.key, column.key, metric] = np.array(
                    [cell["curves"][metric] for cell in here]
                )
    values = pd.DataFrame(rows, columns=["problem", "column", "repetition", "quantity", "value"])
    values["value"] = values["value"].astype(float)
    labels = {entry.key: entry.label for entry in (*problems, *columns)}
    labels |= {metric: DISTANCES[metric].label for metric in RADII}
    return StudyResult(values, curves, RADII, labels, notes, asdict(plan))


def _stage(problem: str, column: str, repetition: int | None) -> str:
    words = PROBLEMS[problem].label
    if repetition is None:
        return words
    return f"{words}: {COLUMNS[column].label}, repetition {repetition + 1}"


def _find(entries: dict, key: str, kind: str) -> Any:
    if key not in entries:
        raise NotFoundError(f"There is no {kind} {key!r}; there are {', '.join(entries)}.")
    return entries[key]
