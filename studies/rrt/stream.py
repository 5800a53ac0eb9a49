"""Proposals of an algorithm, streamed to online inference without being stored (paper 2).

The chains of the paper make 10,000 samples of (D + N) R numbers each, which need not all be in
memory: each is proposed to the mixture, and rejected ones are dropped.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Shard
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.rrt import nvi
from bnmf_core.rrt.ascent import collapsed
from bnmf_core.rrt.mixture import Component, Mixture, component_of
from bnmf_core.rrt.online import propose
from bnmf_core.runs.record import finite_states

COMPLETE = "all proposals were made"
CLOCK = "the clock"
COLLAPSED = "components were collapsing to A W = 0, where the bound has no maximum"
# Further reasons beside the keys of ``variational.online.REASONS``.
GONE = "collapsed"


def proposals(
    problem: Problem,
    algorithm: Algorithm,
    settings: Any,
    shard: Shard,
    begin: Callable[[Any], Any] | None = None,
) -> Iterator[Batch]:
    """Results of one shard, step by step: the same factorizations as ``run``.

    ``begin`` : maps the run's initial state to another one; None: no change.

    Yields
    ------
    Batches without warm-up states; also empty ones, so that the caller can check a clock. The last
    one has the reason in ``ended`` if it came before all were made.
    """
    rng = shard.generator()
    with one_blas_thread():
        state = algorithm.init(problem, settings, shard, rng)
        state = state if begin is None else begin(state)
    made, ended = 0, False
    while made < shard.size and not ended:
        with one_blas_thread():
            state, batch = algorithm.step(problem, state, settings, rng)
        whole, batch = batch.size, finite_states(batch)
        if batch.size < whole:
            batch = replace(batch, ended="A value was not finite.")
        if batch.warm_up is not None:
            batch = _after_warm_up(batch)
        made, ended = made + batch.size, bool(batch.ended)
        yield batch


def _after_warm_up(batch: Batch) -> Batch:
    after = ~batch.warm_up
    diagnostics = {key: values[after] for key, values in batch.diagnostics.items()}
    return Batch(batch.A[after], batch.W[after], diagnostics, batch.chain[after], ended=batch.ended)


def at_scale(problem: Problem, A: np.ndarray, W: np.ndarray, scale: str) -> Component:
    """The factorization A (D, R), W (R, N) as a component at this scale, see ``SCALES``."""
    if scale == "prior":
        A, W = (F[0] for F in problem.model.scale(A[None], W[None]))
    return component_of(problem, A, W, rescale=scale == "best")


@dataclass(frozen=True)
class Streamed:
    """Outcome of a stream of proposals.

    Attributes
    ----------
    mixtures : one for each scale. joined : number of proposals that joined each of them.
    reasons : for each, counts of proposals by key of ``variational.online.REASONS``.
    proposed : number of proposals. best : their largest log joint, nats.
    seconds : total processor time. ended : reason of ending.
    """

    mixtures: tuple[Mixture, ...]
    joined: tuple[int, ...]
    reasons: tuple[Counter, ...]
    proposed: int
    best: float
    seconds: float
    ended: str


def streamed(
    problem: Problem,
    batches: Iterable[Batch],
    scales: tuple[str, ...],
    tolerance: float,
    variance: float | None,
    seconds: float,
) -> Streamed:
    """Propose every factorization of the batches to one mixture for each scale.

    Parameters
    ----------
    scales : at which scale of A and W a component comes, for each mixture: "best", "found" or
        "prior", see ``problems.SCALES``.
    tolerance, variance : see :func:`bnmf_core.rrt.online.propose`.
    seconds : limit of processor time from the first proposal to the request of the last batch,
        which other work on the machine does not change.
    """
    began, first = time.process_time(), np.inf
    d = problem.rank * (problem.dataset.D + problem.dataset.N)
    mixtures = [Mixture.empty(d) for _ in scales]
    reasons: list[Counter] = [Counter() for _ in scales]
    number, best, ended = 0, -np.inf, COMPLETE
    for batch in batches:
        ended = batch.ended or COMPLETE
        first = min(first, time.process_time()) if batch.size else first
        for A, W in zip(batch.A, batch.W, strict=True):
            gone = collapsed(problem, A[None], W[None])[0]
            for found in reasons if gone else ():
                found[GONE] += 1
            with one_blas_thread():
                for i, scale in enumerate(() if gone else scales):
                    component = at_scale(problem, A, W, scale)
                    best = max(best, component.log_joint)
                    mixtures[i], decision = propose(
                        mixtures[i], component, number, tolerance, variance
                    )
                    reasons[i][decision.reason] += 1
            number += 1
            if time.process_time() - first > seconds:
                break
        if time.process_time() - first > seconds and not batch.ended:
            ended = CLOCK
            break
    joined = tuple(found["joined"] + found["first"] for found in reasons)
    took = time.process_time() - began
    return Streamed(tuple(mixtures), joined, tuple(reasons), number, best, took, ended)


def fitted(
    problem: Problem,
    settings: Any,
    shard: Shard,
    variance: float | None,
    seconds: float,
    begin: nvi.State | None = None,
) -> Streamed:
    """The mixture that NVI fits within a time limit after its starts are solved.

    ``variance`` : σ² of all components, where it is fixed; None: what NVI finds.
    """
    began, first, rng = time.process_time(), np.inf, shard.generator()
    ended = COMPLETE
    with one_blas_thread():
        state = nvi.init(problem, settings, shard, rng) if begin is None else begin
        batch = None
        while batch is None or not batch.size:
            state, batch = nvi.step(problem, state, settings, rng)
            now = time.process_time()
            solving = state.unsolved or state.unpolished
            first = first if solving else min(first, now)
            if batch.note:
                ended = COLLAPSED
            if not batch.size and now - first > seconds:
                ended = CLOCK
                break
        variances = np.exp(state.log_variances)
        if variance is not None:
            variances = np.full(shard.size, variance)
        mixture = equal_mixture(problem, state.A, state.W, variances)
    best, took, m = float(mixture.log_joint.max()), time.process_time() - began, shard.size
    reasons = Counter({"first": m, GONE: int(ended == COLLAPSED)})
    return Streamed((mixture,), (m,), (reasons,), m, best, took, ended)


def equal_mixture(problem: Problem, A: np.ndarray, W: np.ndarray, variances: np.ndarray) -> Mixture:
    """Equally weighted Gaussians at A (M, D, R), W (M, R, N) as they are, σ² (M,): an NVI's."""
    mixture = Mixture.empty(A[0].size + W[0].size)
    for m, (a, w) in enumerate(zip(A, W, strict=True)):
        component = component_of(problem, a, w, rescale=False)
        mixture = mixture.joined(component, float(variances[m]), 1.0 / (m + 1), m)
    return mixture


def factors_of(points: np.ndarray, D: int, R: int) -> tuple[np.ndarray, np.ndarray]:
    """Points (P, d), each A and W in one row → A (P, D, R), W (P, R, N); entries below 0 are 0."""
    points = np.maximum(points, 0.0)
    A = points[:, : D * R].reshape(-1, D, R)
    return A, points[:, D * R :].reshape(len(points), R, -1)
