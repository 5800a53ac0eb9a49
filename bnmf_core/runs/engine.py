"""The one loop that drives every algorithm: shards, seeds, cancel, checkpoints, progress.

A run is cut into shards. One step of one shard is a task, a pure function of the plan and the
shard's last checkpoint (:func:`advance`), so any ``concurrent.futures`` executor can run it;
the loop (:func:`drive`) saves what comes back, reports, and hands out the next step.
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
# Settings that say how much is begun before the first result is there, and the least they can be.
SHARE_A_BUDGET = {"block": 1, "chains": 1, "warm_up": 0}


class Sink(Protocol):
    """Where a run's chunks and checkpoints go: memory, or a folder of the store."""

    def checkpoint(self, shard: Shard, State: type) -> Checkpoint | None:
        """The shard's last checkpoint, if any."""

    def save(self, shard: Shard, checkpoint: Checkpoint, chunk: Chunk | None) -> None:
        """Keep what one step made."""

    def chunks(self) -> list[Chunk]:
        """Everything kept so far."""


@dataclass(frozen=True)
class Outcome:
    """How a run ended: "complete", "cancelled" or "budget" (used up), and how long it took in all.

    ``busy`` are the seconds that processors worked in this part of the run, all together.
    ``failed_chains`` lists the chains (of an explorer: the blocks) that did not reach their end:
    ``chain``, ``after_draw`` (how many particles of it are kept) and ``reason``. ``notes`` are what
    the algorithm says of the result.
    """

    stop_reason: str
    seconds: float
    failed_chains: tuple[FailedChain, ...] = ()
    notes: tuple[str, ...] = ()
    busy: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether it has made all that it was to make."""
        return self.stop_reason in ("complete", "budget")

    @property
    def message(self) -> str:
        """What there is to say of the way it ended and of its result; "" where there is nothing."""
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
    """Keeps chunks in memory and checkpoints nowhere: for notebooks, tests and benchmarks."""

    def __init__(self) -> None:
        self._chunks: list[Chunk] = []

    def checkpoint(self, shard: Shard, State: type) -> None:
        """A run in memory always starts from the beginning."""

    def save(self, shard: Shard, checkpoint: Checkpoint, chunk: Chunk | None) -> None:
        """Keep the chunk."""
        if chunk is not None:
            self._chunks.append(chunk)

    def chunks(self) -> list[Chunk]:
        """All chunks so far, handed over: they are not kept here any longer."""
        chunks, self._chunks = self._chunks, []
        return chunks


# What a step leaves: the shard's next checkpoint, and what it has made.
Step = tuple[Checkpoint, Chunk | None]
Latest = dict[Shard, Checkpoint | None]


def advance(plan: Plan, shard: Shard, checkpoint: Checkpoint | None) -> Step:
    """One step of one shard; pure. Returns the new checkpoint and a Chunk or None.

    A value that is not finite ends the shard, and so does an algorithm that says it can make no
    more: the states before it are kept, and the checkpoint says why it does not go on.
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
    """:func:`advance`, and the seconds that the processor worked on it, whatever else ran.

    What is compiled the first time on a machine does not count.
    """
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
    """Run every shard to its end, or until cancelled; go on from the sink's checkpoints.

    ``seconds_before`` is the time that earlier parts of the same run took, ``busy_before`` what
    processors worked in them. A run with a budget stops when that is used up. An executor may
    say in ``at_once`` how many steps keep it busy. A step that has not begun when the run is
    cancelled is not made.

    Raises
    ------
    BNMFError
        When a step fails, or every shard has failed without a particle; what was saved before
        is kept.
    """
    began, tell = time.perf_counter(), on_progress or (lambda progress: None)
    latest: Latest = {shard: sink.checkpoint(shard, plan.algorithm.State) for shard in plan.shards}
    at_start = _fraction(plan, latest)
    waiting = [shard for shard in plan.shards if not _finished(shard, latest[shard])]
    running: dict[Future[tuple[Step, float]], Shard] = {}
    cancelled, busy = False, 0.0
    shared = bool(plan.spec.seconds) and plan.algorithm.family == "sampler"
    # Factorizations that are solved until they converge come at the end of a block: a budget goes
    # to one block after the other, so that it does not end with all of them half done.
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
            # A few tasks ahead keep every worker busy; more would delay other runs' steps.
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
                if isinstance(future.exception(), Cancelled):  # nothing of that step is kept
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
                    # One after the other, but the last ones in turn, so that workers end together;
                    # chains with a budget get the same share of it each.
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
    """What makes the steps of a plan: the workers, or where X is in blocks passes made by them.

    ``folder`` : where a run keeps what does not fit into memory; None: a temporary one.
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
    on_progress : called after every step. cancel : checked between steps; what has been made
        by then is returned, with ``info["stop_reason"] == "cancelled"``.
    executor : where the steps are made, such as ``open_executor("tcp://…")``; it stays open.
        None: in threads of this process. The result is the same.

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
    # An executor may say what room its workers have; otherwise it is this machine's.
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
