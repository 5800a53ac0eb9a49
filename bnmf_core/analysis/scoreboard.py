"""One table for a comparison of algorithms: a row per criterion, a column per group of repetitions.

Everything is read from what the stages have stored; a criterion that is not defined for a run, or
whose stage has not been computed, has no number there.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bnmf_core.analysis import (
    conclusions,
    distances,
    downstream,
    evidence,
    mixing,
    quality,
    stein,
    structure,
    variational,
)
from bnmf_core.analysis.answer import percent
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stein import FORMS
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.compare.modes import Modes
from bnmf_core.evidence.shares import shares
from bnmf_core.nouns.names import listed, told_apart
from bnmf_core.nouns.registry import Registry
from bnmf_core.posterior.stein import ksd
from bnmf_core.registry import label_of

SEED = 20
MASS = "mass"
# What is left by rounding where everything that was weighed is reached.
ALL = 1e-9
Ends = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Board:
    """A comparison seen under a distance, cut into modes, with balls of a radius.

    metric : key of a distance. modes : of all members. radius : ε of the covering number, in the
    distance's unit.
    """

    comparison: Comparison
    metric: str
    modes: Modes
    radius: float

    @cached_property
    def rows(self) -> dict[str, np.ndarray]:
        """Rows of the members of each run, by run id."""
        return dict(zip(self.comparison.run_ids, self.comparison.rows_by_run(), strict=True))

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """Runs that differ in nothing but the seed: the first one's id → all their ids."""
        return self.comparison.repetitions()

    def found(self, run_id: str) -> np.ndarray:
        """(K,) bool: modes in which a factorization of a run lies; a draw lies in the nearest.

        Of an algorithm that runs until it converges, only those that have count.
        """
        rows = self.rows[run_id]
        if self.comparison.optima[rows].any():
            rows = rows[self.comparison.optima[rows]]
        found = np.zeros(self.modes.count, dtype=bool)
        found[self.modes.labels[rows]] = True
        return found

    def reached(self, run_id: str) -> tuple[float, float, float]:
        """Posterior mass of the modes that a run found, and what the errors leave it, 90 %.

        A share of the modes that were weighed; NaN where none was, or a single one of several.
        """
        found = evidence.STAGE.perhaps(self.comparison)
        if found is None or found.tables is None or (len(found.rows) == 1 and found.left_out):
            return (math.nan,) * 3
        table = found.tables[1.0]
        in_found = self.found(run_id)[self.modes.labels[list(found.rows)]].astype(int)
        masses = shares(
            table["log_evidence"].to_numpy(),
            table["error"].to_numpy(),
            np.random.default_rng(SEED),
            in_found,
        )
        mass, low, high = (float(part[1]) if part.size > 1 else 0.0 for part in masses)
        return mass, low, high

    def spread(self, run_id: str, name: str) -> float:
        """The ``largest`` or the ``mean`` distance within a run."""
        return self._spreads[name][run_id]

    def covering(self, run_id: str) -> float:
        """How many balls of the radius cover a run."""
        rows = self.rows[run_id]
        within = self._apart[np.ix_(rows, rows)]
        return float(covering_numbers(within, np.array([self.radius]))[0])

    def errors(self, run_id: str) -> np.ndarray:
        """Relative errors of a run's members."""
        return self.comparison.members["error"].to_numpy()[self.rows[run_id]]

    def unseen(self, run_id: str, name: str) -> float:
        """Median error of a run on ``hidden`` entries or ``held_out`` observations."""
        found = quality.STAGE.perhaps(self.comparison)
        values = [] if found is None else getattr(found, name)
        return float(np.median(np.asarray(values)[self.rows[run_id]])) if values else math.nan

    def auc_range(self, run_id: str) -> float:
        """By how much the AUC of a class differs among a run's members, at most over classes."""
        found = downstream.STAGE.perhaps(self.comparison)
        if found is None or found.table.empty:
            return math.nan
        table = found.table[found.table["member"].isin(self.rows[run_id])]
        auc = table.groupby(["label", "task"])["auc"]
        return float((auc.max() - auc.min()).max())

    def told(self, run_id: str, name: str) -> float:
        """A number that a run itself tells."""
        particles = self.comparison.particles[self.comparison.run_ids.index(run_id)]
        value = particles.info.get(name)
        return float(value) if isinstance(value, int | float) else math.nan

    def discrepancy(self, run_id: str, form: str) -> float:
        """The Stein discrepancy √(wᵀKw) of a run, all its members alike."""
        if form not in self._kernels:
            return math.nan
        rows = self.rows[run_id]
        K = self._kernels[form][np.ix_(rows, rows)]
        return math.sqrt(max(ksd(K, np.full(rows.size, 1 / rows.size)), 0.0))

    def bound(self, run_id: str) -> float:
        """The evidence lower bound of the mixture that a run has made, nats."""
        return self._bounds.get(run_id, math.nan)

    def busy(self, run_id: str) -> float:
        """Seconds that processors worked on a run; NaN where that was not measured."""
        record = self.comparison.runs[self.comparison.run_ids.index(run_id)]
        return record.busy or math.nan

    def effective(self, run_id: str) -> float:
        """Effective draws of the log joint a second, all chains together."""
        found = mixing.STAGE.perhaps(self.comparison)
        seconds = self.told(run_id, "run_seconds")
        if found is None or run_id not in found or not seconds > 0:
            return math.nan
        table = found[run_id].table.set_index("quantity")
        return float(table["ess_bulk"].get("log_joint", math.nan)) / seconds

    # What is read for every run is read once.

    @cached_property
    def _apart(self) -> np.ndarray:
        return np.array(distances.STAGE.of(self.comparison).matrix(self.metric))

    @cached_property
    def _spreads(self) -> dict[str, dict[str, float]]:
        spread = structure.STAGE.of(self.comparison).spread(self.metric).set_index("run")
        return {
            name: {str(key): float(value) for key, value in spread[name].items()}
            for name in ("largest", "mean")
        }

    @cached_property
    def _kernels(self) -> dict[str, np.ndarray]:
        found = stein.STAGE.perhaps(self.comparison)
        parts = {} if found is None else {form: found.part(form, "suggested") for form in FORMS}
        return {
            form: np.asarray(part.K) for form, part in parts.items() if not isinstance(part, str)
        }

    @cached_property
    def _bounds(self) -> dict[str, float]:
        found = variational.STAGE.perhaps(self.comparison)
        proposals = {} if found is None else found.proposals("best")
        return {key: float(one.decisions["elbo"].iloc[-1]) for key, one in proposals.items()}


@dataclass(frozen=True)
class Criterion:
    """A number by which runs are compared.

    Attributes
    ----------
    key, label, unit : what it is called; the unit is "" for pure numbers and "distance" for that of
        the distance in use. value : the number of a run, NaN where there is none.
    better : "less", "more", or "" where neither is. favours : whom it flatters by what it measures,
        "optimizers", "draws", or "" for nobody. about : what it is, in a sentence.
    page : the page where it comes from.
    """

    key: str
    label: str
    value: Callable[[Board, str], float]
    unit: str = ""
    better: str = ""
    favours: str = ""
    about: str = ""
    page: str = "modes"


CRITERIA: Registry[Criterion] = Registry(
    "criterion of a scoreboard",
    Criterion,
    (
        Criterion(
            "modes",
            "modes found",
            lambda board, run_id: float(board.found(run_id).sum()),
            better="more",
            favours="optimizers",
            about="Of those that any run found. A draw counts to its nearest mode.",
        ),
        Criterion(
            MASS,
            "posterior mass reached",
            lambda board, run_id: board.reached(run_id)[0],
            better="more",
            about="Of the modes that were weighed, what those hold together that a run found.",
        ),
        Criterion(
            "covering",
            "covering number",
            Board.covering,
            better="more",
            about="Balls of the radius that are needed to cover a run's factorizations. Poor ones "
            "count as good ones do.",
            page="coverage",
        ),
        Criterion(
            "largest",
            "largest distance",
            lambda board, run_id: board.spread(run_id, "largest"),
            unit="distance",
            better="more",
            page="coverage",
            about="Between two factorizations of a run.",
        ),
        Criterion(
            "mean",
            "mean distance",
            lambda board, run_id: board.spread(run_id, "mean"),
            unit="distance",
            better="more",
            page="coverage",
            about="Over all pairs of a run, a factorization with itself included, as published.",
        ),
        Criterion(
            "best_error",
            "best relative error",
            lambda board, run_id: float(board.errors(run_id).min()),
            better="less",
            favours="optimizers",
            page="quality",
            about="‖X − AW‖/‖X‖ of the best one. A draw lies farther out than an optimum.",
        ),
        Criterion(
            "median_error",
            "median relative error",
            lambda board, run_id: float(np.median(board.errors(run_id))),
            better="less",
            favours="optimizers",
            page="quality",
            about="‖X − AW‖/‖X‖ of the middle one.",
        ),
        Criterion(
            "hidden",
            "error on hidden entries",
            lambda board, run_id: board.unseen(run_id, "hidden"),
            better="less",
            page="quality",
            about="Relative, of the middle factorization, on entries that were hidden on purpose.",
        ),
        Criterion(
            "held_out",
            "error on hidden observations",
            lambda board, run_id: board.unseen(run_id, "held_out"),
            better="less",
            page="quality",
            about="Relative, of the middle factorization, on observations that no run saw.",
        ),
        Criterion(
            "auc",
            "range of the AUC",
            Board.auc_range,
            page="downstream",
            about="By how much the AUC of a class differs among a run's factorizations, at most "
            "over classes.",
        ),
        Criterion(
            "evidence",
            "log evidence",
            lambda board, run_id: board.told(run_id, "log_evidence"),
            unit="nats",
            favours="draws",
            page="quality",
            about="As tempering tells it. It belongs to model and rank: algorithms should agree.",
        ),
        Criterion(
            "interior",
            "Stein discrepancy, log coordinates",
            lambda board, run_id: board.discrepancy(run_id, "interior"),
            better="less",
            favours="draws",
            page="quality",
            about="How far the factorizations, all alike, are from draws: 0 for the posterior.",
        ),
        Criterion(
            "paper",
            "Stein discrepancy, A and W as they are",
            lambda board, run_id: board.discrepancy(run_id, "paper"),
            better="less",
            favours="optimizers",
            page="quality",
            about="As published. Where entries are 0 the posterior itself does not make it 0.",
        ),
        Criterion(
            "elbo",
            "evidence lower bound",
            Board.bound,
            unit="nats",
            better="more",
            page="mixture",
            about="Of the mixture that variational inference makes of a run.",
        ),
        Criterion(
            "effective",
            "effective draws a second",
            Board.effective,
            better="more",
            favours="draws",
            page="traces",
            about="Of the log joint, all chains together. High also where no chain ever leaves its "
            "mode.",
        ),
        Criterion(
            "seconds",
            "seconds",
            lambda board, run_id: board.told(run_id, "run_seconds"),
            unit="s",
            better="less",
            page="runs",
            about="From the beginning of a run to its end, on the machine that made it.",
        ),
        Criterion(
            "busy",
            "processor seconds",
            lambda board, run_id: board.busy(run_id),
            unit="s",
            better="less",
            page="runs",
            about="What processors worked on a run, all together, whatever else ran beside it.",
        ),
    ),
    "bnmf.criteria",
)


# What numbers are taken from, in the order in which it is computed.
STAGES = (
    mixing.STAGE,
    quality.STAGE,
    downstream.STAGE,
    conclusions.STAGE,
    evidence.STAGE,
    stein.STAGE,
    variational.STAGE,
)


def scores(board: Board) -> pd.DataFrame:
    """Every number: columns criterion, group (the first run's id), run, value."""
    rows = [
        (key, group, run_id, criterion.value(board, run_id))
        for key, criterion in CRITERIA.items()
        for group, run_ids in board.groups.items()
        for run_id in run_ids
    ]
    return pd.DataFrame(rows, columns=["criterion", "group", "run", "value"])


def scoreboard(board: Board) -> pd.DataFrame:
    """Median, least and largest over repetitions: a row per criterion and group that has numbers.

    Columns criterion, group, median, least, most, runs (how many have the number), best (whether no
    other group's median is better, where one is), and text: the median with the range, or with what
    the errors leave of a posterior mass.
    """
    known = scores(board).dropna(subset="value")
    rows = []
    for key, of_criterion in known.groupby("criterion", sort=False):
        medians = of_criterion.groupby("group", sort=False)["value"].median()
        better = CRITERIA[str(key)].better
        target = medians.max() if better == "more" else medians.min()
        # As they are shown: what differs in further digits is a tie.
        differ = bool(better) and medians.map(number).nunique() > 1
        for group, values in of_criterion.groupby("group", sort=False)["value"]:
            middle = values.median()
            best = differ and number(middle) == number(target)
            ends = float(values.min()), float(values.max())
            text = _text(board, str(key), board.groups[str(group)], middle, ends)
            rows.append((key, group, middle, *ends, len(values), best, text))
    columns = ["criterion", "group", "median", "least", "most", "runs", "best", "text"]
    return pd.DataFrame(rows, columns=columns)


def only(board: Board, one: Sequence[str], other: Sequence[str]) -> np.ndarray:
    """Modes (0-based) in which some run of ``one`` lies and none of ``other``."""
    found = [np.any([board.found(run_id) for run_id in runs], axis=0) for runs in (one, other)]
    return np.flatnonzero(found[0] & ~found[1])


def names_of(board: Board, longer: Mapping[str, str]) -> dict[str, str]:
    """What the groups are called, by their first runs' ids; ``longer`` tells those of one name."""
    records = {record.id: record for record in board.comparison.runs}
    names = {}
    for group, ids in board.groups.items():
        label = records[group].name or label_of(records[group].spec.algorithm)
        names[group] = f"{label} × {len(ids)}" if len(ids) > 1 else label
    return told_apart(names, longer)


def found_in_words(board: Board, names: Mapping[str, str]) -> str:
    """How many modes each group found, in a sentence; ``names`` by the groups' ids."""
    found = {
        group: np.array([board.found(run_id) for run_id in ids])
        for group, ids in board.groups.items()
    }
    every = int(np.concatenate(list(found.values())).any(axis=0).sum())
    parts = []
    for group, of_runs in found.items():
        counts, together = of_runs.sum(axis=1), int(of_runs.any(axis=0).sum())
        told = f"{names[group]} found {together}"
        if (counts < together).any():
            told += f" ({np.median(counts):g} in the middle one of its runs)"
        parts.append(told)
    modes = "1 mode" if every == 1 else f"{every} modes"
    return f"Of {modes} that any run found, {listed(parts)}."


def _text(board: Board, key: str, run_ids: Sequence[str], middle: float, ends: Ends) -> str:
    if key == MASS and len(run_ids) == 1:
        ends = board.reached(run_ids[0])[1:]
    told = _share if key == MASS else number
    least, most = map(told, ends)
    return told(middle) + (f" ({least} to {most})" if (least, most) != (told(middle),) * 2 else "")


def number(value: float) -> str:
    """A number as it stands in a scoreboard."""
    return f"{value:.4g}"


def _share(value: float) -> str:
    return "100 %" if value > 1.0 - ALL else percent(value)
