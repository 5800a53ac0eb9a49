"""Mixing of chains: autocorrelation, effective sample size, R̂, and modes that R̂ cannot see.

Effective sample sizes and R̂ are those of Vehtari and others (2021, "Rank-normalization, folding,
and localization"), from the library arviz-stats. The integrated autocorrelation time (IAT) is
draws / ESS, unsplit and without ranks: 1 + 2 Σ ρ_t, cut by Geyer's initial monotone sequence.
(emcee's ``integrated_time`` wants chains of 50 IATs; those of paper 1 are 7 to 14 long.)
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.chain_modes import ChainModes, chain_modes_of
from bnmf_core.compare.distances.invariants import QUANTITIES, invariants
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.particles import Particles
from bnmf_core.lazy import lazy
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import model_of

arviz = lazy("arviz_stats.base")

SHORTEST = 8  # R̂ splits each chain into halves of at least four draws
# A chain whose momenta renew less of its energy than this creeps through the tails.
LEAST_RENEWED = 0.3
TAIL = 0.05  # the tail is what lies beyond the 5 % and the 95 % quantiles
WARNING = (
    "R̂ near 1 does not show that the chains have found every mode: chains in different modes can "
    "agree on every number here."
)


@dataclass(frozen=True, eq=False)
class Mixing:
    """Mixing diagnostics of C chains of K draws.

    Attributes
    ----------
    report : a table and the sentence that must be shown with it. They come as one, because R̂
        alone misleads: it cannot see a mode that no chain has visited. The table has one row
        per quantity and the columns ``label``, ``unit``, ``iat`` (draws; mean over the chains),
        ``ess_bulk`` and ``ess_tail`` (draws), ``mcse`` (Monte Carlo standard error of the mean),
        ``r_hat``, and ``reason``, which says why numbers are missing, "" where none are.
    modes : which chains sit in the same mode; None where that was not examined.
    chains, draws : C and K.
    """

    report: tuple[pd.DataFrame, str]
    modes: ChainModes | None
    chains: int
    draws: int


def mixing(quantities: Mapping[str, np.ndarray], modes: ChainModes | None = None) -> Mixing:
    """Diagnostics of each quantity.

    Parameters
    ----------
    quantities : name → (C, K) array, the draws of every chain in their order.
    modes : what :func:`chain_modes` found for these chains.

    Raises
    ------
    DataError
        When an array is not C×K, or they differ in shape.
    """
    arrays = {key: np.asarray(values, dtype=np.float64) for key, values in quantities.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or len(next(iter(shapes))) != 2:
        raise DataError(
            "Mixing is measured on quantities with one row per chain and one column per draw, all "
            f"of the same size; got {sorted(shapes)}."
        )
    chains, draws = next(iter(shapes))
    rows = {key: _row(key, values) for key, values in arrays.items()}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("quantity")
    where = "Whether they do was not looked at here." if modes is None else modes.sentence
    return Mixing((table, f"{WARNING} {where}"), modes, chains, draws)


def mixing_of(
    particles: Particles, dataset: Dataset | None = None, metric: str = "max_angle"
) -> Mixing:
    """Diagnostics of a run's chains, with the modes that they sit in.

    Parameters
    ----------
    particles, dataset : see :func:`quantities_of`. metric : distance that tells modes apart.
    """
    return mixing(quantities_of(particles, dataset), chain_modes_of(particles, metric))


def quantities_of(particles: Particles, dataset: Dataset | None = None) -> dict[str, np.ndarray]:
    """Scalar quantities along a run's chains: name → (C, K).

    Parameters
    ----------
    particles : a run's Particles. Where it holds a ``trace`` of every sweep, that is taken, the
        warm-up left out; else the kept draws.
    dataset : what the run saw, needed for the log-likelihood of kept draws only.

    Returns
    -------
    log_joint, log_likelihood (where known), error and the invariants. Chains of different
    length are cut to the shortest.
    """
    trace = getattr(particles, "trace", None)
    if trace:
        rows = ~np.asarray(trace["warm_up"], dtype=bool)
        values = {key: np.asarray(trace[key])[rows] for key in QUANTITIES if key in trace}
        return by_chain(values, np.asarray(trace["chain"])[rows], np.asarray(trace["sweep"])[rows])
    values = {"log_joint": particles.log_joint}
    if dataset is not None and particles.spec.model in MODELS:
        model, settings = model_of(particles)
        if model.per_loss is not None:
            f = model.loss(settings).unmeasured(dataset, np.asarray(particles.error))
            values["log_likelihood"] = -model.per_loss(settings) * f
    values["error"] = particles.error
    values |= invariants(particles.A, particles.W)
    return by_chain(values, particles.chain, particles.draw)


def autocorrelation_time(draws: np.ndarray) -> float:
    """Integrated autocorrelation time of one chain (K,), in draws: K / ESS.

    NaN where the chain is shorter than eight draws, constant or not finite.
    """
    draws = np.asarray(draws, dtype=np.float64)
    if why_unknown(draws[None]):
        return float("nan")
    return draws.size / effective_size(draws[None], "identity")


def _row(key: str, values: np.ndarray) -> dict[str, str | float]:
    known = QUANTITIES.get(key)
    label, unit = (known.label, known.unit) if known else (key, "")
    row: dict[str, str | float] = {
        "label": label,
        "unit": unit,
        "iat": np.nan,
        "ess_bulk": np.nan,
        "ess_tail": np.nan,
        "mcse": np.nan,
    }
    row |= {"r_hat": np.nan, "reason": why_unknown(values)}
    if row["reason"]:
        return row
    row["iat"] = float(np.mean([autocorrelation_time(chain) for chain in values]))
    row["ess_bulk"] = effective_size(values, "bulk")
    row["ess_tail"] = effective_size(values, "tail")
    row["mcse"] = float(values.std(ddof=1) / np.sqrt(effective_size(values, "mean")))
    if len(values) < 2:
        row["reason"] = "R̂ compares chains, and there is only one."
    else:
        row["r_hat"] = split_r_hat(values)
    return row


def why_unknown(values: np.ndarray) -> str:
    """Why (C, K) draws have no diagnostics, in a sentence; "" where they have."""
    if values.size == 0 or values.shape[1] < SHORTEST:
        return f"A chain has {values.shape[1]} draws; at least {SHORTEST} are needed."
    if not np.isfinite(values).all():
        return "Some values are not finite."
    spread, size = np.ptp(values, axis=1), np.abs(values).max(axis=1)
    still = np.flatnonzero(spread <= 1e-14 * size)
    if still.size:
        return f"The value does not change in chain {still[0]}."
    return ""


def effective_size(values: np.ndarray, method: str) -> float:
    """Effective sample size of (C, K) draws; ``method``: "bulk", "tail" (5 %),
    "mean" or "identity"."""
    # The library takes differences below 1e-15 for none: bring every quantity to one scale.
    centred = values - values.mean()
    tail = TAIL if method == "tail" else None
    return float(arviz.array_stats.ess(centred / np.abs(centred).max(), method=method, prob=tail))


def split_r_hat(values: np.ndarray) -> float:
    """Rank-normalised split R̂ of (C, K) draws; of one chain, that of its halves."""
    if len(values) == 1:
        half = values.shape[1] // 2
        values = np.stack([values[0, :half], values[0, -half:]])
    return float(arviz.array_stats.rhat(values, method="rank"))


def energy_renewed(energies: np.ndarray) -> np.ndarray:
    """The energy Bayesian fraction of missing information (E-BFMI) of each chain: (C,).

    The mean squared change of the energy from one trajectory to the next, over its variance
    (Betancourt 2016, "Diagnosing suboptimal cotangent disintegrations in Hamiltonian Monte Carlo").
    About 1 or more where fresh momenta reach all energies; NaN where a chain is too short or still.

    Parameters
    ----------
    energies : (C, K), Hamiltonians at the start of each trajectory.
    """
    found = np.full(len(energies), np.nan)
    known = [c for c, chain in enumerate(energies) if not why_unknown(chain[None])]
    if known:
        # Of energies near 1e9 only what they differ by has digits.
        centred = energies[known] - energies[known].mean(axis=1, keepdims=True)
        found[known] = arviz.array_stats.bfmi(centred)
    return found


def by_chain(
    values: Mapping[str, np.ndarray], chain: np.ndarray, position: np.ndarray
) -> dict[str, np.ndarray]:
    """Each (M,) array as (C, K), every chain in its own order and cut to the shortest."""
    members = [np.flatnonzero(chain == c) for c in np.unique(chain)]
    if not members:
        return {key: np.empty((0, 0)) for key in values}
    shortest = min(len(indices) for indices in members)
    order = [
        indices[np.argsort(position[indices], kind="stable")][:shortest] for indices in members
    ]
    return {key: np.stack([np.asarray(array)[i] for i in order]) for key, array in values.items()}
