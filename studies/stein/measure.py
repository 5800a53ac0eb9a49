"""Measurements of particles: discrepancies, errors, diversity (paper 3, §6 and appendices)."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bnmf_core.compare.distances import distances
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.split import split
from bnmf_core.likelihoods.reference import published_noise
from bnmf_core.numerics.residuals import relative_errors
from bnmf_core.posterior.places import positions
from bnmf_core.posterior.stein import (
    LENGTH_A,
    LENGTH_W,
    Products,
    kernel_matrix,
)
from bnmf_core.runs.planning import Plan, describe, make_plan
from bnmf_core.solvers.nnls import solve_weights
from studies.runner import Cell
from studies.stein.arrival import discrepancies
from studies.stein.problems import Column, SteinModel, SteinPlan
from studies.stein.sources import Source, sources

FORMS = ("paper", "interior")
DIVERSITY = ("max_angle", "frobenius_A", "frobenius_W")
# Stored digits of a measured number.
DIGITS = 6
Lengths = tuple[float, float]


def measured(
    dataset: Dataset,
    rank: int,
    model: SteinModel,
    columns: Sequence[Column],
    seed: int,
    plan: SteinPlan,
) -> Cell:
    """One cell: ``lengths``, ``model`` (its settings), ``rows``, and ``left_out`` with reasons.

    A row is the column, M, the point in time, whether it is the last of this M, the quantity and
    its value.
    """
    made: dict[str, list[Source]] = {}
    left_out: dict[str, str] = {}
    # Model settings are estimated from the data once, and shared.
    settings: dict[str, Any] = {}
    for column in columns:
        own = settings or dict(model.settings)
        spec = RunSpec(
            column.algorithm, rank, model.model, 1, seed, dict(column.settings), own, plan.holdout
        )
        try:
            settings = settings or _model_settings(make_plan(dataset, spec), model)
            spec = replace(spec, model_settings=settings)
            made[column.key] = sources(dataset, spec, plan.sizes, plan.iterations, plan.seconds)
        except BNMFError as error:
            left_out[column.key] = str(error)
    everything = [source for found in made.values() for source in found]
    lengths = common_lengths(everything) if everything else {}
    rows = []
    for key, found in made.items():
        points: dict[int, int] = defaultdict(int)
        for M, last, values in (p for source in found for p in measure(source, dataset, lengths)):
            rows += [
                [key, M, points[M], last, name, float(f"{value:.{DIGITS}g}")]
                for name, value in values.items()
            ]
            points[M] += 1
    return {"lengths": lengths, "model": settings, "rows": rows, "left_out": left_out}


def _model_settings(plan: Plan, model: SteinModel) -> dict[str, Any]:
    """Model settings estimated from the data; an open σ as published."""
    settings: dict[str, Any] = describe(plan)["model_settings"]
    if "sigma" in settings and "sigma" not in model.settings:
        settings["sigma"] = published_noise(plan.problem.dataset, plan.spec.rank)
    return settings


def common_lengths(made: Sequence[Source]) -> dict[str, Lengths]:
    """Form → c of A and of W for all algorithms: as published, and the medians of all distances.

    The medians are those between the last particles of every algorithm, equally many of each, up
    to a limit.
    """
    chosen = []
    for source in made:
        last = [point for point in source.points if point.last]
        if last:
            chosen.append(source.particles.subset(max(last, key=lambda point: point.M).index))
    medians = _products(_pooled(chosen), "interior").median_lengths()
    return {"paper": (LENGTH_A, LENGTH_W), "interior": medians}


def measure(
    source: Source, dataset: Dataset, lengths: dict[str, Lengths]
) -> list[tuple[int, bool, dict[str, float]]]:
    """M, whether it is the last, and quantity → value, for every point of a source.

    Errors and diversity are measured at the last points only.
    """
    found = [
        {"seconds": point.seconds, "own_seconds": point.seconds - source.learning}
        for point in source.points
    ]
    for form in FORMS if source.points else ():
        K, similarity, constant = _kernels(source.particles, dataset, form, lengths[form])
        for point, values in zip(source.points, found, strict=True):
            place = np.ix_(point.index, point.index)
            two = discrepancies(K[place])
            values.update({f"{form}_{weights}": value for weights, value in two.items()})
            if point.last:
                values.update(_shares(form, K[place], two["equal"], constant))
                values.update(_similarities(form, similarity[place]))
    for point, values in zip(source.points, found, strict=True):
        if point.last:
            particles = source.particles.subset(point.index)
            values.update({"steps": source.steps} | _quality(particles, dataset))
            values.update({key: _mean_of_pairs(distances(particles, key)) for key in DIVERSITY})
    return [(p.M, p.last, values) for p, values in zip(source.points, found, strict=True)]


def _kernels(
    particles: Particles, dataset: Dataset, form: str, lengths: Lengths
) -> tuple[np.ndarray, np.ndarray, float]:
    """Stein kernel and base kernel (M, M), and the part of K_ii that does not depend on i.

    K_ii = ‖s_i‖² + ½(dim_A/c_A² + dim_W/c_W²), s the slopes of the log density.
    """
    K = kernel_matrix(particles, dataset, form, *lengths)
    parts = positions(particles.subset(np.array([0])), form)
    constant = sum(p.dimension / c**2 for p, c in zip(parts, lengths, strict=True)) / len(parts)
    similarity = _products(particles, form).similarities(*lengths).mean(axis=0)
    return K, similarity, constant


def _products(particles: Particles, form: str) -> Products:
    return Products.of(positions(particles, form))


def _shares(form: str, K: np.ndarray, equal: float, constant: float) -> dict[str, float]:
    """Parts of the diagonal in the discrepancy of equal weights: constant, and slopes."""
    M = K.shape[0]
    slopes = float(np.trace(K)) / M - constant
    return {f"{form}_constant": constant / M / equal, f"{form}_slopes": slopes / M / equal}


def _similarities(form: str, similarity: np.ndarray) -> dict[str, float]:
    values = similarity[np.triu_indices(similarity.shape[0], 1)]
    return {
        f"{form}_similarity": float(values.mean()),
        f"{form}_similarity_median": float(np.median(values)),
    }


def _quality(particles: Particles, dataset: Dataset) -> dict[str, Any]:
    """Mean errors on observed entries, held-out observations and hidden entries."""
    seen, unseen = split(dataset, particles.spec.holdout)
    test = dataset.columns(unseen)
    W = solve_weights(test.X, particles.A, test.mask)
    found = {
        "log_joint": float(particles.log_joint.mean()),
        "error": float(particles.error.mean()),
        "held_out": float(relative_errors(test.X, particles.A, W, test.mask).mean()),
    }
    if dataset.missing:
        truth, known = dataset.columns(seen).hidden_entries()
        errors = relative_errors(truth, particles.A, particles.W, known)
        found["hidden"] = float(errors.mean())
    return found


def _pooled(parts: Sequence[Particles]) -> Particles:
    # Runs of one model on the same data; their model settings are the same.
    names = ("A", "W", "ids", "chain", "draw", "weights", "log_joint", "error", "seconds")
    joined = {name: np.concatenate([getattr(part, name) for part in parts]) for name in names}
    joined["weights"] = joined["weights"] / joined["weights"].sum()
    return Particles(**joined, spec=parts[0].spec, info=parts[0].info)


def _mean_of_pairs(matrix: np.ndarray) -> float:
    return float(matrix[np.triu_indices(matrix.shape[0], 1)].mean())
