"""Whether the chains of each run have settled, so that their draws may stand for the posterior."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from bnmf_core import registry
from bnmf_core.analysis import basins, distances, structure
from bnmf_core.analysis.basins import METRIC, Basins
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.chain_modes import chain_modes_of
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.compare.settled import Settled, settled
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.names import no_more
from bnmf_core.lazy import lazy
from bnmf_core.store import files

csgraph = lazy("scipy.sparse.csgraph")


@dataclass(frozen=True)
class Verdict:
    """Whether the chains of one run have settled.

    Attributes
    ----------
    run, label : its id, and the algorithm's name. chains, draws : how many, and of each.
    settled : whether all chains have settled within their modes.
    r_hat, ess_bulk, ess_tail : the worst of any quantity in any mode; NaN where chains are too
        short.
    groups : of each chain, the group that it shares with others, 0-based: optima that draws of
        different groups belong to are more than 15° apart.
    reason : why they have not settled; "" where they have. worst : the quantity that mixes worst.
    """

    run: str
    label: str
    chains: int
    draws: int
    settled: bool
    r_hat: float
    ess_bulk: float
    ess_tail: float
    groups: tuple[int, ...]
    reason: str
    worst: str = ""

    @property
    def modes(self) -> int:
        """Number of groups of modes that the chains sit in."""
        return max(self.groups) + 1

    @property
    def sentence(self) -> str:
        """The verdict in a sentence."""
        one = self.chains == 1
        who = (
            f"The {self.label} chain has" if one else f"The {self.chains} {self.label} chains have"
        )
        if not self.settled:
            return f"{who} not settled. {self.reason}"
        r_hat, ess = no_more(self.r_hat, min(self.ess_bulk, self.ess_tail))
        numbers = f"R̂ ≤ {r_hat:.2f}, ESS ≥ {ess:.0f}"
        if self.modes == 1:
            return f"{who} settled{'' if one else ' and agree'} ({numbers})."
        shared = "; ".join(
            ", ".join(str(c + 1) for c, group in enumerate(self.groups) if group == one)
            for one in range(self.modes)
        )
        return (
            f"The {self.chains} {self.label} chains sit in {self.modes} different modes (chains "
            f"{shared}) and have settled within them ({numbers})."
        )


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on the runs of exact samplers, by run id."""

    by_run: dict[str, Verdict]
    folder: Path = Path()

    def series(self, run: str) -> pd.DataFrame:
        """The judged series: a row per draw, ``chain``, ``sweep`` and a column for each quantity.

        ``sweep`` counts the states of the chain from the first kept one.
        """
        return pd.DataFrame(files.read_arrays(_series(self.folder, run)))

    def table(self, run: str) -> pd.DataFrame:
        """Diagnostics of every quantity of a run, see :class:`Settled`."""
        return pd.DataFrame(files.read_json(_table(self.folder, run)))

    @property
    def settled(self) -> bool | None:
        """Whether the chains of all runs have settled; None where there are no chains."""
        if not self.by_run:
            return None
        return all(verdict.settled for verdict in self.by_run.values())

    @property
    def unsettled(self) -> list[Verdict]:
        """Verdicts on runs whose chains have not settled."""
        return [verdict for verdict in self.by_run.values() if not verdict.settled]


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the verdict and its table of quantities for every run of an exact sampler."""
    ends = basins.STAGE.of(comparison)
    verdicts: list[dict[str, Any]] = []
    for i, (run_id, particles) in enumerate(
        zip(comparison.run_ids, comparison.particles, strict=True)
    ):
        raise_if_cancelled(stopped, "the verdict on chains")
        algorithm = registry.ALGORITHMS.get(particles.spec.algorithm)
        if algorithm is not None and algorithm.exact and particles.trace:
            found = _judged(comparison, ends, i)
            chains = np.unique(particles.chain)
            verdict = Verdict(
                run=run_id,
                label=algorithm.label,
                chains=chains.size,
                draws=particles.M // chains.size,
                settled=found.settled,
                r_hat=found.r_hat,
                ess_bulk=found.ess_bulk,
                ess_tail=found.ess_tail,
                groups=tuple(found.groups.tolist()),
                reason=found.reason,
                worst=str(found.worst["quantity"]),
            )
            states = np.count_nonzero(~np.asarray(particles.trace["warm_up"], dtype=bool))
            apart = max(1, int(states) // particles.M)
            series = {str(key): values.to_numpy() for key, values in found.series.items()}
            series["sweep"] = (series.pop("draw") + 1) * apart - 1
            files.write_arrays(_series(folder, run_id), series)
            files.write_json(_table(folder, run_id), found.table.to_dict("list"))
            verdicts.append(asdict(verdict))
        report((i + 1) / len(comparison.runs))
    files.write_json(folder / "chains.json", verdicts)


def _judged(comparison: Comparison, ends: Basins, i: int) -> Settled:
    """The verdict on the chains of the i-th run."""
    particles = comparison.particles[i]
    rows = comparison.rows_by_run()[i]
    ends_of = ends.ends[rows]
    chain = comparison.members["chain"].to_numpy()[rows]
    numbers = np.unique(particles.chain)
    references: dict[int, tuple[np.ndarray, np.ndarray]] = {}
    if (ends_of < 0).any() or not np.isin(
        numbers, chain
    ).all():  # of these draws no optimum is known: chains by their distances
        groups = chain_modes_of(particles, METRIC).labels
    else:
        # (C,) the modes that chains share: those with draws of one optimum are together.
        apart = distances.STAGE.of(comparison).matrix(METRIC)
        of_chain = [np.unique(ends_of[chain == number]) for number in numbers]
        near = [[apart[np.ix_(a, b)].min() <= SAME_MODE for b in of_chain] for a in of_chain]
        groups = np.asarray(csgraph.connected_components(sparse.csr_array(near), directed=False)[1])
        modes = structure.modes_at(comparison, METRIC, SAME_MODE)
        numbered = comparison.aligned([int(modes.representative[0])])[0]
        for group in np.unique(groups):
            held = ends_of[np.isin(chain, numbers[groups == group])]
            A, W = comparison.factors([int(np.bincount(held).argmax())])
            order = matching(A, numbered)[0]
            references[int(group)] = A[0][:, order], W[0][order]
    return settled(
        np.asarray(particles.A),
        np.asarray(particles.W),
        np.asarray(particles.log_joint),
        np.asarray(particles.chain),
        groups,
        references,
    )


def _series(folder: Path, run: str) -> Path:
    return folder / f"{run}.npz"


def _table(folder: Path, run: str) -> Path:
    return folder / f"quantities-{run}.json"


def read(comparison: Comparison, folder: Path) -> Verdicts:
    """The stored verdicts."""
    stored = files.read_json(folder / "chains.json")
    return Verdicts(
        {one["run"]: Verdict(**one | {"groups": tuple(one["groups"])}) for one in stored}, folder
    )


STAGE = Stage(
    key="chains",
    label="Checking whether chains have settled",
    needs=(distances.STAGE, basins.STAGE, structure.STAGE),
    version=5,
    compute=compute,
    read=read,
    names_runs=True,
)


def unsettled_runs(comparison: Comparison) -> list[str]:
    """Runs whose chains are known not to have settled; none while that is computed."""
    verdicts = STAGE.perhaps(comparison)
    return [] if verdicts is None else [one.run for one in verdicts.unsettled]
