"""How well the chains of samplers have mixed."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bnmf_core.analysis import chains
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.mixing import (
    LEAST_RENEWED,
    WARNING,
    energy_renewed,
    mixing,
    mixing_of,
    quantities_of,
)
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.core.particles import Particles
from bnmf_core.store import files

# The largest of nine effective sample sizes estimated from 400 independent draws is below 1.5 times
# their number in 99 % of simulations; from fewer draws it varies too much to say anything.
ANTITHETIC, ENOUGH = 1.5, 400


class MixingReport(NamedTuple):
    """How well the chains of one run have mixed.

    table : one row per quantity, with columns quantity, label, unit, iat, ess_bulk, ess_tail,
        mcse, r_hat and reason (why numbers are missing). sentence : what must be shown with R̂.
    chains, draws : how many, and how long. groups : of each chain, the group that it shares.
    proposals : how proposals fared, in words; "" for samplers that accept every one.
    trajectories : a row a chain of a sampler that records energies: chain, divergent (how many
        trajectories), step_size (the mean) and renewed (E-BFMI). Empty where none are known.
    """

    table: pd.DataFrame
    sentence: str
    chains: int
    draws: int
    groups: list[int]
    proposals: str
    trajectories: Sequence[Mapping[str, float]] = ()

    @property
    def creeping(self) -> bool:
        """Whether the energy of some chain is renewed too little."""
        return any(row["renewed"] < LEAST_RENEWED for row in self.trajectories)

    @property
    def antithetic(self) -> bool:
        """Whether some mean is known better than from as many independent draws."""
        made = self.chains * self.draws
        return made >= ENOUGH and bool((self.table["ess_bulk"] > ANTITHETIC * made).any())


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store a report for every run of a sampler."""
    verdicts = chains.STAGE.of(comparison).by_run
    result: dict[str, dict[str, object]] = {}
    runs = zip(comparison.run_ids, comparison.particles, strict=True)
    for i, (run_id, particles) in enumerate(runs):
        raise_if_cancelled(stopped, "mixing")
        if particles.trace:
            verdict = verdicts.get(run_id)
            if verdict is not None and verdict.chains > 1:  # as on every other page
                found = mixing(quantities_of(particles))
                groups, sentence = list(verdict.groups), f"{WARNING} {verdict.sentence}"
            else:
                found = mixing_of(particles)
                groups = [] if found.modes is None else found.modes.labels.tolist()
                sentence = found.report[1]
            result[run_id] = {
                "table": found.report[0].reset_index().to_dict("list"),
                "sentence": sentence,
                "chains": found.chains,
                "draws": found.draws,
                "groups": groups,
                "proposals": _proposals(particles),
                "trajectories": _trajectories(particles),
            }
        report((i + 1) / len(comparison.runs))
    files.write_json(folder / "mixing.json", result)


def read(comparison: Comparison, folder: Path) -> dict[str, MixingReport]:
    """Run id → its stored report."""
    stored = files.read_json(folder / "mixing.json")
    return {
        run_id: MixingReport(**entry | {"table": pd.DataFrame(entry["table"])})
        for run_id, entry in stored.items()
    }


def _proposals(particles: Particles) -> str:
    known = particles.diagnostics
    if "acceptance" not in known:
        return ""
    words = f"acceptance {np.mean(known['acceptance']):.0%}"
    if "divergent" in known:
        count = int(np.sum(known["divergent"]))
        words += ", no divergent trajectory" if not count else f", {count} divergent trajectories"
    if "step_size" in known:
        low, high = np.min(known["step_size"]), np.max(known["step_size"])
        words += f", step sizes {low:.2g} to {high:.2g}"
    return words


def _trajectories(particles: Particles) -> list[dict[str, float]]:
    """See :class:`MixingReport`. Runs that are older than recorded energies say nothing."""
    known = particles.diagnostics
    if "energy" not in known:
        return []
    # Between thinned draws the energy changes more than between successive trajectories: the share
    # that fresh momenta renew is unknown.
    thinned = particles.spec.settings.get("thinning", 1) != 1
    rows = []
    for chain in np.unique(particles.chain):
        own = np.flatnonzero(particles.chain == chain)
        own = own[np.argsort(particles.draw[own], kind="stable")]
        energies = known["energy"][own][None]
        rows.append(
            {
                "chain": int(chain) + 1,
                "divergent": int(np.sum(known["divergent"][own])),
                "step_size": float(np.mean(known["step_size"][own])),
                "renewed": float("nan") if thinned else float(energy_renewed(energies)[0]),
            }
        )
    return rows


STAGE = Stage(
    key="mixing",
    label="Measuring how well chains have mixed",
    needs=(chains.STAGE,),
    version=3,
    compute=compute,
    read=read,
    names_runs=True,
)
