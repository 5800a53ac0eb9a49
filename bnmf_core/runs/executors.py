"""Executors for the steps of runs: threads of this process, or a dask cluster.

A cluster receives the plan of a run once, with X for workers that cannot read its file; each step
then sends the shard's checkpoint and returns the next one. Steps are pure, so a step whose worker
dies is repeated.
"""

import asyncio
import logging
import os
import time
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeVar
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SchedulerError
from bnmf_core.jobs.threads import FairThreads
from bnmf_core.lazy import lazy
from bnmf_core.runs.engine import WORKERS
from bnmf_core.runs.memory import Room, fits
from bnmf_core.runs.payload import (
    Payload,
    Shared,
    Unreachable,
    make_step,
    own,
    reaches,
    where_X_lies,
)
from bnmf_core.runs.planning import Plan
from bnmf_core.store.mapped import Mapped

if TYPE_CHECKING:
    import dask
    import distributed
    from distributed.comm import core as comm
else:  # optional
    dask = lazy("dask")
    distributed = lazy("distributed")
    comm = lazy("distributed.comm.core")

Arguments = ParamSpec("Arguments")
Made = TypeVar("Made")

# Seconds within which a cluster must answer.
PATIENCE = 5.0
# Attempts to send the plan when all workers that held it have died.
MOST_SENDINGS = 4
COUNT_WORKERS_EVERY = 5.0


def default_scheduler() -> str:
    """The scheduler's address from ``BNMF_SCHEDULER``; empty for this machine."""
    return os.environ.get("BNMF_SCHEDULER", "").strip()


def allowed_schedulers() -> list[str]:
    """The schedulers that users of a server may choose.

    These are ``BNMF_SCHEDULER``, the default, and ``BNMF_SCHEDULERS``, separated by commas. They
    are trusted: their objects are unpickled.
    """
    listed = [default_scheduler(), *os.environ.get("BNMF_SCHEDULERS", "").split(",")]
    return [address for address in dict.fromkeys(map(str.strip, listed)) if address]


def open_executor(scheduler: str | None = None) -> Executor:
    """An executor for :func:`bnmf_core.runs.engine.drive`; close it with ``shutdown``.

    Parameters
    ----------
    scheduler : address of a dask scheduler ("tcp://host:8786"); "" for threads of this
        process, None for what ``BNMF_SCHEDULER`` says.

    Raises
    ------
    SchedulerError
        When the scheduler does not answer within five seconds, has no workers, or dask is not
        installed.
    """
    scheduler = default_scheduler() if scheduler is None else scheduler
    if not scheduler:
        return ThreadPoolExecutor(WORKERS, thread_name_prefix="step")
    return ClusterExecutor(scheduler)


class _Sent(NamedTuple):
    """The sent payload of a plan, and the workers for its steps; None for all."""

    payload: "distributed.Future[Payload]"
    workers: list[str] | None


class ClusterExecutor(Executor):
    """Makes steps on the workers of a dask scheduler.

    Parameters
    ----------
    address : of the scheduler, "tcp://host:port".
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._client = _connect(address)
        self._plans: WeakKeyDictionary[Shared, _Sent] = WeakKeyDictionary()
        self._lock = Lock()
        # Plans whose X is sent to all workers, because one of them cannot read its file.
        self._sent_whole: WeakSet[Shared] = WeakSet()
        # dask drops a step without references.
        self._under_way: dict[Future[Any], distributed.Future[Any]] = {}
        self._threads, self._counted = self._count_threads(), time.monotonic()
        if not self._threads:
            self.shutdown()
            raise SchedulerError(
                f"The scheduler at {address} has no workers; start one with "
                f"“python -m dask worker {address}”, or run on this machine."
            )

    @property
    def at_once(self) -> int:
        """Steps that keep the cluster busy: one for each thread of its workers."""
        if time.monotonic() - self._counted > COUNT_WORKERS_EVERY:
            with suppress(Exception):  # the steps will report the error
                self._threads = self._count_threads()
            self._counted = time.monotonic()
        return max(self._threads, 1)

    @property
    def connected(self) -> bool:
        """Whether the scheduler still answers."""
        return self._client.status == "running"

    def rooms(self, dataset: Dataset) -> list[Room]:
        """Memory of each worker, and whether it maps X.

        Raises
        ------
        SchedulerError
            When the scheduler does not answer.
        """
        try:
            return list(self._rooms(dataset).values())
        except Exception as error:
            raise self._in_words(error) from error

    def submit(
        self,
        function: Callable[Arguments, Made],
        /,
        *arguments: Arguments.args,
        **named: Arguments.kwargs,
    ) -> Future[Made]:
        """Make ``function(plan, *rest)`` on a worker; the plan (any ``Shared``) travels once."""
        plan, *rest = arguments
        if named or not isinstance(plan, Shared):
            raise TypeError(
                "A cluster makes steps of a plan, a problem, data or factorizations, whose other "
                "arguments have no names."
            )
        step: Future[Made] = Future()
        step.add_done_callback(self._forget)
        self._send(step, function, plan, rest, sendings=1)
        return step

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Disconnect from the cluster; steps in progress are cancelled."""
        for step in list(self._under_way):
            step.cancel()
        with suppress(Exception):  # the scheduler may be lost
            self._client.close(timeout=PATIENCE)

    def _count_threads(self) -> int:
        return sum(self._client.nthreads(callback_timeout=PATIENCE).values())

    def _send(
        self,
        step: Future[Made],
        function: Callable[..., Made],
        plan: Shared,
        rest: Sequence[object],
        sendings: int,
    ) -> None:
        def receive(remote: "distributed.Future[Made]") -> None:
            try:
                made = remote.result()
            except CancelledError:  # not by us: the plan or the scheduler was lost
                if step.cancelled():
                    return
                if self.connected and sendings < MOST_SENDINGS:
                    with self._lock:
                        if plan in self._plans and self._plans[plan].payload.cancelled():
                            del self._plans[plan]
                    self._send(step, function, plan, rest, sendings + 1)
                else:
                    _fail(step, self._lost())
            except Unreachable:
                with self._lock:
                    if plan not in self._sent_whole:
                        self._sent_whole.add(plan)
                        self._plans.pop(plan, None)
                self._send(step, function, plan, rest, sendings)
            except Exception as error:
                _fail(step, self._in_words(error))
            else:
                if step.set_running_or_notify_cancel():
                    step.set_result(own(made))

        try:
            payload, workers = self._sent(plan)
            remote = self._client.submit(
                make_step, function, payload, *rest, pure=False, workers=workers
            )
        except Exception as error:
            _fail(step, self._in_words(error))
            return
        self._under_way[step] = remote
        if step.cancelled():
            self._forget(step)
        remote.add_done_callback(receive)

    def _sent(self, plan: Shared) -> _Sent:
        with self._lock:
            if plan not in self._plans:
                self._client.wait_for_workers(1, timeout=PATIENCE)
                workers = self._large_enough(plan)
                self._plans[plan] = _Sent(self._scatter(plan, workers), workers)
            return self._plans[plan]

    def _scatter(self, plan: Shared, workers: list[str] | None) -> "distributed.Future[Payload]":
        """Send the plan to these workers (None: all), with X to those that cannot map it."""
        where = None if plan in self._sent_whole else where_X_lies(plan)
        mapping, key = self._reaching(where), f"plan-{uuid4().hex}"
        sent: distributed.Future[Payload] | None = None
        if mapping:
            addresses = self._client.nthreads() if workers is None else workers
            others = [address for address in addresses if address not in mapping]
            with suppress(Exception):  # a worker has left; the others have the plan
                if others:
                    whole = {key: Payload(plan)}
                    sent = self._client.scatter(whole, workers=others, broadcast=True)[key]
            for address in set(mapping).intersection(addresses):
                with suppress(Exception):
                    sent = self._client.scatter({key: Payload(plan, where)}, workers=[address])[key]
        if sent is None:  # from worker to worker
            sent = self._client.scatter(Payload(plan), workers=workers, broadcast=True, hash=False)
        return sent

    def _large_enough(self, plan: Shared) -> list[str] | None:
        """The workers with enough memory for a run; None if all have, or if unknown."""
        if not isinstance(plan, Plan):
            return None
        # The plan's data do not include held-out observations.
        dataset, spec = plan.problem.dataset, replace(plan.spec, holdout=0.0)
        rooms = self._rooms(dataset)
        enough = [address for address, room in rooms.items() if fits(room, dataset, spec)]
        return enough if 0 < len(enough) < len(rooms) else None

    def _rooms(self, dataset: Dataset) -> dict[str, Room]:
        workers = self._client.scheduler_info(n_workers=-1)["workers"]
        mapping = self._reaching(Mapped.of(dataset.X))
        return {
            address: Room(worker["memory_limit"] or None, worker["nthreads"], address in mapping)
            for address, worker in workers.items()
        }

    def _reaching(self, where: Mapped | None) -> list[str]:
        """The workers that can map this file."""
        if where is None:
            return []
        found = self._client.run(reaches, where, on_error="ignore")
        return [address for address, reached in found.items() if reached]

    def _forget(self, step: Future[Made]) -> None:
        remote = self._under_way.pop(step, None)
        if remote is not None and step.cancelled():
            with suppress(Exception):
                remote.cancel()

    def _lost(self) -> SchedulerError:
        return SchedulerError(
            f"The connection to the cluster at {self.address} was lost; what was made is kept, "
            "and can be gone on with on this machine or there."
        )

    def _in_words(self, error: Exception) -> Exception:
        kind = type(error).__name__
        if kind == "KilledWorker":
            return SchedulerError(
                f"Workers of the cluster at {self.address} died again and again on the same step, "
                "perhaps for lack of memory; what was made is kept."
            )
        if isinstance(error, ImportError) or "deserialization" in str(error):
            return SchedulerError(
                f"The cluster at {self.address} cannot load this program ({error}); start its "
                "scheduler and workers in the program's folder with the same environment."
            )
        if isinstance(error, OSError) or not self.connected:
            return self._lost()
        return error


class Executors:
    """The executors that runs share: threads of this process, and clusters in use.

    Parameters
    ----------
    workers : number of threads.
    allowed : the schedulers that may be used; None for any, if only the operator can name one.
    """

    def __init__(
        self, workers: int = WORKERS, allowed: Callable[[], Collection[str]] | None = None
    ) -> None:
        self._lock = Lock()
        self._allowed = allowed
        self._threads = FairThreads(workers)
        self._clusters: dict[str, ClusterExecutor] = {}

    def get(
        self, scheduler: str = "", weight: float = 1.0, owner: Hashable | None = None
    ) -> Executor:
        """The executor of this scheduler, opened on demand, or the threads for "".

        ``weight`` : steps on the threads for each step of a run of weight 1. ``owner`` : of the
        run; all owners have equal time on the threads.

        Raises
        ------
        SchedulerError
            When the scheduler cannot be reached or is not allowed.
        """
        if not scheduler:
            return self._threads.executor(weight, owner or self)
        if self._allowed is not None and scheduler not in self._allowed():
            raise SchedulerError(
                f"This server does not use the scheduler {scheduler!r}; its operator lists those "
                "it does in BNMF_SCHEDULERS."
            )
        with self._lock:
            found = self._clusters.get(scheduler)
            if found is not None and not found.connected:
                self._clusters.pop(scheduler).shutdown()
                found = None
            if found is None:
                found = self._clusters[scheduler] = ClusterExecutor(scheduler)
            return found

    def rooms(self, scheduler: str, dataset: Dataset) -> list[Room]:
        """Memory of the workers of a scheduler; empty for this machine.

        Raises
        ------
        SchedulerError
            As of :meth:`get`.
        """
        executor = self.get(scheduler) if scheduler else None
        return executor.rooms(dataset) if isinstance(executor, ClusterExecutor) else []

    def close(self) -> None:
        """Shut down all executors."""
        with self._lock:
            self._threads.shutdown()
            for cluster in self._clusters.values():
                cluster.shutdown()


def _connect(address: str) -> "distributed.Client":
    try:
        Client, connect, config = distributed.Client, comm.connect, dask.config
        # Certificates come from dask's configuration.
        security = distributed.Security()
    except ImportError:
        raise SchedulerError(
            "Running on a cluster needs dask, which is not installed; install it with "
            "“pip install -r requirements-cluster.txt”, or run on this machine."
        ) from None
    # Large checkpoints are intended.
    config.set({"distributed.admin.large-graph-warning-threshold": "10 GB"})
    # A lost scheduler is reported without a traceback.
    logging.getLogger("distributed.client").setLevel(logging.CRITICAL)
    try:
        # In a separate thread, because the caller may run in an event loop. A client without a
        # scheduler would delay the exit of the program, so this checks first.
        with ThreadPoolExecutor(1) as thread:
            trying = _shake_hands(connect, address, security.get_connection_args("client"))
            thread.submit(asyncio.run, trying).result()
        return Client(
            address, timeout=PATIENCE, set_as_default=False, name="bnmf", security=security
        )
    except Exception as error:  # another server may answer anything
        raise SchedulerError(
            f"No scheduler answered at {address!r} within {PATIENCE:g} seconds; check the address "
            "(such as tcp://192.168.0.5:8786), that it runs, and, of a tls:// one, dask's "
            "certificates, or run on this machine."
        ) from error


async def _shake_hands(
    connect: Callable[..., Awaitable["comm.Comm"]], address: str, security: Mapping[str, object]
) -> None:
    async def attempt() -> None:
        comm = await connect(address, timeout=PATIENCE, **security)
        await comm.close()

    await asyncio.wait_for(attempt(), PATIENCE)


def _fail(step: Future[Made], error: Exception) -> None:
    if step.set_running_or_notify_cancel():
        step.set_exception(error)
