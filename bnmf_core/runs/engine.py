"""The loop that drives every algorithm: shards, seeds, cancellation, checkpoints, progress.

A run is cut into shards. One step of one shard is a task, a pure function of the plan and the
shard's last checkpoint (:func:`advance`), so any ``concurrent.futures`` executor can run it;
the loop (:func:`drive`) saves results, reports progress and submits the next step.
"""

import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from bnmf_core.core.algorithm import Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, RunError
from bnmf_core.core.names import listed
from bnmf_core.core.particles import Particles
from bnmf_core.core.settings import declarations
from bnmf_core.core.spec import FailedChain, Progress, RunInfo, RunSpec
from bnmf_core.numerics.compiling import seconds_compiled
from bnmf_core.numerics.threads import one_blas_thread, worker_count
from bnmf_core.passes.executor import Cancel, Passes
from bnmf_core.runs.planning import Plan, describe, make_plan
from bnmf_core.runs.record import finite_states, record
from bnmf_core.store.checkpoint import Checkpoint, Failure, restore_generator
from bnmf_core.store.chunks import Chunk, assemble

WORKERS = worker_count()
# Settings that determine the work before the first result, and their least values.
SHARE_A_BUDGET = {"block": 1, "chains": 1, "warm_up": 0}


class Sink(Protocol):
    """Storage for a run's chunks and checkpoints: memory or a folder of the store."""

    def checkpoint(self, shard: Shard, State: type) -> Checkpoint | None:
        """The shard's last checkpoint, if any."""

    def save(self, shard: Shard, checkpoint: Checkpoint, chunk: Chunk | None) -> None:
        """Store the result of one step."""

    def chunks(self) -> list[Chunk]:
        """All stored chunks."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: "complete", "cancelled" or "budget" (used up), and its total time.

    ``busy`` : total CPU seconds of this part of the run. ``failed_chains`` lists the chains (of an
    explorer: the blocks) that did not reach their end: ``chain``, ``after_draw`` (number of its
    particles) and ``reason``. ``notes`` : of the algorithm on the result.
    """

    stop_reason: str
    seconds: float
    failed_chains: tuple[FailedChain, ...] = ()
    notes: tuple[str, ...] = ()
    busy: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether the run has finished."""
        return self.stop_reason in ("complete", "budget")

    @property
    def message(self) -> str:
        """Sentences on the end of the run and its result; "" without any."""
        failed = "; ".join(
            f"chain {chain['chain'] + 1} stopped after {chain['after_draw']} draws"
            for chain in self.failed_chains
        )
        reasons = " ".join(dict.fromkeys(chain["reason"] for chain in self.failed_chains))
        words = f"{failed[:1].upper()}{failed[1:]}. {reasons}" if failed else ""
        if self.stop_reason == "budget":
            words = f"Its budget of processor time was used up. {words}".rstrip()
        if self.stop_reason == "cancelled":
            words = f"Cancelled; what was made is kept. {words}".rstrip()
        return " ".join([*([words] if words else []), *self.notes])

    def to_dict(self) -> RunInfo:
        """The entries it adds to a run's info."""
        return {
            "stop_reason": self.stop_reason,
            "run_seconds": self.seconds,
            "failed_chains": list(self.failed_chains),
        }


class MemorySink:
    """Stores chunks in memory, without checkpoints: for notebooks, tests and benchmarks."""

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []

    def checkpoint(self, shard: Shard, State: type) -> None:
        """A run in memory always starts from the beginning."""

    def save(self, shard: Shard, checkpoint: Checkpoint, chunk: Chunk | None) -> None:
        """Store the chunk."""
        if chunk is not None:
            self._chunks.append(chunk)

    def chunks(self) -> list[Chunk]:
        """Return all chunks and remove them from the sink."""
        chunks, self._chunks = self._chunks, []
        return chunks


# Result of a step: the shard's next checkpoint, and a chunk.
Step = tuple[Checkpoint, Chunk | None]
Latest = dict[Shard, Checkpoint | None]


def advance(plan: Plan, shard: Shard, checkpoint: Checkpoint | None) -> Step:
    """One step of one shard; pure. Returns the new checkpoint and a Chunk or None.

    A non-finite value ends the shard, as does an algorithm that can make no more: earlier states
    remain, and the checkpoint has the reason.
    """
    with one_blas_thread():
        produced, recorded = 0, 0
        draws: dict[str, int] = {}
        if checkpoint is None:
            rng = shard.generator()
            state = plan.algorithm.init(plan.problem, plan.settings, shard, rng)
        else:
            rng = restore_generator(checkpoint.generator)
            state, draws = checkpoint.state, dict(checkpoint.draws)
            produced, recorded = checkpoint.produced, checkpoint.recorded
        state, batch = plan.algorithm.step(plan.problem, state, plan.settings, rng)
        chunk, failure = None, None
        if batch.size:
            chains = [shard.index] if batch.chain is None else batch.chain
            draws = {str(chain): 0 for chain in chains} | draws
            chunk = record(plan, shard, finite_states(batch), recorded, produced)
            for chain in chunk.chain:
                draws[str(chain)] += 1
            produced, recorded = produced + chunk.size, recorded + chunk.states
            if chunk.states < batch.size:
                failure = Failure(
                    recorded,
                    f"{plan.algorithm.label} made a value that is not finite after particle "
                    f"{shard.start + produced}; what came before is kept. Rescaling the data "
                    "to a largest entry near 1 usually helps.",
                )
                chunk = chunk if chunk.states else None
        if batch.ended and failure is None and produced < shard.size:
            failure = Failure(recorded, batch.ended)
    ended = failure is not None or produced >= shard.size
    part = 1.0 if ended else plan.algorithm.fraction(state, plan.settings)
    generator = rng.bit_generator.state
    return Checkpoint(state, generator, produced, part, recorded, draws, failure), chunk


def timed(plan: Plan, shard: Shard, checkpoint: Checkpoint | None) -> tuple[Step, float]:
    """:func:`advance`, and its CPU seconds without compilation."""
    began, compiled = time.thread_time(), seconds_compiled()
    step = advance(plan, shard, checkpoint)
    return step, time.thread_time() - began - (seconds_compiled() - compiled)


def drive(
    plan: Plan,
    sink: Sink,
    executor: Executor,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Cancel | None = None,
    seconds_before: float = 0.0,
    busy_before: float = 0.0,
) -> Outcome:
    """Run every shard to its end, or until cancelled, from the sink's checkpoints.

    ``seconds_before`` and ``busy_before`` : wall-clock and CPU time of earlier parts of the run. A
    run stops when its budget is used up. The attribute ``at_once`` of an executor is the number of
    steps that keep it busy. Steps that have not begun are dropped when the run is cancelled.

    Raises
    ------
    BNMFError
        When a step fails, or every shard has failed without a particle; saved results remain.
    """
    began, tell = time.perf_counter(), on_progress or (lambda progress: None)
    latest: Latest = {shard: sink.checkpoint(shard, plan.algorithm.State) for shard in plan.shards}
    at_start = _fraction(plan, latest)
    waiting = [shard for shard in plan.shards if not _finished(shard, latest[shard])]
    running: dict[Future[tuple[Step, float]], Shard] = {}
    cancelled, busy = False, 0.0
    shared = bool(plan.spec.seconds) and plan.algorithm.family == "sampler"
    # Explorers return factorizations at the end of a block, so a budget is spent on one block after
    # the other instead of leaving all of them half done.
    alone = bool(plan.spec.seconds) and not shared
    at_once = 1 if alone else getattr(executor, "at_once", WORKERS)
    try:
        while waiting or running:
            cancelled = cancelled or (cancel is not None and cancel.is_set())
            used_up = 0 < plan.spec.seconds <= busy_before + busy
            if cancelled or used_up:
                waiting.clear()
                running = {
                    future: shard for future, shard in running.items() if not future.cancel()
                }
            # A few queued tasks keep every worker busy; more would delay the steps of other runs.
            while waiting and len(running) < at_once:
                shard = waiting.pop(0)
                running[executor.submit(timed, plan, shard, latest[shard])] = shard
            if not running:
                break
            finished, _ = wait(running, timeout=0.2, return_when=FIRST_COMPLETED)
            if stage := getattr(executor, "stage", ""):  # of a step that is under way
                so_far = began, seconds_before, busy_before + busy
                tell(replace(_progress(plan, latest, at_start, *so_far), stage=stage))
            for future in finished:
                shard = running.pop(future)
                if isinstance(future.exception(), Cancelled):  # that step has no result
                    cancelled = True
                    continue
                (checkpoint, chunk), worked = future.result()
                busy += worked
                seconds = seconds_before + time.perf_counter() - began
                if chunk is not None:
                    chunk = replace(chunk, seconds=np.full(chunk.size, seconds))
                sink.save(shard, checkpoint, chunk)
                del future, chunk  # a chunk that is on disk need not be in memory
                if _finished(shard, checkpoint):
                    latest[shard] = replace(checkpoint, state=None)
                else:
                    latest[shard] = checkpoint
                    # Shards run one after the other, but the last ones in turn, so that workers end
                    # together; chains with a budget share it equally.
                    last = not alone and len(waiting) + len(running) + 1 < 2 * at_once
                    waiting.insert(len(waiting) if shared or last else 0, shard)
                so_far = began, seconds_before, busy_before + busy
                tell(_progress(plan, latest, at_start, *so_far))
    finally:
        for future in running:  # some are left only when a step has failed
            future.cancel()
    seconds = seconds_before + time.perf_counter() - began
    return _outcome(plan, latest, cancelled, seconds, busy)


def _outcome(plan: Plan, latest: Latest, cancelled: bool, seconds: float, busy: float) -> Outcome:
    whole = all(_finished(shard, latest[shard]) for shard in plan.shards)
    reason = "complete" if whole else "cancelled" if cancelled else "budget"
    failed = _failed_chains(latest)
    if reason != "cancelled" and not any(c.produced for c in latest.values() if c is not None):
        raise RunError(failed[0]["reason"] if whole else _used_up(plan))
    return Outcome(reason, seconds, failed, busy=busy)


def steps_of(
    plan: Plan, workers: Executor, cancel: Cancel | None = None, folder: Path | None = None
) -> AbstractContextManager[Executor]:
    """The executor of a plan's steps: the workers, or for X in blocks, passes over them.

    ``folder`` : for data that do not fit into memory; None for a temporary one.
    """
    if plan.problem.dataset.whole is None:
        return nullcontext(workers)
    return Passes(workers, getattr(workers, "at_once", WORKERS), folder, cancel)


def run(
    dataset: Dataset,
    spec: RunSpec,
    on_progress: Callable[[Progress], None] | None = None,
    cancel: Cancel | None = None,
    executor: Executor | None = None,
) -> Particles:
    """Make factorizations and wait for them.

    Parameters
    ----------
    dataset : X (D, N) with its names. spec : what to run.
    on_progress : called after every step. cancel : checked between steps; a cancelled run returns
        its particles so far, with ``info["stop_reason"] == "cancelled"``.
    executor : for the steps, such as ``open_executor("tcp://…")``; it stays open. None for threads
        of this process. The result is the same.

    Raises
    ------
    BNMFError
        When the spec or the data do not fit.

    Examples
    --------
    >>> from bnmf_core import RunSpec, laurberg, run
    >>> particles = run(laurberg("two"), RunSpec("random_restarts", rank=3, particles=5))
    >>> particles.M
    5
    """
    # An executor may report the memory of its workers; the default is this machine's.
    rooms_for = getattr(executor, "rooms", None)
    plan = make_plan(dataset, spec, rooms_for(dataset) if rooms_for else ())
    sink = MemorySink()
    own = ThreadPoolExecutor(WORKERS) if executor is None else nullcontext(executor)
    with own as workers, steps_of(plan, workers, cancel) as steps:
        outcome = drive(plan, sink, steps, on_progress, cancel)
    info = describe(plan) | outcome.to_dict()
    return assemble(sink.chunks(), [shard.start for shard in plan.shards], spec, info)


def _used_up(plan: Plan) -> str:
    declared = declarations(type(plan.settings))
    smaller = [
        f"“{declared[name][1].label}” below {now:,}"
        for name, least in SHARE_A_BUDGET.items()
        if name in declared and (now := getattr(plan.settings, name)) > least
    ]
    hint = f", or set {listed(smaller, 'or')}" if smaller else ""
    return (
        f"It has made nothing within its budget of {plan.spec.seconds:g} s of processor time. Give "
        f"it more{hint}."
    )


def _finished(shard: Shard, checkpoint: Checkpoint | None) -> bool:
    if checkpoint is None:
        return False
    return checkpoint.failure is not None or checkpoint.produced >= shard.size


def _failed_chains(latest: Latest) -> tuple[FailedChain, ...]:
    return tuple(
        {"chain": int(chain), "after_draw": draws, "reason": checkpoint.failure.reason}
        for shard, checkpoint in latest.items()
        if checkpoint is not None and checkpoint.failure is not None
        for chain, draws in (checkpoint.draws or {str(shard.index): 0}).items()
    )


def _fraction(plan: Plan, latest: Latest) -> float:
    parts = [shard.size * c.fraction for shard, c in latest.items() if c is not None]
    return sum(parts) / plan.spec.particles


def _progress(
    plan: Plan, latest: Latest, at_start: float, began: float, before: float, busy: float
) -> Progress:
    fraction = _fraction(plan, latest)
    if plan.spec.seconds:
        fraction = max(fraction, min(busy / plan.spec.seconds, 1.0))
    elapsed = time.perf_counter() - began
    gained = fraction - at_start
    return Progress(
        done=sum(c.produced for c in latest.values() if c is not None),
        total=plan.spec.particles,
        fraction=fraction,
        seconds=before + elapsed,
        remaining=elapsed * (1 - fraction) / gained if gained > 0 else None,
        stage=f"{plan.algorithm.label} is making factorizations",
        busy=busy,
    )
