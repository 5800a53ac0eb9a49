"""Intermediate results of a running run."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from bnmf_core.compare.alignment import largest_first
from bnmf_core.compare.chain_modes import chain_modes_of
from bnmf_core.compare.coverage import covering_over_time
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances import distances as distances_of
from bnmf_core.compare.settled import settled
from bnmf_core.core.errors import StoreError
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.store.run_store import RunStore

# Number of particles used: an update every second must not slow the run down.
MOST = 80


def growth(store: RunStore, run_id: str, metric: str, epsilon: float) -> pd.DataFrame:
    """Covering numbers of a run at the times of its particles: seconds, covering, made.

    ``epsilon`` : in the distance's unit. Of more than 80 particles, evenly spaced ones; empty
    where nothing has been saved yet.
    """
    try:
        particles = store.particles(run_id)
    except StoreError:
        return pd.DataFrame({"seconds": [], "covering": [], "made": []})
    chosen = evenly_spaced(particles.M, MOST)
    few = particles.subset(chosen)
    seconds = np.asarray(few.seconds)
    matrix = distances_of(few, DISTANCES[metric].key)
    times, counts = covering_over_time(matrix, seconds, epsilon)
    made = [int((np.asarray(particles.seconds) <= time).sum()) for time in times]
    return pd.DataFrame({"seconds": times, "covering": counts, "made": made})


class Best(NamedTuple):
    """The factorization with the smallest error that runs have made so far.

    A : (D, R), the largest component first. error : its measure of fit. made : how many there are.
    """

    A: np.ndarray
    error: float
    made: int


def best(store: RunStore, run_ids: Sequence[str]) -> Best | None:
    """The best factorization of these runs; None before the first is saved."""
    found, made = None, 0
    for run_id in run_ids:
        try:
            particles = store.particles(run_id)
        except StoreError:
            continue
        made += particles.M
        least = int(np.argmin(particles.error))
        if found is None or particles.error[least] < found.error:
            A, W = np.asarray(particles.A[least]), np.asarray(particles.W[least])
            found = Best(A[:, largest_first(A, W)], float(particles.error[least]), made)
    return None if found is None else found._replace(made=made)


def settling(store: RunStore, run_id: str) -> tuple[float, float] | None:
    """Largest R̂ and smallest effective sample size within the modes of a run's chains so far.

    None while chains are too short to say.
    """
    try:
        made = store.particles(run_id)
    except StoreError:
        return None
    groups = chain_modes_of(made, "max_angle").labels
    found = settled(made.A, made.W, made.log_joint, made.chain, groups)
    size = min(found.ess_bulk, found.ess_tail)
    return None if np.isnan([found.r_hat, size]).any() else (found.r_hat, size)
