"""The input of a scoreboard: numbers of each run of a comparison, under one distance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bnmf_core.analysis import chains, distances, downstream, evidence, quality, stein, structure
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stein import FORMS
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.compare.modes import Modes
from bnmf_core.evidence.weighing import shares
from bnmf_core.posterior.stein import ksd

SEED = 20
# A mass with a wider interval than this is open.
OPEN = 0.5
# Optima fit poorly if their median error exceeds the smallest of their loss by this factor.
POOR = 1.5


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
        "Runs that differ only in the seed: their mean and range."
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
        table, labels = found.tables[1.0], self.modes.labels
        # Modes that the posterior does not separate are reached together.
        joined = found.of_modes(labels)["joined"].to_numpy()
        reached = np.isin(joined, joined[self.found(run_id)])
        masses = shares(
            np.where(table["keeps"], table["log_evidence"], -np.inf),
            table["error"].to_numpy(),
            np.random.default_rng(SEED),
            reached[labels[list(found.rows)]].astype(int),
        )
        mass, low, high = (float(part[1]) if part.size > 1 else 0.0 for part in masses)
        return mass, low, high

    def rough(self, run_ids: Sequence[str]) -> str:
        """Why the mass that these runs reached cannot be the best; "" where it can."""
        if why := self.unmet(run_ids, apart=True):
            return why
        found = evidence.STAGE.perhaps(self.comparison)
        if found is not None and not found.settled:
            return "rough"
        reached = np.array([self.reached(run_id) for run_id in run_ids])
        return "open" if (reached[:, 2] - reached[:, 1] > OPEN).any() else ""

    def poor(self, run_ids: Sequence[str]) -> str:
        """Why what these runs span or cost cannot be the best; "" where it can.

        Chains that have not settled, or states that are no draws, span what they pass through.
        Factorizations that fit poorly can be anywhere; draws fit as their posterior allows.
        """
        if set(map(self.comparison.algorithm_of.get, run_ids)) & set(self.comparison.samplers):
            return self.unmet(run_ids, apart=True)
        losses = zip(self.comparison.run_ids, self.comparison.losses, strict=True)
        of_loss = {run_id: loss.key for run_id, loss in losses}
        fits = {one: float(np.median(self.errors(one))) for one in self.comparison.run_ids}
        smallest = {
            key: min(fits[one] for one in fits if of_loss[one] == key) for key in of_loss.values()
        }
        poor = any(fits[run_id] > POOR * smallest[of_loss[run_id]] for run_id in run_ids)
        return "fits poorly" * poor

    def uncovered(self, run_ids: Sequence[str]) -> str:
        """Why these covering numbers cannot be the best; "" where they can."""
        alone = [self.covering(run_id) == self.rows[run_id].size for run_id in run_ids]
        return self.poor(run_ids) or ("each a ball of its own" if all(alone) else "")

    def spread(self, run_id: str, name: str) -> float:
        """The ``largest`` or the ``mean`` distance within a run."""
        return self._spreads[name][run_id]

    def covering(self, run_id: str) -> float:
        """Covering number of a run at the radius."""
        return float(self.balls(self.rows[run_id]))

    def balls(self, rows: np.ndarray) -> int:
        """Covering number of these members at the radius."""
        within = self._apart[np.ix_(rows, rows)]
        return int(covering_numbers(within, np.array([self.radius]))[0])

    def errors(self, run_id: str) -> np.ndarray:
        """Measures of fit of all of a run's factorizations."""
        return np.asarray(self.comparison.particles[self.comparison.run_ids.index(run_id)].error)

    def unlike(self, run_ids: Sequence[str]) -> str:
        """Why these measures of fit cannot be the best; "" where all runs have the same."""
        return "" if self.comparison.loss else "not the same measure for all"

    def unseen(self, run_id: str, name: str) -> float:
        """Median error of a run on ``hidden`` entries or ``held_out`` observations."""
        found = quality.STAGE.perhaps(self.comparison)
        values = [] if found is None else getattr(found, name)
        return float(np.median(np.asarray(values)[self.rows[run_id]])) if values else math.nan

    def auc_range(self, run_id: str) -> float:
        """Largest range of the AUC of a class among a run's members."""
        found = downstream.STAGE.perhaps(self.comparison)
        if found is None or found.table.empty:
            return math.nan
        table = found.table[found.table["member"].isin(self.rows[run_id])]
        auc = table.groupby(["label", "task"])["auc"]
        return float((auc.max() - auc.min()).max())

    def recorded(self, run_id: str, name: str) -> float:
        """A number that the run recorded; NaN without one."""
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

    def busy(self, run_id: str) -> float:
        """Seconds that processors worked on a run; NaN where that was not measured."""
        record = self.comparison.runs[self.comparison.run_ids.index(run_id)]
        return record.busy or math.nan

    def effective(self, run_id: str) -> float:
        """ESS of the worst quantity per CPU second, all chains together."""
        verdicts, busy = chains.STAGE.perhaps(self.comparison), self.busy(run_id)
        verdict = None if verdicts is None else verdicts.by_run.get(run_id)
        if verdict is None or not busy > 0:
            return math.nan
        return min(verdict.ess_bulk, verdict.ess_tail) / busy

    def unmet(self, run_ids: Sequence[str], apart: bool = False) -> str:
        """Why these runs' chains do not stand for the posterior; "" where they do.

        Chains that stay in modes of their own have a large ESS within these; ``apart`` :
        whether that does not matter.
        """
        if not set(map(self.comparison.algorithm_of.get, run_ids)) & set(
            self.comparison.exact_samplers
        ):
            return "no draws"
        verdicts = chains.STAGE.perhaps(self.comparison)
        if verdicts is None:
            return "being checked"
        found = [verdicts.by_run[run_id] for run_id in run_ids if run_id in verdicts.by_run]
        if not all(verdict.settled for verdict in found):
            return "chains have not settled"
        in_several = any(one.modes > 1 for one in found)
        return "chains in different modes" if in_several and not apart else ""

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
