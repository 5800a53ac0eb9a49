"""The numbers of one set of samples: fit, autocorrelation, distances, covering curves."""

import json
import time
from functools import lru_cache

import numpy as np

from bnmf_core import registry
from bnmf_core.compare.coverage import covering_numbers, largest_distance, mean_distance
from bnmf_core.compare.distances import distances
from bnmf_core.compare.mixing import autocorrelation_time, why_unknown
from bnmf_core.compare.quality import FACTOR, within_error
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.lazy import lazy
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.runs.engine import run
from studies.coverage.problems import StudyProblem
from studies.runner import Cell

arviz = lazy("arviz_stats.base")

RADII = {"max_angle": np.geomspace(1e-3, 90.0, 100), "l1_max": np.geomspace(1e-5, 2.0, 100)}
COMPARED = 1000
# Entries of A whose autocorrelation is averaged.
FOLLOWED = 100


def measured(
    problem: StudyProblem,
    spec: RunSpec,
    sigma: float,
    seed: int,
    repetition: int,
    largest: float | None,
) -> Cell:
    """One cell.

    Parameters
    ----------
    sigma, seed : of the data. largest : if given, samples are retained whose error is at most
        ten times as large.
    """
    dataset = _dataset(problem, sigma, seed, repetition)
    # Two columns use the same restarts; only the last run's factors are cached.
    text = json.dumps(spec.to_dict())
    particles, seconds = _run(problem, sigma, seed, repetition, text)
    if largest is not None:
        particles = particles.subset(within_error(particles, largest, FACTOR))
    return numbers(particles, dataset, sigma) | {"seconds": seconds}


@lru_cache(maxsize=1)
def _dataset(problem: StudyProblem, sigma: float, seed: int, repetition: int) -> Dataset:
    return problem.dataset(sigma, seed, repetition)


@lru_cache(maxsize=1)
def _run(
    problem: StudyProblem, sigma: float, seed: int, repetition: int, spec: str
) -> tuple[Particles, float]:
    began = time.perf_counter()
    particles = run(_dataset(problem, sigma, seed, repetition), RunSpec(**json.loads(spec)))
    return particles, time.perf_counter() - began


def numbers(particles: Particles, dataset: Dataset, sigma: float) -> Cell:
    """Quantities of samples, and their covering ``curves``."""
    M = particles.M
    cell: Cell = {"kept": M, "curves": {}}
    squared = np.asarray(particles.error) ** 2 * dataset.squared_norm
    cell["log_likelihood"] = float(-squared.mean() / (2 * sigma**2)) if M else None
    cell["largest_error"] = float(np.max(particles.error)) if M else None
    cell["iat"], cell["iat_proper"] = _autocorrelation(particles)
    first = particles.subset(np.arange(min(M, COMPARED)))
    chain = registry.algorithm(particles.spec.algorithm).family == "sampler"
    for metric, radii in RADII.items():
        matrix = distances(first, metric) if M else None
        cell[f"{metric}_largest"] = None if matrix is None else largest_distance(matrix)
        cell[f"{metric}_average"] = None if matrix is None else mean_distance(matrix)
        if chain:  # it has been to more places at its end than at its beginning
            whole = particles.subset(evenly_spaced(M, min(M, COMPARED)))
            spread = distances(whole, metric)
            cell[f"{metric}_whole_largest"] = largest_distance(spread)
            cell[f"{metric}_whole_average"] = mean_distance(spread)
        curve = np.zeros(radii.size, int)
        if matrix is not None:
            curve = covering_numbers(matrix, radii, "published")
        cell["curves"][metric] = curve.tolist()
    return cell


def published_autocorrelation_time(draws: np.ndarray) -> float:
    """The number that tables 2 and 6 of paper 1 print, about half of the IAT of one chain (K,).

    The factor 2 is left out: 1 + Σ ρ_t, cut where ρ_t first turns negative, averaged over the
    entries of A. That, and not draws / ESS, gives 1.008 for 10,000 independent draws (published
    1.009; draws / ESS: 1.017) and about 700 for Gibbs on its small problems (published 728 and 678;
    draws / ESS: about 1,370). NaN where :func:`autocorrelation_time` is.
    """
    draws = np.asarray(draws, dtype=np.float64)
    if why_unknown(draws[None]):
        return float("nan")
    covariance = arviz.array_stats.autocov((draws - draws.mean()) / np.ptp(draws))
    correlation = covariance / covariance[0]
    negative = np.flatnonzero(correlation < 0)
    end = negative[0] if negative.size else correlation.size
    return float(1.0 + correlation[1:end].sum())


def _autocorrelation(particles: Particles) -> tuple[float | None, float | None]:
    """Means over unnormalized entries of A, in the paper's form and in the usual one.

    The paper does not say what it followed; entries of A as they stand, the scale included, give
    its numbers for Gibbs. (Numbers that are free of scale mix within a few sweeps there.)
    """
    M, D, R = particles.A.shape
    entries = np.unique(np.linspace(0, D * R - 1, min(D * R, FOLLOWED)).round().astype(int))
    draws = particles.A.reshape(M, D * R)[:, entries]
    found = []
    for measure in (published_autocorrelation_time, autocorrelation_time):
        values = np.array([measure(column) for column in draws.T])
        values = values[np.isfinite(values)]  # an entry that stays at zero tells nothing
        found.append(float(values.mean()) if values.size else None)
    return found[0], found[1]
