"""The criteria by which runs are compared, and whom each favours: one entry each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.analysis.board import Board
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.core.loss import MEASURE
from bnmf_core.core.registry import Registry

MASS = "mass"
# Placeholder for the measure of fit of the runs.
ABOUT = "The measure of fit"


@dataclass(frozen=True)
class Criterion:
    """A number by which runs are compared.

    Attributes
    ----------
    key, label, unit : what it is called; the unit is "" for pure numbers and "distance" for that of
        the distance in use. value : the number of a run, NaN where there is none.
    better : "less", "more", or "" where neither is. favours : towards whom it is biased by what it
        measures, "optimizers", "draws", or "" for nobody. requires : of what it means something.
        about : what it is, in a sentence.
    page : the page where it comes from. stages : keys of those whose results it reads.
    doubt : of a group of runs why its number cannot be the best, "" where it can; None where every
        number can.
    """

    key: str
    label: str
    value: Callable[[Board, str], float]
    unit: str = ""
    better: str = ""
    favours: str = ""
    about: str = ""
    page: str = "overview"
    doubt: Callable[[Board, Sequence[str]], str] | None = None
    requires: str = "any run"
    stages: tuple[str, ...] = ()

    def of(self, comparison: Comparison) -> "Criterion":
        """The text with the name of these runs' measure of fit, where all have the same."""
        if comparison.loss is None:
            return self
        label = self.label.replace(MEASURE, comparison.measure)
        about = self.about.replace(ABOUT, comparison.measure_axis)
        return replace(self, label=label, about=about)


SETTLED = "settled chains"
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
            about="Of those that any run found. A draw belongs to the mode that a solver reaches "
            "from it.",
            doubt=Board.poor,
        ),
        Criterion(
            MASS,
            "posterior mass reached",
            lambda board, run_id: board.reached(run_id)[0],
            better="more",
            about="Of the modes that were weighed, what those hold together that a run found. "
            "Where errors leave it open, or twice the steps changed it, none is the best. "
            "Optimizers have no posterior mass: what they found has it.",
            doubt=Board.rough,
            requires=SETTLED,
            stages=("chains", "evidence"),
        ),
        Criterion(
            "covering",
            "covering number",
            Board.covering,
            better="more",
            favours="draws",
            about="Balls of the radius that cover a run's factorizations. A run where every "
            "factorization is a ball of its own says nothing.",
            page="coverage",
            doubt=Board.uncovered,
            requires="settled chains, or optima",
        ),
        Criterion(
            "largest",
            "largest distance",
            lambda board, run_id: board.spread(run_id, "largest"),
            unit="distance",
            better="more",
            page="coverage",
            about="Between two factorizations of a run.",
            doubt=Board.poor,
            requires="settled chains, or optima",
        ),
        Criterion(
            "mean",
            "mean pairwise distance",
            lambda board, run_id: board.spread(run_id, "mean"),
            unit="distance",
            better="more",
            page="coverage",
            about="Over all pairs of a run, a factorization with itself included, as published.",
            doubt=Board.poor,
            requires="settled chains, or optima",
        ),
        Criterion(
            "best_error",
            f"best {MEASURE}",
            lambda board, run_id: float(board.errors(run_id).min()),
            better="less",
            favours="optimizers",
            page="quality",
            about=f"{ABOUT} of the best one. A draw lies farther out than an optimum.",
            doubt=Board.unlike,
        ),
        Criterion(
            "median_error",
            f"median {MEASURE}",
            lambda board, run_id: float(np.median(board.errors(run_id))),
            better="less",
            favours="optimizers",
            page="quality",
            about=f"{ABOUT} of the middle one.",
            doubt=Board.unlike,
        ),
        Criterion(
            "hidden",
            "error on held-out entries",
            lambda board, run_id: board.unseen(run_id, "hidden"),
            better="less",
            page="quality",
            about="Of the median factorization, on entries that were masked on purpose.",
            stages=("quality",),
        ),
        Criterion(
            "held_out",
            "error on held-out observations",
            lambda board, run_id: board.unseen(run_id, "held_out"),
            better="less",
            page="quality",
            about="Of the median factorization, on observations that no run saw.",
            stages=("quality",),
        ),
        Criterion(
            "auc",
            "range of the AUC",
            Board.auc_range,
            page="downstream",
            about="By how much the AUC of a class differs among a run's factorizations, at most "
            "over classes.",
            stages=("downstream", "conclusions"),
        ),
        Criterion(
            "evidence",
            "log evidence",
            lambda board, run_id: board.recorded(run_id, "log_evidence"),
            unit="nats",
            favours="draws",
            page="quality",
            about="As tempering tells it. It belongs to model and rank: algorithms should agree.",
        ),
        Criterion(
            "interior",
            "Stein discrepancy, log coordinates",
            lambda board, run_id: board.discrepancy(run_id, "interior"),
            favours="optimizers",
            page="quality",
            about="How far the factorizations, all weighted alike, are from the posterior. Optima "
            "come out low because their gradients are small, wherever they are, and M draws come "
            "out at about 1/√M: no row tells which is better.",
            stages=("stein",),
        ),
        Criterion(
            "paper",
            "Stein discrepancy, A and W as they are",
            lambda board, run_id: board.discrepancy(run_id, "paper"),
            favours="optimizers",
            page="quality",
            about="As published. Where entries are 0 the posterior itself does not make it 0.",
            stages=("stein",),
        ),
        Criterion(
            "effective",
            "ESS per CPU second",
            Board.effective,
            better="more",
            favours="draws",
            page="traces",
            about="Of the worst quantity, all chains together. Chains in different modes cannot be "
            "the best here: they count draws of the mode in which they stay.",
            doubt=Board.unmet,
            requires=SETTLED,
            stages=("chains",),
        ),
        Criterion(
            "seconds",
            "wall seconds",
            lambda board, run_id: board.recorded(run_id, "run_seconds"),
            unit="s",
            page="runs",
            about="From the beginning of a run to its end, beside whatever else ran: not compared.",
        ),
        Criterion(
            "busy",
            "CPU seconds",
            lambda board, run_id: board.busy(run_id),
            unit="s",
            better="less",
            page="runs",
            about="What processors worked on a run, all together, whatever else ran beside it. "
            "Compiling on the first run of a machine does not count.",
            doubt=Board.poor,
        ),
    ),
    "bnmf.criteria",
)
