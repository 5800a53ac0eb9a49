"""Record the states of one step: densities, errors and the trace of a chain."""

from dataclasses import replace

import numpy as np

from bnmf_core.compare.distances.invariants import invariants
from bnmf_core.core.algorithm import Batch, Scores, Shard
from bnmf_core.core.problem import Problem
from bnmf_core.runs.planning import Plan
from bnmf_core.store.chunks import Chunk


def finite_states(batch: Batch) -> Batch:
    """The states before the first with a non-finite value."""
    finite = np.isfinite(batch.A).all(axis=(1, 2)) & np.isfinite(batch.W).all(axis=(1, 2))
    return batch if finite.all() else first_states(batch, int(np.argmin(finite)))


def first_states(batch: Batch, count: int) -> Batch:
    """The first ``count`` states of a batch."""

    def cut(values: np.ndarray | None) -> np.ndarray | None:
        return None if values is None else values[:count]

    return replace(
        batch,
        A=batch.A[:count],
        W=batch.W[:count],
        chain=cut(batch.chain),
        warm_up=cut(batch.warm_up),
        log_weights=cut(batch.log_weights),
        scores=None if batch.scores is None else batch.scores.first(count),
        diagnostics={key: values[:count] for key, values in batch.diagnostics.items()},
    )


def _scores(problem: Problem, batch: Batch) -> Scores:
    f = problem.loss.values(problem, batch.A, batch.W)
    log_joint = problem.model.log_joint(problem, batch.A, batch.W, f)
    return Scores(f, log_joint, problem.loss.measured(problem.dataset, f))


def record(plan: Plan, shard: Shard, batch: Batch, recorded: int, produced: int) -> Chunk:
    """Particles and, for a sampler, the trace of finite states; ``seconds`` are set later.

    ``recorded`` states and ``produced`` particles precede them in the shard. The chunk ends before
    a non-finite log joint.
    """
    problem, model = plan.problem, plan.problem.model
    scores = batch.scores or _scores(problem, batch)
    if not np.isfinite(scores.log_joint).all():
        count = int(np.argmin(np.isfinite(scores.log_joint)))
        batch, scores = first_states(batch, count), scores.first(count)
    f, log_joint, error = scores.loss, scores.log_joint, scores.error
    chain = np.full(batch.size, shard.index) if batch.chain is None else batch.chain
    warm_up = np.zeros(batch.size, dtype=bool) if batch.warm_up is None else batch.warm_up
    trace = {}
    if plan.algorithm.family == "sampler" and batch.log_weights is None:
        trace = {
            "chain": chain,
            "warm_up": warm_up,
            "log_joint": log_joint,
            "log_likelihood": model.log_likelihood(problem, batch.A, batch.W, f),
            "error": error,
            **invariants(batch.A, batch.W),
        }
    # A slice avoids a copy if all states are retained.
    retained = ~warm_up if warm_up.any() else slice(None)
    return Chunk(
        shard=shard.index,
        position=recorded,
        first=produced,
        A=batch.A[retained],
        W=batch.W[retained],
        chain=chain[retained],
        log_joint=log_joint[retained],
        error=error[retained],
        seconds=np.zeros(batch.size)[retained],
        diagnostics={key: values[retained] for key, values in batch.diagnostics.items()},
        trace=trace,
        states=batch.size,
        log_weights=None if batch.log_weights is None else batch.log_weights[retained],
        log_evidence=batch.log_evidence,
        note=batch.note,
        totals=dict(batch.totals),
    )
