"""Simulation-based calibration of the chains that one click runs: length, thinning, adaptation.

θ from the prior and X from the likelihood; then the rank of the true θ among the run's draws is
uniform (Talts and others 2018). A replication whose chains do not settle is a failure: what the
program withholds it has not calibrated.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from bnmf_core.compare.distances.invariants import invariants
from bnmf_core.compare.settled import settled
from bnmf_core.core.dataset import Dataset
from bnmf_core.runs import engine, launch

from .kernels import D, N, R, draw_joint

# A prior so wide that the mean of X is above 0, as that of data is.
SIGMA, RATE = 1.0, 0.5
BINS, KEPT = 8, 63
# Replications that may fail to settle.
MOST_UNSETTLED = 0.1


def dataset_of(X) -> Dataset:
    """X as data, although noise makes some entries negative."""
    return Dataset(X, "matrix", ("feature",) * D, tuple(map(str, range(N))))


def the_button(data: Dataset):
    """What the recommended launch runs, at the model that made the data."""
    known = {"sigma": SIGMA, "rate": RATE}
    return replace(launch.chains_of(data, R), model_settings=known)


def quantities(A, W, X):
    squared = ((X - A @ W) ** 2).sum(axis=(1, 2))
    log_joint = -squared / (2 * SIGMA**2) - RATE * (A.sum(axis=(1, 2)) + W.sum(axis=(1, 2)))
    return np.stack([*invariants(A, W).values(), squared, log_joint])


def calibration(spec_of, replications: int, seed: int) -> tuple[list[float], float]:
    """p values of the true θ's rank, one a quantity, and the share of runs that do not settle."""
    rng = np.random.default_rng(seed)
    truth = draw_joint("positive", replications, rng, sigma=SIGMA, rate=RATE)
    ranks, unsettled = [], 0
    for i, (A, W, X) in enumerate(zip(*truth, strict=True)):
        spec = replace(spec_of(dataset_of(X)), seed=i)
        found = engine.run(dataset_of(X), spec)
        unsettled += not settled(found.A, found.W, found.log_joint, found.chain).settled
        chosen = np.linspace(0, found.M - 1, KEPT).round().astype(int)
        values = quantities(found.A[chosen], found.W[chosen], X)
        ranks.append((values < quantities(A[None], W[None], X)).sum(axis=1))
    bins = np.array(ranks).T * BINS // (KEPT + 1)
    p_values = [stats.chisquare(np.bincount(one, minlength=BINS)).pvalue for one in bins]
    return p_values, unsettled / replications


def passes(p_values, unsettled, family=1e-3) -> bool:
    return min(p_values) * len(p_values) > family and unsettled <= MOST_UNSETTLED


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_what_the_button_runs_is_calibrated():
    assert passes(*calibration(the_button, 60, 31))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {"chains": 4, "warm_up": 100, "thinning": 5},
        {"chains": 4, "warm_up": 0, "thinning": 1},
    ],
    ids=["fixed length", "no warm-up"],
)
def test_chains_that_are_cut_short_fail(settings):
    def short(data):
        return replace(the_button(data), particles=100, settings=settings)

    assert not passes(*calibration(short, 20, 33))
