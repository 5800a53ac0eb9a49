"""Tiles of a binary matrix: what chains and restarts say of each of them, and of every cell.

For each run one factorization to look at: of a sampler the mean over its most probable
chain, as chains may hold other tiles than each other; of an explorer its best factorization.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.boolean.distances import HALF, jaccard_costs, tiles
from bnmf_core.boolean.thresholds import (
    SAME_TILE,
    doubt_of_cells,
    doubt_of_entries,
    doubt_of_tiles,
    matched_jaccard,
    probability_on,
    threshold_curve,
    two_thresholds,
)
from bnmf_core.boolean.tiles import log10_noise_chance
from bnmf_core.compare.alignment import largest_first
from bnmf_core.compare.distances.assignment import assign
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.numerics.matrix import boolean_product, only_yes_and_no, stored
from bnmf_core.posterior.places import problem_of
from bnmf_core.store import files

# The largest number of cells that are reported individually.
MOST_CELLS = 2**22
# Of the entries above 0 at most so many are other values where a matrix is nearly binary.
FEW = 0.02
# Entries of a factor may be so far above 1 by rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class RunTiles:
    """The tiles of one run.

    A (D, R), W (R, N) : the factorization shown. sd_A, sd_W : standard deviations over
        that chain, or over all that an explorer made; slope_A, slope_W : mean
        gradients of the log joint there, NaN where the model has none; gradient_A, gradient_W :
        mean gradients over all steps of that chain, NaN where its algorithm does not tell them.
    mean, uncertainty, ambiguity : (D, N) of every cell, see :class:`Doubt`. on : (D, N) the share
        of members whose tiles, entries above ½, cover the cell.
    tiles : a row per tile: ``tile`` (0-based), ``rows``, ``columns``, ``cells``, ``filled`` (share
        of its seen cells that are 1), ``uncertainty``, ``ambiguity``, ``present`` (share of the
        run's members that have it), ``own`` (how many of its cells no surer tile holds), ``noise``
        (log₁₀ of a bound of the chance that noise makes one like it, by its own cells) and a column
        per run, by its id, with the share of that run's members that have it.
    curves : name → thresholds and errors, against the table ("seen"), held-out entries ("hidden")
        and the table without noise ("truth"), as far as they are known.
    pairs : name → (G, G) errors.
    """

    A: np.ndarray
    W: np.ndarray
    sd_A: np.ndarray
    sd_W: np.ndarray
    slope_A: np.ndarray
    slope_W: np.ndarray
    gradient_A: np.ndarray
    gradient_W: np.ndarray
    mean: np.ndarray
    uncertainty: np.ndarray
    ambiguity: np.ndarray
    on: np.ndarray
    tiles: pd.DataFrame
    curves: dict[str, tuple[np.ndarray, np.ndarray]]
    pairs: dict[str, np.ndarray]


@dataclass(frozen=True)
class Tiles:
    """Stored tiles. problem : why there are none; "" where there are."""

    folder: Path
    problem: str
    run_ids: tuple[str, ...] = ()

    def of_run(self, run_id: str) -> RunTiles:
        """The tiles of one of ``run_ids``."""
        arrays = files.read_arrays(self.folder / f"{run_id}.npz")
        table = pd.DataFrame(files.read_json(self.folder / f"{run_id}.json"))
        curves = {
            name.removeprefix("errors_"): (arrays[name.replace("errors", "at")], arrays[name])
            for name in arrays
            if name.startswith("errors_")
        }
        pairs = {k.removeprefix("pairs_"): v for k, v in arrays.items() if k.startswith("pairs_")}
        names = RunTiles.__annotations__.keys() - {"tiles", "curves", "pairs"}
        return RunTiles(
            **{name: arrays[name] for name in names}, tiles=table, curves=curves, pairs=pairs
        )


def targets(dataset: Dataset) -> dict[str, np.ndarray]:
    """Reference tables, (D, N) each of 0, 1 and NaN where unknown."""
    X = dataset.dense().astype(np.float64)
    if dataset.mask is not None:
        X[~dataset.mask] = np.nan
    found = {"seen": X}
    values, known = dataset.hidden_entries()
    if known.any():
        found["hidden"] = np.where(known, values, np.nan)
    for truth in dataset.truth[:1]:
        if only_yes_and_no(truth.A) and only_yes_and_no(truth.W):
            found["truth"] = boolean_product(truth.A, truth.W).astype(np.float64)
    return found


def refusal(dataset: Dataset) -> str:
    """Why tiles of these data are not analysed, in a sentence; "" where they are."""
    if not only_yes_and_no(stored(dataset.X)):
        return f"{dataset.name!r} is not a binary matrix: tiles need entries of 0 and 1."
    if dataset.D * dataset.N > MOST_CELLS:
        return (
            f"{dataset.name!r} has {dataset.D * dataset.N:,} cells; at most {MOST_CELLS:,} are "
            "told one by one."
        )
    return ""


def nearly(dataset: Dataset) -> str:
    """The few values that keep a matrix from being binary; "" where there are many, or none."""
    values = stored(dataset.X)
    others = values[(values != 0.0) & (values != 1.0)]
    if not 0 < others.size <= FEW * int(np.count_nonzero(values)):
        return ""
    cells = "1 cell is" if others.size == 1 else f"{others.size:,} cells are"
    return f"{cells} neither 0 nor 1, {float(others[0]):g} for one"


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store what every run with factors between 0 and 1 says."""
    problem = refusal(comparison.dataset)
    rows_of = {} if problem else _in_the_box(comparison)
    if not problem and not rows_of:
        problem = (
            "None of these runs has factors between 0 and 1. Choose Tiles of a binary matrix on "
            "the page Analyse."
        )
    if problem:
        files.write_json(folder / "tiles.json", {"problem": problem})
        return
    against = targets(comparison.seen_dataset)
    factors = {run_id: comparison.factors(rows) for run_id, rows in rows_of.items()}
    for done, (run_id, rows) in enumerate(rows_of.items()):
        raise_if_cancelled(stopped, "tiles")
        arrays, table = _of_run(comparison, run_id, rows, against)
        for other, (A, W) in factors.items():
            shared = matched_jaccard(arrays["A"], arrays["W"], A, W)
            weights = comparison.members["weight"].to_numpy()[rows_of[other]]
            table[other] = weights @ (shared >= SAME_TILE) / weights.sum()
        files.write_arrays(folder / f"{run_id}.npz", arrays)
        files.write_json(folder / f"{run_id}.json", table.to_dict("list"))
        report((done + 1) / len(rows_of))
    files.write_json(folder / "tiles.json", {"problem": "", "run_ids": list(rows_of)})


def read(comparison: Comparison, folder: Path) -> Tiles:
    """The stored tiles."""
    found = files.read_json(folder / "tiles.json")
    return Tiles(folder, found["problem"], tuple(found.get("run_ids", ())))


def _in_the_box(comparison: Comparison) -> dict[str, np.ndarray]:
    """The rows of the members of each run whose factors are all between 0 and 1."""
    found = zip(comparison.run_ids, comparison.particles, comparison.rows_by_run(), strict=True)
    return {
        run_id: rows
        for run_id, particles, rows in found
        if max(particles.A.max(), particles.W.max()) <= 1.0 + ROUNDING
    }


def _of_run(
    comparison: Comparison, run_id: str, rows: np.ndarray, against: dict[str, np.ndarray]
) -> tuple[dict[str, np.ndarray], pd.DataFrame]:
    members = comparison.members.iloc[rows]
    weights = members["weight"].to_numpy()
    all_A, all_W = comparison.factors(rows)
    sampled = members["algorithm"].iloc[0] in comparison.samplers
    inside = np.arange(len(members))
    if sampled:  # of the chain whose states have the highest log joint on average
        most_probable = members.groupby("chain")["log_joint"].mean().idxmax()
        inside = np.flatnonzero(members["chain"] == most_probable)
    height = members["log_joint"].to_numpy()[inside]
    best, counted = int(np.nanargmax(height)), weights[inside]
    A, W = all_A[inside], all_W[inside]
    slope_A, slope_W = _slopes(comparison, run_id, A, W)
    # Numbered as everywhere: the components of that one, the largest first.
    order = _order(A, W, best)[:, largest_first(A[best], W[best])]
    A, slope_A = (np.take_along_axis(F, order[:, None, :], axis=2) for F in (A, slope_A))
    W, slope_W = (np.take_along_axis(F, order[:, :, None], axis=1) for F in (W, slope_W))
    chain = int(members["chain"].iloc[inside[best]])
    gradient_A, gradient_W = _gradients(comparison, run_id, chain, A[best], W[best])
    of_A, of_W = doubt_of_entries(A, counted), doubt_of_entries(W, counted)
    basis, of_columns = (of_A.mean, of_W.mean) if sampled else (A[best], W[best])
    cells = doubt_of_cells(all_A, all_W, weights)
    parts = {"mean": cells.mean, "uncertainty": cells.uncertainty, "ambiguity": cells.ambiguity}
    arrays = {
        "A": basis,
        "W": of_columns,
        "sd_A": np.sqrt(of_A.uncertainty),
        "sd_W": np.sqrt(of_W.uncertainty),
        "slope_A": np.average(slope_A, axis=0, weights=counted),
        "slope_W": np.average(slope_W, axis=0, weights=counted),
        "gradient_A": gradient_A,
        "gradient_W": gradient_W,
        "on": probability_on(all_A, all_W, HALF, weights),
    } | {name: values.astype(np.float32) for name, values in parts.items()}
    for name, X in against.items():
        arrays[f"at_{name}"], arrays[f"errors_{name}"] = threshold_curve(basis, of_columns, X)
        arrays[f"pairs_{name}"] = two_thresholds(basis, of_columns, X)
    return arrays, _table(basis, of_columns, all_A, all_W, weights, against["seen"])


def _slopes(
    comparison: Comparison, run_id: str, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Gradients of the log joint at A (M, D, R), W (M, R, N); NaN where the model has none."""
    particles = comparison.particles[comparison.run_ids.index(run_id)]
    problem = problem_of(particles, comparison.dataset)
    if problem.model.score is None:
        return np.full(A.shape, np.nan), np.full(W.shape, np.nan)
    return problem.model.score(problem, A, W)


def _gradients(
    comparison: Comparison, run_id: str, chain: int, A: np.ndarray, W: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Means over all steps of a chain, its components in the order of A (D, R) and W (R, N)."""
    particles = comparison.particles[comparison.run_ids.index(run_id)]
    totals = particles.totals
    if "gradient_mean_A" not in totals or len(totals["gradient_mean_A"]) <= chain:
        return np.full(A.shape, np.nan), np.full(W.shape, np.nan)
    mean_A, mean_W = totals["mean_A"][chain], totals["mean_W"][chain]
    order = _order(np.stack([A, mean_A]), np.stack([W, mean_W]), 0)[1]
    return totals["gradient_mean_A"][chain][:, order], totals["gradient_mean_W"][chain][order]


def _order(A: np.ndarray, W: np.ndarray, best: int) -> np.ndarray:
    """(M, R) which component of each member is matched to the best one's, by their cells."""
    reference = tiles(A[best : best + 1], W[best : best + 1])
    return np.array(
        [
            assign(jaccard_costs(reference, tiles(A[m : m + 1], W[m : m + 1]))[:, 0])[0]
            for m in range(A.shape[0])
        ]
    )


def _table(
    reference_A: np.ndarray,
    reference_W: np.ndarray,
    A: np.ndarray,
    W: np.ndarray,
    weights: np.ndarray,
    X: np.ndarray,
) -> pd.DataFrame:
    """A row per tile of the reference; X (D, N) of 0, 1 and NaN where it was not seen."""
    doubt = doubt_of_tiles(reference_A, reference_W, A, W, weights)
    on_A, on_W, known = reference_A > HALF, reference_W > HALF, ~np.isnan(X)
    ones, seen = (
        np.einsum("dr,dn,rn->r", on_A, values, on_W, optimize=True)
        for values in (np.nan_to_num(X), known.astype(float))
    )
    outside = known & ~boolean_product(on_A, on_W)
    # As dense as the rest of the table; where tiles cover all of it, as all of it.
    density = float(X[outside].mean() if outside.any() else np.nanmean(X))
    rows, columns = on_A.sum(axis=0), on_W.sum(axis=1)
    surely = np.argsort(
        log10_noise_chance(rows, columns, ones, seen, X.shape, density), kind="stable"
    )
    # Of every tile (R,): its cells that no tile before it in the order holds, ones, seen ones.
    taken = np.zeros(X.shape, dtype=bool)
    found = np.zeros((3, surely.size))
    for tile in surely:
        cells = np.outer(on_A[:, tile], on_W[tile])
        alone = X[cells & ~taken]
        found[:, tile] = alone.size, np.nansum(alone), (~np.isnan(alone)).sum()
        taken |= cells
    own, own_ones, own_seen = found[0].astype(int), found[1], found[2]
    return pd.DataFrame(
        {
            "tile": np.arange(rows.size),
            "rows": rows,
            "columns": columns,
            "cells": doubt.cells,
            "filled": np.divide(ones, seen, out=np.full(seen.size, np.nan), where=seen > 0),
            "uncertainty": doubt.uncertainty,
            "ambiguity": doubt.ambiguity,
            "present": doubt.present,
            "own": own,
            "noise": log10_noise_chance(rows, columns, own_ones, own_seen, X.shape, density),
        }
    )


STAGE = Stage(
    key="tiles",
    label="Looking at tiles and cells",
    needs=(),
    version=4,
    compute=compute,
    read=read,
    names_runs=True,
)
