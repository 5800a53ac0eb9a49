"""When Q-Transform is successful: the experiments of paper 3, §8, and of its appendix E.

Errors of starts by what the transforms were learned on (figure 11), by the rank of the sources
(figure 12), by the noise of the target (figure 13, with how long the starts take to converge) and
by the transfer rank (figure 14); and the time that Stein weights take (figure 33). Targets are
|N(0, 1)| factors' products; where there is noise it is Gaussian, scaled to the norm of the product,
and entries below 0 become 0.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.explorers import q_transform
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import NotFoundError, SettingsError, raise_if_cancelled
from bnmf_core.nouns.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers.solution import Stopping
from studies import starts, weight_times
from studies.cells import digest, keep, stored
from studies.coverage import StudyProgress
from studies.result import StudyResult
from studies.starts import BEST, RANDOM, SOLVED

COLUMNS = ["problem", "column", "x", "repetition", "quantity", "value"]
TRANSFER = "q_transform"
# Where it is not what is varied, as in the paper.
TRANSFER_RANK = q_transform.Settings().transfer_rank
# Part → what it varies, and the figure of the paper.
PARTS = {
    "process": ("What the transforms are learned on", "figure 11"),
    "source_rank": ("Rank of the sources", "figure 12"),
    "noise": ("Noise of the target", "figure 13"),
    "transfer_rank": ("Transfer rank", "figure 14"),
    "weights": ("Time of Stein weights", "figure 33"),
}
# Measured for all parts that compare errors of starts: random ones, solved NMFs, the best possible.
REFERENCE = "reference"
# Where convergence is timed: at low noise all would reach the usual limit of iterations.
RACE = replace(starts.STOPPING, max_iterations=3000)
# How near to the median error of solved random restarts counts as arrived.
ARRIVED = 1.01
# Digits that are kept of a measured number.
DIGITS = 5

Rows = list[tuple[int, str, float | None]]


@dataclass(frozen=True)
class TransferPlan:
    """What decides the numbers.

    Attributes
    ----------
    targets : target matrices of each kind. side : D = N of a target. starts : of each kind, for
        each target. solved : of them, for reference. raced : solved to convergence at each noise.
    rank, noisy_rank : of the targets of figures 11, 12, 14, and of figure 13.
    size : rows and columns of the sources, except for figure 13, which uses the default library.
    source_ranks, noises, transfer_ranks, particles : what is varied.
    """

    targets: int = 3
    side: int = 500
    starts: int = 100
    solved: int = 10
    raced: int = 20
    rank: int = 10
    noisy_rank: int = 20
    size: int = 15
    source_ranks: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15)
    noises: tuple[float, ...] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
    transfer_ranks: tuple[int, ...] = tuple(range(1, 11))
    particles: tuple[int, ...] = (5, 10, 25, 50, 100, 250, 500, 1000)
    seed: int = 0


SHORT = TransferPlan(
    targets=1, side=100, starts=20, solved=3, raced=2, source_ranks=(1, 3, 10),
    noises=(0.01, 0.3, 10.0), transfer_ranks=(1, 3, 10), particles=(5, 25, 100),
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """One cell: a part of the study, a column of it, the value that is varied, a target."""

    problem: str
    column: str
    x: float | None
    target: int


@dataclass(frozen=True)
class TransferStudy:
    """The study of these parts, to be made in the background."""

    plan: TransferPlan = TransferPlan()
    parts: tuple[str, ...] = tuple(PARTS)

    @property
    def key(self) -> str:
        """What it is called: changes with everything that decides its numbers."""
        return digest(["transfer", asdict(self.plan), list(self.parts)])

    def make(
        self,
        folder: Path | None = None,
        on_progress: Callable[[StudyProgress], None] | None = None,
        cancel: Callable[[], bool] | None = None,
    ) -> StudyResult:
        """Measure every cell that is not in the folder yet.

        Returns
        -------
        StudyResult whose ``values`` have the columns problem (a part, or "reference"), column (what
        started, or which solver), x (what is varied), repetition, quantity and value.

        Raises
        ------
        NotFoundError, SettingsError
            For an unknown part, or a study of nothing.
        Cancelled
            When ``cancel()`` returned True; the cells in the folder stay.
        """
        for part in self.parts:
            if part not in PARTS:
                raise NotFoundError(f"There is no part {part!r}; there are {', '.join(PARTS)}.")
        if not self.parts or min(self.plan.targets, self.plan.starts, self.plan.raced) < 1:
            raise SettingsError("A study needs a part, a target and a start to measure.")
        cells = made_cells(
            "the transfer study", _tasks(self.plan, self.parts), folder, asdict(self.plan),
            lambda task: _measure(task, self.plan, cancel), on_progress, cancel,
        )  # fmt: skip
        labels = starts.LABELS | {TRANSFER: "Q-Transform"} | weight_times.LABELS
        return StudyResult(
            collected(cells), labels=labels, notes=_notes(self.plan), settings=asdict(self.plan)
        )


def made_cells(
    what: str,
    tasks: list[Task],
    folder: Path | None,
    decides: Any,
    measure: Callable[[Task], Rows],
    on_progress: Callable[[StudyProgress], None] | None,
    cancel: Callable[[], bool] | None,
) -> dict[Task, Rows]:
    """The rows of every task, measured or from the folder; reports and asks after each."""
    cells: dict[Task, Rows] = {}

    def report(words: str) -> None:
        if on_progress is not None:
            on_progress(StudyProgress(len(cells), len(tasks), words))
        raise_if_cancelled(cancel, what)

    report("Starting")
    for task in tasks:
        name = f"{task.problem}-{task.column}-{digest([asdict(task), decides])}.json"
        place = None if folder is None else Path(folder) / "transfer" / name
        cell = stored(place)
        if cell is None:
            cell = {"rows": measure(task)}
            keep(place, cell)
        cells[task] = cell["rows"]
        label = (starts.LABELS | weight_times.LABELS).get(task.column, "Q-Transform")
        report(label if task.x is None else f"{label}, {task.x:g}")
    return cells


def collected(cells: dict[Task, Rows]) -> pd.DataFrame:
    """All rows with the columns of ``COLUMNS``; x is 0 where nothing is varied."""
    rows = [
        (task.problem, task.column, task.x, repetition, quantity, value)
        for task, found in cells.items()
        for repetition, quantity, value in found
    ]
    table = pd.DataFrame(rows, columns=COLUMNS).astype({"x": float, "value": float})
    return table.fillna({"x": 0.0})


def rows(found: dict[str, np.ndarray], first: int = 0) -> Rows:
    """One row per value, numbered from ``first``, rounded; None for one that is not there."""
    return [
        (first + i, quantity, float(f"{value:.{DIGITS}g}") if np.isfinite(value) else None)
        for quantity, values in found.items()
        for i, value in enumerate(np.atleast_1d(values))
    ]


def target(side: int, rank: int, noise: float, rng: np.random.Generator) -> Dataset:
    """X = AW + ε N₀ (side, side) with ‖N₀‖ = ‖AW‖, entries below 0 made 0 (paper 3, §8.2)."""
    product = np.abs(rng.standard_normal((side, rank))) @ np.abs(rng.standard_normal((rank, side)))
    if noise:
        noisy = rng.standard_normal((side, side))
        noisy *= np.linalg.norm(product) / np.linalg.norm(noisy)
        product = np.maximum(product + noise * noisy, 0.0)
    return Dataset.from_array(product, name=f"rank {rank}, noise {noise:g}")


def _tasks(plan: TransferPlan, parts: tuple[str, ...]) -> list[Task]:
    varied = {
        "process": [(key, None) for key in PROCESSES],
        "source_rank": [("gaussian", float(rank)) for rank in plan.source_ranks],
        "noise": [(TRANSFER, noise) for noise in plan.noises],
        "transfer_rank": [
            (column, float(rank)) for column in (TRANSFER, BEST) for rank in plan.transfer_ranks
        ],
    }
    chosen = [part for part in varied if part in parts]
    found = [
        Task(part, column, x, t)
        for part in chosen
        for t in range(plan.targets)
        for column, x in varied[part]
    ]
    if set(chosen) - {"noise"}:
        found += [
            Task(REFERENCE, column, None, t)
            for t in range(plan.targets)
            for column in (RANDOM, SOLVED, BEST)
        ]
    if "weights" in parts:
        found += [
            Task("weights", column, float(M), 0)
            for column in weight_times.LABELS
            for M in plan.particles
        ]
    return found


def _measure(task: Task, plan: TransferPlan, cancel: Callable[[], bool] | None) -> Rows:
    if task.problem == "weights":
        seconds = weight_times.measure(
            task.column, int(task.x or 0), max(plan.particles), plan.seed
        )
        return rows({"seconds": np.array(seconds, dtype=float)})
    with one_blas_thread():
        if task.problem == "noise":
            return _race(task, plan, cancel)
        problem = _problem(plan.side, plan.rank, 0.0, plan.seed, task.target)
        first, seed = task.target * plan.starts, plan.seed + task.target
        if task.column == SOLVED:
            made = starts.random(problem, plan.solved, seed)
            made = starts.solved(problem, made, cancel=cancel)[0].particles
        elif task.column == BEST:
            made = starts.best(problem, int(task.x or TRANSFER_RANK))
        elif task.column == RANDOM:
            made = starts.random(problem, plan.starts, seed)
        else:
            settings = {
                "process": {"process": task.column},
                "source_rank": {"source_rank": int(task.x or 0)},
                "transfer_rank": {"transfer_rank": int(task.x or 0)},
            }[task.problem]
            made = starts.transferred(problem, plan.starts, seed, source_size=plan.size, **settings)
        return rows(starts.errors(problem, *made), first)


def _race(task: Task, plan: TransferPlan, cancel: Callable[[], bool] | None) -> Rows:
    """Figure 13 at one noise: Q-Transform and random starts, pair by pair, and how they end."""
    problem = _problem(plan.side, plan.noisy_rank, task.x, plan.seed, task.target)
    seed = plan.seed + task.target
    made = {
        RANDOM: starts.random(problem, plan.starts, seed),
        TRANSFER: starts.transferred(problem, plan.starts, seed),
    }
    # What all solves share, compiled code and a compressed X, is not timed.
    starts.solved(problem, starts.random(problem, 1, seed), Stopping(20))
    found: Rows = []
    arrived = RACE
    for name, (A, W) in made.items():
        measured = starts.errors(problem, A, W)
        raced = A[: plan.raced], W[: plan.raced]
        solution, seconds = starts.solved(problem, raced, RACE, cancel)
        final = np.sqrt(solution.squared_error / problem.dataset.squared_norm)
        if name == RANDOM:
            arrived = replace(RACE, good_enough=ARRIVED * float(np.median(final)))
        near, near_seconds = starts.solved(problem, raced, arrived, cancel)
        measured |= {
            "final": final, "iterations": solution.iterations, "arrival": near.iterations,
        }  # fmt: skip
        named = {f"{quantity}_{name}": values for quantity, values in measured.items()}
        found += rows(named, task.target * plan.starts)
        totals = {f"seconds_{name}": seconds, f"arrival_seconds_{name}": near_seconds}
        found += rows(totals, task.target)
    return found


@lru_cache(maxsize=2)
def _problem(side: int, rank: int, noise: float, seed: int, number: int) -> Problem:
    rng = np.random.default_rng([seed, rank, number])
    dataset = target(side, rank, noise, rng)
    return Problem(dataset, model=None, model_settings=None, rank=rank)


def _notes(plan: TransferPlan) -> tuple[str, ...]:
    return (
        "Starts of different processes differ in scale, and the paper does not say whether it "
        "rescales: both ‖X − AW‖/‖X‖ and its least value over one common factor are measured. "
        "Random starts have the scale of scikit-learn, with which AW has 2/π of the mean of X.",
        "Not published, and chosen here: the noise on the sources (0.1 of the size of a term), "
        "where negative entries of a noisy target go (to 0), the solver (hals) and when it stops "
        "(five iterations lower the squared error by less than 5·10⁻⁵ of it).",
        "Seconds are processor time on one core; what all starts share is not counted.",
        f"Of the {plan.starts} starts at each noise, {plan.raced} of either kind are solved. "
        f"Arrival: within {ARRIVED - 1:.0%} of the median error of solved random restarts.",
    )
