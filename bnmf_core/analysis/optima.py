"""Converged optima: which there are, the modes that they make at 15°, and which fit well."""

from dataclasses import dataclass

import numpy as np

from bnmf_core.analysis import distances, quality
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.modes import SAME_MODE, find_modes
from bnmf_core.core.errors import RunError
from bnmf_core.core.objective import MaximumLikelihood
from bnmf_core.core.problem import Problem
from bnmf_core.registry import model_of

# Converged factorizations that are at most so far apart, in degrees, are one site.
APART, METRIC = SAME_MODE, "max_angle"


@dataclass(frozen=True, eq=False)
class Sites:
    """Converged members and their sites, the largest site first.

    rows : (c,) rows of the members. labels : (c,) their sites, 0-based.
    apart : (c, c) distances between them, degrees.
    """

    rows: np.ndarray
    labels: np.ndarray
    apart: np.ndarray


def find_sites(comparison: Comparison) -> Sites:
    """The sites of a comparison, whose distances are stored.

    Raises
    ------
    RunError
        When no member is known to be an optimum.
    """
    rows = np.flatnonzero(comparison.optima)
    if not rows.size:
        remedy = (
            f"compare them with a run of {comparison.advised}."
            if comparison.advised
            else "no algorithm for their model tells whether it has."
        )
        raise RunError(
            f"None of these factorizations is known to have converged to an optimum; {remedy}"
        )
    apart = distances.STAGE.of(comparison).matrix(METRIC)[np.ix_(rows, rows)]
    return Sites(rows, find_modes(apart, APART).labels, apart)


# Log likelihoods so near to the best, in nats, tell nothing of which fit is right.
NATS = 3.0


def as_good_as_best(comparison: Comparison) -> np.ndarray:
    """(m,) bool, True for optima that fit as well as the best.

    With held-out observations: the mean loss there, paired observation by observation, is within
    one standard error of the smallest. Without: the log likelihood is within 3 nats of the largest,
    at the noise of the first run's model, or where that says none at that of the best fit.
    """
    good = np.zeros(len(comparison.members), dtype=bool)
    optima = np.flatnonzero(comparison.optima)
    if not optima.size:
        return good
    known = quality.STAGE.perhaps(comparison)
    if comparison.holdout and known is not None:
        losses = known.held_out_losses[optima]
        worse = losses - losses[losses.mean(axis=1).argmin()]
        allowed = worse.std(axis=1, ddof=1) / np.sqrt(losses.shape[1])
        good[optima] = worse.mean(axis=1) <= allowed
        return good
    good[optima] = nats_below_best(comparison)[optima] <= NATS
    return good


def nats_below_best(comparison: Comparison) -> np.ndarray:
    """(m,) how far each optimum's log likelihood is below the largest, nats; NaN for others.

    Among optima of one loss: those of different ones are not compared with each other.
    """
    data = comparison.seen_dataset
    below = np.full(len(comparison.members), np.nan)
    losses = np.array([loss.key for loss in comparison.losses])[comparison.run_of_member]
    for key in np.unique(losses):
        optima = np.flatnonzero(comparison.optima & (losses == key))
        if not optima.size:
            continue
        first = int(np.argmax(losses == key))
        particles = comparison.particles[comparison.run_of_member[first]]
        model, settings = model_of(particles)
        problem = Problem(data, model, settings, comparison.rank)
        f = problem.loss.unmeasured(data, comparison.members["error"].to_numpy()[optima])
        below[optima] = (f - f.min()) * MaximumLikelihood(problem).nats(f.min())
    # Errors are of all observations, and the data here may be a sample of them.
    whole = comparison.dataset.whole
    return below if whole is None else below * (whole.N / comparison.dataset.N)
