"""The posterior mass of the sites that converged factorizations stand for, and so of modes."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

from bnmf_core.analysis import distances
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.optima import METRIC, find_sites
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.core.errors import (
    BNMFError,
    Cancelled,
    RunError,
    SchedulerError,
    SettingsError,
)
from bnmf_core.core.names import in_digits
from bnmf_core.core.particles import Particles
from bnmf_core.core.plain import Plain
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import values_of
from bnmf_core.evidence.hamiltonian_path import LEAPFROG
from bnmf_core.evidence.mode_evidence import NoModeError, mode_evidence, particles_for
from bnmf_core.evidence.paths import by_sweeps, why_not
from bnmf_core.evidence.restarts import highest_of_each
from bnmf_core.evidence.weighing import shares
from bnmf_core.lazy import lazy
from bnmf_core.numerics.threads import worker_count
from bnmf_core.posterior.places import problem_of
from bnmf_core.samplers.gibbs import work_per_sweep
from bnmf_core.samplers.hmc import work_per_leapfrog
from bnmf_core.store import files

csgraph = lazy("scipy.sparse.csgraph")

# Maximum number of weighed sites, the best first.
MOST = 8
# Steps of a population and multiply-adds of a core and second, about; and how many seconds the
# whole may take before fewer modes are weighed.
STEPS, RATE, PATIENCE = 350, 4.0e9, 1200.0
SEED = 20
# Populations of a mode at most, where errors leave open which mode has the most mass; but two
# where the time that is allowed would not do for so many modes.
MOST_REPEATS, SOON = 8, 4 * MOST
# Symbols of model settings.
SYMBOLS = {
    "sigma": "σ",
    "rate": "λ",
    "shape_A": "shape of A",
    "shape_W": "shape of W",
    "dispersion": "prior median of k",
    "spread": "uncertainty of log k",
}
# Number of cached tables of masses.
MOST_KNOWN = 64
# Columns of the masses of modes.
MASSES = ["mass", "mass_low", "mass_high"]


@dataclass(frozen=True)
class Evidence:
    """Stored masses.

    problem : the sentence that says why there are none; "" where there are.
    model : the model's name. settings : its settings, nothing left open.
    rows : members that were weighed, one for each site, the best log joint first.
    left_out : sites that were not weighed.
    tables : power → what :func:`mode_evidence` says of the rows; 1 first, less where it is known.
    repeated : power below 1 → the same with another seed.
    blurred : powers below 1 at which the posterior does not tell these modes apart: populations
        leave every mode.
    """

    problem: str
    model: str = ""
    settings: Mapping[str, Plain] | None = None
    rows: tuple[int, ...] = ()
    left_out: int = 0
    tables: Mapping[float, pd.DataFrame] | None = None
    repeated: Mapping[float, pd.DataFrame] | None = None
    blurred: tuple[float, ...] = ()

    @property
    def powers(self) -> tuple[float, ...]:
        """The powers of the likelihood that there are masses for, 1 first."""
        return tuple(self.tables or ())

    @property
    def settled(self) -> bool:
        """Whether twice the steps gave the same evidences, where they were tried."""
        return self.tables is None or bool(self.tables[1.0]["settled"].all())

    @property
    def described(self) -> str:
        """The model's settings, as "σ = 0.19, λ = 1", or "flat prior, σ inferred"."""
        terms = []
        for name, value in (self.settings or {}).items():
            symbol = SYMBOLS.get(name, name)
            if isinstance(value, int | float):
                terms.append(f"{symbol} = {in_digits(value)}")
            else:
                terms.append(f"{symbol} inferred" if value is None else f"{value} {symbol}")
        return ", ".join(terms)

    def winner(self, labels: np.ndarray, power: float) -> int | None:
        """The mode (0-based) with the most mass, where the errors leave no other; else None.

        Below a power of 1, a repeat with another seed has to name the same, and the posterior
        has to separate it from others. ``labels`` as of :meth:`of_modes`.
        """
        found = {clear_winner(masses) for masses in self._repeats(labels, power)}
        if len(found) > 1:
            return None
        winner = found.pop()
        alone = winner is not None and not self.merged(labels, power, winner)
        return winner if power == 1.0 or alone else None

    def merged(self, labels: np.ndarray, power: float, mode: int) -> bool:
        """Whether the posterior does not separate a mode from another, in any repeat."""
        joined = [masses["joined"].to_numpy() for masses in self._repeats(labels, power)]
        return any((one == one[mode]).sum() > 1 for one in joined)

    def _repeats(self, labels: np.ndarray, power: float) -> list[pd.DataFrame]:
        """The masses of modes by every repeat."""
        repeats = 2 if power < 1.0 else 1
        return [self._weighed(labels, power, repeat) for repeat in range(repeats)]

    def of_modes(self, labels: np.ndarray, power: float = 1.0) -> pd.DataFrame:
        """The mass of modes, given the mode of every member, labels (m,).

        A row per mode: ``mass``, ``mass_low``, ``mass_high``, ``weighed``, how many of the
        factorizations that were weighed it holds, ``stays``, whether most of a population that set
        out at one of them stayed in the mode, and ``joined``, the mode that it is one with, as each
        population ends in the other; NaN, 0, True and itself where it holds none. Modes that are
        one have their mass at the first of them, and NaN at the others.
        """
        count = int(labels.max()) + 1
        alone = len(self.rows) == 1 and self.left_out  # a share of what, nobody knows
        if self.tables is not None and not alone:
            return self._weighed(labels, power, 0)
        found = pd.DataFrame(np.nan, index=range(count), columns=MASSES)
        rows = [] if self.tables is None else list(self.rows)
        weighed = np.bincount(labels[rows], minlength=count)
        return found.assign(weighed=weighed, stays=True, joined=np.arange(count))

    @cached_property
    def _known(self) -> dict[tuple[float, int, int, bytes], pd.DataFrame]:
        """Cached masses: pages request the same ones repeatedly."""
        return {}

    def _weighed(self, labels: np.ndarray, power: float, repeat: int) -> pd.DataFrame:
        """The masses of modes by the first populations (0) or by those of the repeat (1)."""
        groups, count = labels[list(self.rows)], int(labels.max()) + 1
        key = (power, repeat, count, groups.tobytes())
        known = self._known.get(key)
        if known is None:
            if len(self._known) >= MOST_KNOWN:  # others may ask at this moment
                self._known.clear()
            table = ((self.tables, self.repeated)[repeat] or {})[power]
            known = self._known[key] = _masses(groups, count, table)
        return known.copy()


def _masses(groups: np.ndarray, count: int, table: pd.DataFrame) -> pd.DataFrame:
    """The masses of ``count`` modes, given the mode of each population, groups (K,)."""
    found = pd.DataFrame(np.nan, index=range(count), columns=MASSES)
    one = groups, groups[table["joined"].to_numpy()]
    united = sparse.csr_array((np.ones(groups.size), one), (count, count))
    parts = csgraph.connected_components(united, directed=False)[1]
    joined = np.array([np.flatnonzero(parts == part)[0] for part in parts])
    evidence = np.where(table["keeps"], table["log_evidence"], -np.inf)
    rng = np.random.default_rng(SEED)
    masses = shares(evidence, table["error"].to_numpy(), rng, joined[groups])
    weighed = np.bincount(groups, minlength=count)
    held = np.flatnonzero((weighed > 0) & (joined == np.arange(count)))
    found.loc[held, list(found)] = np.stack(masses, axis=1)[held]
    stays = np.bincount(groups, table["keeps"], minlength=count) > 0
    return found.assign(weighed=weighed, stays=stays | (weighed == 0), joined=joined)


def clear_winner(masses: pd.DataFrame) -> int | None:
    """The row that weighs more than every other, whatever the errors are; None without one."""
    held = masses[masses["mass"].notna()].sort_values("mass", ascending=False)
    if (held["mass_high"].iloc[1:] >= held["mass_low"].iloc[0]).any():
        return None
    return int(held.index[0])


def compute(
    comparison: Comparison,
    folder: Path,
    report: Report,
    stopped: Stopped,
    executor: Executor | None = None,
) -> None:
    """Store which members stand for modes, and what each of them weighs at every power."""
    try:
        _, problem = model_of(comparison)
        # Rows of the members with the best log joint of their sites, the best first.
        sites = find_sites(comparison)
        height = comparison.members["log_joint"].to_numpy()[sites.rows]
        rows = sites.rows[highest_of_each(sites.labels, height, sites.rows.size)]
        seconds = seconds_of(problem)
        affordable = int(PATIENCE / seconds)
        if affordable < 1:
            raise RunError(
                f"Weighing one mode of these data would take about {seconds / 60:.0f} minutes, "
                "which is too long to be done unasked; mode_evidence does it in a notebook."
            )
        taken = rows[: min(MOST, affordable)]
        table = weigh(
            comparison,
            taken.tolist(),
            1.0,
            report,
            stopped,
            executor,
            most_repeats=MOST_REPEATS if affordable >= SOON else 2,
        )
        files.write_json(folder / "table.json", table.to_dict("list"))
        found = {
            "problem": "",
            "model": problem.model.label,
            "settings": values_of(problem.model_settings),
            "rows": taken.tolist(),
            "left_out": int(rows.size - taken.size),
        }
    except (Cancelled, SchedulerError):
        raise
    except BNMFError as error:
        found = {"problem": str(error)}
    files.write_json(folder / "evidence.json", found)


def weigh(
    comparison: Comparison,
    rows: Sequence[int],
    power: float,
    report: Report,
    stopped: Stopped,
    executor: Executor | None = None,
    particles: int | None = None,
    seed: int = SEED,
    most_repeats: int = 2,
) -> pd.DataFrame:
    """Apply :func:`mode_evidence` to members of a comparison, under its :func:`model_of`.

    Raises
    ------
    NoModeError
        When the populations of all of them end elsewhere.
    Cancelled
        As :func:`mode_evidence`.
    """
    run, _ = model_of(comparison)
    A, W = comparison.factors(rows)
    found = mode_evidence(
        comparison.dataset,
        replace(run.subset(np.zeros(len(rows), int)), A=A, W=W, ids=np.array(rows)),
        rng=np.random.default_rng(seed),
        particles=particles,
        most_repeats=most_repeats,
        likelihood_power=power,
        check=power == 1.0,
        metric=METRIC,
        executor=executor,
        on_progress=report,
        stopped=stopped,
    )
    if not found["keeps"].any():
        raise NoModeError(
            "The posterior keeps none of these modes apart: samples that start at one of them "
            "end at other optima."
        )
    return found


def model_of(comparison: Comparison) -> tuple[Particles, Problem]:
    """The first run under whose model modes can be weighed, and its problem.

    Raises
    ------
    SettingsError
        With the reason why there is none.
    """
    reasons = [comparison.dataset.why_not_all("The posterior mass of modes")]
    for particles in () if reasons[0] else comparison.particles:
        problem = problem_of(particles, comparison.dataset)
        reason = why_not(problem.model, problem.model_settings)
        if not reason:
            return particles, problem
        reasons.append(reason)
    raise SettingsError(next(filter(None, reasons)))


def seconds_of(problem: Problem) -> float:
    """About how long it takes to weigh one mode, at most."""
    count = particles_for(problem)
    work = count * work_per_sweep(problem)
    if not by_sweeps(problem):
        work = LEAPFROG * work_per_leapfrog(problem, count)  # a trajectory instead of a sweep
    # Two repeats and one with twice the steps of the best ones; the others mostly a quick look.
    return 4 * STEPS * work / RATE / worker_count()


def expected_seconds(problem: Problem) -> tuple[float, float] | None:
    """Seconds to weigh one mode, and all modes; None if modes are not weighed.

    ``problem`` : whose model's settings may be open.

    Measured on data of four kinds, it took an eighth to a quarter of what is allowed for.
    """
    if problem.dataset.whole is not None or why_not(problem.model, problem.model_settings):
        return None
    one = seconds_of(problem)
    most = min(MOST, int(PATIENCE / one))
    return (0.12 * one, 0.25 * one * most) if most else None


def read(comparison: Comparison, folder: Path) -> Evidence:
    """The stored masses."""
    stored = files.read_json(folder / "evidence.json")
    if stored["problem"]:
        return Evidence(stored["problem"])
    return Evidence(**stored, tables={1.0: pd.DataFrame(files.read_json(folder / "table.json"))})


STAGE = Stage(
    key="evidence",
    label="Weighing the modes",
    needs=(distances.STAGE,),
    version=5,
    compute=compute,
    read=read,
    spread=True,
    weight=25.0,
)
