"""The part of an analysis that says how well the chains of samplers have mixed."""

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from bnmf_core.nouns.errors import raise_if_cancelled
from bnmf_core.store import files


class MixingReport(NamedTuple):
    """How well the chains of one run have mixed.

    table : one row per quantity, with columns quantity, label, unit, iat, ess_bulk, ess_tail,
        r_hat and reason (why numbers are missing). sentence : what must be shown with R̂.
    chains, draws : how many, and how long. modes : the mode that each chain sits in.
    proposals : how proposals fared, in words; "" for samplers that accept every one.
    """

    table: pd.DataFrame
    sentence: str
    chains: int
    draws: int
    modes: list[int]
    proposals: str


def compute(analysis: Any, report: Any, stopped: Any) -> None:
    """Store a report for every run of a sampler."""
    from bnmf_core.compare.mixing import mixing_of  # noqa: PLC0415  (its library is slow to import)

    result = {}
    for i, (record, particles) in enumerate(zip(analysis.runs, analysis.particles, strict=True)):
        raise_if_cancelled(stopped, "mixing")
        if particles.trace:
            found = mixing_of(particles)
            table, sentence = found.report
            result[record.id] = {
                "table": table.reset_index().to_dict("list"),
                "sentence": sentence,
                "chains": found.chains,
                "draws": found.draws,
                "modes": found.modes.labels.tolist(),
                "proposals": _proposals(particles),
            }
        report((i + 1) / len(analysis.runs))
    files.write_json(analysis.folder / "mixing.json", result)


def read(analysis: Any) -> dict[str, MixingReport]:
    """Run id → its stored report."""
    stored = files.read_json(analysis.folder / "mixing.json")
    return {
        run_id: MixingReport(**entry | {"table": pd.DataFrame(entry["table"])})
        for run_id, entry in stored.items()
    }


def _proposals(particles: Any) -> str:
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
