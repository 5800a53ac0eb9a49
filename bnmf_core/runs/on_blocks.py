"""Cost of a run over blocks of X: passes, bytes read and memory."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.blocks.offered import size_on_disk
from bnmf_core.blocks.whole import whole_of
from bnmf_core.core.algorithm import AnyAlgorithm
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.loss import Loss
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.core.whole import AllObservations
from bnmf_core.passes import descent
from bnmf_core.passes.executor import AHEAD
from bnmf_core.passes.faces import MOST_COMPONENTS
from bnmf_core.samplers.gibbs import work_per_sweep

# Bytes per second from the disk, and overhead of a pass and of a block in seconds (measured).
READING, PER_PASS, PER_BLOCK = 5e8, 0.03, 2e-3
# Copies of a factorization during a solve on the sample, and of a block of X and its weights in a
# pass.
COPIES, COPIES_OF_X, COPIES_OF_W = 9, 4, 3


def passes(algorithm: AnyAlgorithm, settings: Any, problem: Problem, particles: int) -> int:
    """Expected number of passes over X: the sweeps of a sampler, else a typical number.

    ``algorithm`` : its version for blocks.
    """
    if algorithm.family == "explorer":
        return descent.TYPICAL_PASSES
    chains = max(1, min(int(getattr(settings, "chains", 1)), particles))
    sweeps = algorithm.work(problem, settings) / sweep_work(problem) * math.ceil(particles / chains)
    longest = getattr(settings, "longest", 0)
    return max(1, math.ceil(min(sweeps, 2 * longest) if longest else sweeps))


def sweep_work(problem: Problem) -> float:
    """Multiply-adds of one sweep of one chain over everything."""
    return work_per_sweep(problem) * whole_of(problem).N / problem.dataset.N


def bytes_of_a_pass(whole: AllObservations) -> int:
    """Bytes that one pass reads: the size on the disk, or in memory if that is less.

    A file such as H5AD may hold more than X.
    """
    source = whole.blocks.source
    held = int(source.bytes_each * source.N)
    # A missing store counts as its size in memory; reading reports it.
    return min(size_on_disk(Path(whole.path)) or held, held) if whole.path else held


def seconds_of_reading(whole: AllObservations, count: int) -> float:
    """Time of so many passes without computation."""
    return count * (bytes_of_a_pass(whole) / READING + PER_PASS + PER_BLOCK * whole.count)


def bytes_at_work(
    dataset: Dataset, rank: int, loss: Loss, at_once: int, sampler: bool, threads: int
) -> int:
    """Memory of a run in addition to the sample and the finished particles.

    ``at_once`` : particles, or chains of a ``sampler``, in one pass. ``threads`` : blocks in
    progress; the sums of a few more wait.
    """
    whole = dataset.whole
    assert whole is not None
    n = int(np.diff(whole.blocks.bounds).max())
    X, (D, S) = int(whole.blocks.source.bytes_each * n), dataset.X.shape
    bases, weights = 8 * at_once * rank * D, 8 * at_once * rank * n
    curved = D if loss is KULLBACK_LEIBLER and not sampler else 1
    on_faces = loss is SQUARED_ERROR and not sampler and rank <= MOST_COMPONENTS
    found = bases + 8 * at_once * (rank * (rank * curved + S) + on_faces * rank**4)
    waiting = threads + AHEAD
    made = threads * (COPIES_OF_X * X + COPIES_OF_W * weights) + (waiting + 1) * found
    if sampler:  # weights before a sweep go with each task, those after it come back
        return 4 * bases + made + 2 * waiting * weights
    pairs = int(np.clip(descent.MEMORY_BYTES // max(2 * bases, 1), 2, descent.MEMORY))
    state = (2 + 2 * pairs) * bases + 8 * at_once * rank * S
    solved = min(at_once, descent.TOGETHER * threads)
    return 2 * state + max(made, COPIES * 8 * solved * rank * (D + S))


def bytes_of_weights(dataset: Dataset, rank: int, chains: int) -> int:
    """Bytes on the disk of the weights of all observations, before and after a sweep."""
    return 0 if dataset.whole is None else 2 * 8 * chains * rank * dataset.whole.N
