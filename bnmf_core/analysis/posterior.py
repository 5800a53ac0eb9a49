"""The posterior as a mixture: chains that start at every mode with mass, weighted by that mass.

Chains rarely cross between modes, so one run of chains shows the modes where it started and not how
probable they are. Here chains start at each mode that has mass, have to settle within it, and their
draws count as much as the mode.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.analysis import evidence
from bnmf_core.analysis.basins import METRIC
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped, parts
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.distances import find_distance
from bnmf_core.compare.distances.pairwise import cross
from bnmf_core.compare.downstream import downstream_auc
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.compare.settled import settled
from bnmf_core.core.errors import DataError, raise_if_cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.data.split import split
from bnmf_core.evidence.paths import conditional
from bnmf_core.evidence.weighing import shares
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.samplers import gibbs, hmc
from bnmf_core.solvers.basins import optima_from
from bnmf_core.solvers.solution import Stopping
from bnmf_core.store import files

# Modes with more mass than this, where the errors are taken at their widest, get chains; so many.
LEAST_MASS, MOST_MODES = 0.01, 4
# Chains of each mode, and the draws of each; fewer where the numbers of all are more than these.
CHAINS, DRAWS, FEWEST_DRAWS, NUMBERS = 4, 100, 50, 2**26
# Where these have not settled, so many times as many are drawn, once, if the numbers allow.
AGAIN = 4
# Core seconds for the chains of a mode, estimated from multiply-adds.
BUDGET, RATE = 240.0, 4.0e9
# Sweeps of the longest warm-up, between these, the fewest even if they take so many times as long.
SHORTEST, LONGEST, LONGER = 1_024, 200_000, 4.0
# Trajectories of an HMC chain, where there are no sweeps: a quarter of them warms up.
FEWEST_TRAJECTORIES, MOST_TRAJECTORIES = 100, 1_000
# Draws of a chain that a solver starts from, and the share that may end in another mode.
SOLVED, MOST_LEFT = 8, 0.1
# The optimum that angles are measured from: restarts stop where they would turn by a degree.
EXACT = Stopping(5_000, None, movement=0.05, kkt=1e-4)
# Number of stored draws per mode, and of those that predict labels.
STORED, SCORED = 100, 20
QUANTILES = (0.05, 0.5, 0.95)
SEED = 40


@dataclass(frozen=True)
class ModeDraws:
    """Draws within one mode.

    Attributes
    ----------
    row : the member whose optimum stands for the mode.
    mass, low, high : of the mode, with 90 % of what the errors allow.
    settled : whether its chains have settled within it. reason : why not; "" where they have.
    r_hat, ess : the worst of any quantity.
    left : share of the draws that a solver takes to another mode.
    """

    row: int
    mass: float
    low: float
    high: float
    settled: bool
    reason: str
    r_hat: float
    ess: float
    left: float


@dataclass(frozen=True, eq=False)
class Posterior:
    """The stored mixture.

    Attributes
    ----------
    problem : why there is none, in a sentence; "" where there is.
    modes : those with mass, the heaviest first.
    """

    problem: str
    modes: tuple[ModeDraws, ...] = ()
    folder: Path = Path()

    @property
    def settled(self) -> bool:
        """Whether the chains of every mode have settled, so that draws stand for the posterior."""
        return bool(self.modes) and all(mode.settled for mode in self.modes)

    @property
    def reason(self) -> str:
        """Why results from the draws are withheld, in a sentence; "" where chains have settled."""
        if self.problem:
            return self.problem
        failed = [mode for mode in self.modes if not mode.settled]
        if not failed:
            return ""
        among = f"{len(failed)} of {len(self.modes)} modes" if len(self.modes) > 1 else "the mode"
        return f"Chains within {among} have not settled. {failed[0].reason}"

    @cached_property
    def draws(self) -> list[dict[str, np.ndarray]]:
        """Arrays of each mode: ``A`` (k, D, R), evenly spaced draws in the optimum's order;
        ``loadings`` (3, D, R) and ``weights`` (3, R, N), the 5, 50 and 95 % quantiles of shares of
        a component's sum, and of its weights times that sum; ``turned`` (K, R), degrees from the
        optimum, of all K draws.
        """
        return [files.read_arrays(self.folder / f"draws-{k}.npz") for k in range(len(self.modes))]

    def within(self, labels: np.ndarray, row: int) -> int | None:
        """Which of ``modes`` has settled and is the mode of a member; labels (m,): modes of all."""
        held = (k for k, one in enumerate(self.modes) if one.settled)
        return next((k for k in held if labels[self.modes[k].row] == labels[row]), None)

    def turned(self, k: int = 0) -> np.ndarray:
        """(R,) the median angle between a draw's component and that of the k-th mode, degrees."""
        return np.asarray(np.median(self.draws[k]["turned"], axis=0))

    def scores_of(self, label: str) -> pd.DataFrame | None:
        """Mean AUC over the mixture: task, auc, low and high (5 and 95 % of the draws).

        None where the chains have not settled, or nothing was scored.
        """
        if not self.settled:
            return None
        table = pd.DataFrame(files.read_json(self.folder / "scores.json"))
        chosen = table[table["label"] == label].drop(columns="label")
        return None if chosen.empty else chosen


def compute(
    comparison: Comparison,
    folder: Path,
    report: Report,
    stopped: Stopped,
    executor: Executor | None = None,
) -> None:
    """Run chains from every mode with mass, and store their draws' summary."""
    found = evidence.STAGE.of(comparison)
    problem = found.problem
    if not problem:
        _, model = evidence.model_of(comparison)
        if not allowed_length(model):
            problem = (
                "Chains from every mode would take too long; only the runs' own chains tell how "
                "far the posterior reaches."
            )
    if problem:
        files.write_json(folder / "posterior.json", {"problem": problem, "modes": []})
        return
    # Row, mass and its limits of the modes that get chains, the heaviest first.
    assert found.tables is not None
    table = found.tables[1.0]
    log_evidence = np.where(table["keeps"], table["log_evidence"], -np.inf)
    joined = table["joined"].to_numpy()
    rng = np.random.default_rng(evidence.SEED)
    mass, low, high = shares(log_evidence, table["error"].to_numpy(), rng, joined)
    heaviest = {
        group: np.flatnonzero(joined == group)[log_evidence[joined == group].argmax()]
        for group in np.unique(joined)
    }
    order = [group for group in np.argsort(-mass, kind="stable") if group in heaviest]
    chosen = [
        (found.rows[heaviest[group]], float(mass[group]), float(low[group]), float(high[group]))
        for group in order[:MOST_MODES]
        if high[group] > LEAST_MASS
    ]
    numbers = model.rank * (model.dataset.D + model.dataset.N) * CHAINS
    draws = int(np.clip(NUMBERS // numbers, FEWEST_DRAWS, DRAWS))
    rounds = [draws] + [AGAIN * draws] * (AGAIN * draws * numbers <= NUMBERS)
    found_of: dict[int, ModeDraws] = {}
    for (seed, many), progress in parts(list(enumerate(rounds, SEED)), report):
        left = [k for k in range(len(chosen)) if k not in found_of or not found_of[k].settled]
        rows = [chosen[k][0] for k in left]
        made = _sampled(comparison, model, rows, many, seed, progress, stopped, executor)
        for k, (A, W, chain) in zip(left, made, strict=True):
            raise_if_cancelled(stopped, "the posterior's draws")
            mode = chosen[k]
            found_of[k] = _summed_up(comparison, model, folder, k, mode, A, W, chain, stopped)
        del made  # before more are drawn
    modes = list(found_of.values())
    _score(comparison, folder, modes, stopped)
    plain = {"problem": "", "modes": [asdict(mode) for mode in modes]}
    files.write_json(folder / "posterior.json", plain)


def _sampled(
    comparison: Comparison,
    problem: Problem,
    rows: Sequence[int],
    draws: int,
    seed: int,
    report: Report,
    stopped: Stopped,
    executor: Executor | None,
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """A (K, D, R), W (K, R, N) and chain (K,) of each mode's draws, so many of every chain."""
    if not rows:
        return []
    A, W = problem.model.scale(*comparison.factors(rows))
    longest = allowed_length(problem)
    halves = [(k, first) for k in range(len(rows)) for first in range(0, CHAINS, 2)]
    generators = np.random.default_rng(seed).spawn(len(halves))
    arguments = [
        (problem, A[k], W[k], first, draws, longest, generator)
        for (k, first), generator in zip(halves, generators, strict=True)
    ]
    with Tasks(executor, stopped, report, len(halves), "the posterior's draws") as tasks:
        made = tasks.make(sample_within, arguments)
    return [
        tuple(np.concatenate(parts) for parts in zip(*made[2 * k : 2 * k + 2], strict=True))  # type: ignore[misc]
        for k in range(len(rows))
    ]


def allowed_length(problem: Problem) -> int:
    """Gibbs sweeps of the longest warm-up, or trajectories of HMC; 0: all would take too long."""
    if conditional(problem.model, problem.model_settings):
        sweep = gibbs.work_per_sweep(problem) * CHAINS / RATE
        allowed = BUDGET / (2.0 * sweep)
        return int(np.clip(allowed, SHORTEST, LONGEST)) if LONGER * allowed >= SHORTEST else 0
    trajectory = hmc.Settings().leapfrog_steps * hmc.work_per_leapfrog(problem, CHAINS) / RATE
    allowed = int(min(BUDGET / trajectory, MOST_TRAJECTORIES))
    return allowed if allowed >= FEWEST_TRAJECTORIES else 0


def sample_within(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    first: int,
    draws: int,
    longest: int,
    rng: np.random.Generator,
    stopped: Stopped = lambda: False,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two chains from A (D, R), W (R, N): A (K, D, R), W (K, R, N), chain (K,).

    Adaptive Gibbs, or HMC where entries have no conditionals to draw from.
    """
    A, W, each = np.repeat(A[None], 2, axis=0), np.repeat(W[None], 2, axis=0), np.full(2, draws)
    sampler: Any = gibbs
    settings: Any = gibbs.Settings(chains=2, thinning=1, longest=longest)
    with one_blas_thread():
        if conditional(problem.model, problem.model_settings):
            start_A = np.ascontiguousarray(A.transpose(0, 2, 1))
            state: Any = gibbs.started(problem, start_A, W, each, first, settings)
        else:
            thinning = max(1, (longest - longest // 4) // draws)
            sampler = hmc
            settings = hmc.Settings(chains=2, warm_up=longest // 4, thinning=thinning)
            state = hmc.started(problem, A, W, each, first, settings, rng)
        made: list[tuple[np.ndarray, ...]] = []
        while sum(len(A) for A, *_ in made) < each.sum():
            raise_if_cancelled(stopped, "the posterior's draws")
            state, batch = sampler.step(problem, state, settings, rng)
            if not batch.size:  # nothing is recorded while chains adapt
                continue
            drawn = np.ones(batch.size, bool) if batch.warm_up is None else ~batch.warm_up
            made.append((batch.A[drawn], batch.W[drawn], np.asarray(batch.chain)[drawn]))
    A, W, chain = (np.concatenate(parts) for parts in zip(*made, strict=True))
    order = np.argsort(chain, kind="stable")
    return A[order], W[order], chain[order]


def _summed_up(
    comparison: Comparison,
    problem: Problem,
    folder: Path,
    k: int,
    chosen: tuple[int, float, float, float],
    A: np.ndarray,
    W: np.ndarray,
    chain: np.ndarray,
    stopped: Stopped,
) -> ModeDraws:
    """The verdict on the draws of one mode, whose summary is stored."""
    row, mass, low, high = chosen
    of_A, of_W = problem.model.scale(
        *optima_from(problem, *comparison.factors([row]), stopped, EXACT)
    )
    log_joint = problem.model.log_joint(problem, A, W)
    verdict = settled(A, W, log_joint, chain, None, {0: (of_A[0], of_W[0])})
    left = _left(problem, A, W, chain, of_A, of_W, stopped)
    reason = verdict.reason
    if verdict.settled and left > MOST_LEFT:
        reason = f"{left:.0%} of the draws end in another mode."
    order = matching(A, of_A[0])
    A = np.take_along_axis(A, order[:, None, :], axis=2)
    W = np.take_along_axis(W, order[:, :, None], axis=1)
    sums = np.maximum(A.sum(axis=1, keepdims=True), 1e-300)
    selected = evenly_spaced(len(A), STORED)
    arrays = {
        "A": A[selected].astype(np.float32),
        "loadings": np.quantile(A / sums, QUANTILES, axis=0),
        "weights": np.quantile(W * sums.transpose(0, 2, 1), QUANTILES, axis=0),
        "turned": component_angles(A, of_A[0]),
    }
    files.write_arrays(folder / f"draws-{k}.npz", arrays)
    return ModeDraws(
        row=int(row),
        mass=mass,
        low=low,
        high=high,
        settled=not reason,
        reason=reason,
        r_hat=verdict.r_hat,
        ess=min(verdict.ess_bulk, verdict.ess_tail),
        left=left,
    )


def _left(
    fit: Problem,
    A: np.ndarray,
    W: np.ndarray,
    chain: np.ndarray,
    of_A: np.ndarray,
    of_W: np.ndarray,
    stopped: Stopped,
) -> float:
    """The share of evenly spaced draws that a solver takes to another optimum."""
    rows = np.concatenate(
        [
            part[evenly_spaced(part.size, SOLVED)]
            for part in (np.flatnonzero(chain == number) for number in np.unique(chain))
        ]
    )
    ends = optima_from(fit, A[rows], W[rows], stopped)
    return float((cross(*ends, of_A, of_W, find_distance(METRIC))[:, 0] > SAME_MODE).mean())


def _score(
    comparison: Comparison, folder: Path, modes: Sequence[ModeDraws], stopped: Stopped
) -> None:
    """Store the mean AUC over the mixture, for every class of every label."""
    dataset, rows = comparison.dataset, []
    held_out = split(dataset, comparison.holdout)[1] if comparison.holdout else None
    draws = Posterior("", tuple(modes), folder).draws
    of_modes = [
        each["A"][np.linspace(0, len(each["A"]) - 1, SCORED).round().astype(int)] for each in draws
    ]
    A = np.concatenate(of_modes).astype(np.float64)
    mass = np.array([[mode.mass, mode.low, mode.high] for mode in modes])
    for label in dataset.labels:
        try:
            loss = comparison.fit.loss
            table = downstream_auc(A, dataset, label, held_out=held_out, cancel=stopped, loss=loss)
        except DataError:  # such as a name that every observation has for itself
            continue
        for task, group in table.groupby("task", sort=False):
            auc = group.sort_values("particle")["auc"].to_numpy().reshape(len(modes), SCORED)
            mean, low, high = mixed(auc, mass)
            rows.append({"label": label, "task": task, "auc": mean, "low": low, "high": high})
    columns = ("label", "task", "auc", "low", "high")
    stored = {column: [row[column] for row in rows] for column in columns}
    files.write_json(folder / "scores.json", stored)


def mixed(values: np.ndarray, mass: np.ndarray) -> tuple[float, float, float]:
    """Mean of a mixture, and the widest 5 and 95 % quantiles that the errors of the masses allow.

    values : (k, n), of n draws of each mode. mass : (k, 3), of the mode, lowest and highest.
    """
    found = []
    for weights in _allowed(mass):
        each = np.repeat(weights / (weights.sum() * values.shape[1]), values.shape[1])
        ends = np.quantile(values.ravel(), (0.05, 0.95), weights=each, method="inverted_cdf")
        found.append((float(values.ravel() @ each), *map(float, ends)))
    means, lows, highs = zip(*found, strict=True)
    return means[0], min(lows), max(highs)


def _allowed(mass: np.ndarray) -> list[np.ndarray]:
    """The masses (k, 3) as they are, then with each mode in turn at its lowest and highest."""
    found = [mass[:, 0]]
    for k in range(len(mass)):
        for end in (1, 2):
            weights = mass[:, 0].copy()
            weights[k] = mass[k, end]
            found.append(weights)
    return [weights for weights in found if weights.sum() > 0]


def read(comparison: Comparison, folder: Path) -> Posterior:
    """The stored mixture."""
    stored = files.read_json(folder / "posterior.json")
    modes = tuple(ModeDraws(**mode) for mode in stored["modes"])
    return Posterior(stored["problem"], modes, folder)


STAGE = Stage(
    key="posterior",
    label="Running chains in each mode",
    needs=(evidence.STAGE,),
    version=3,
    compute=compute,
    read=read,
    spread=True,
    weight=20.0,
)
