"""Time of a study of ranks and restarts on the workers of a cluster, and a model of it.

The workers are processes of this machine. The model assumes separate machines:

    seconds = steps × handling + problems × workers × sending + work / workers

where the work never takes less than its longest step. Handling and sending are measured by steps
that do nothing, the work by the processor time of the steps of one worker.
"""

import logging
import time
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.tables import part
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.restarts import BLOCK, Solved, shards, solve_block
from bnmf_core.lazy import lazy
from bnmf_core.likelihoods import gaussian
from bnmf_core.numerics.tasks import Tasks
from bnmf_core.numerics.threads import worker_count
from bnmf_core.runs.executors import open_executor

distributed = lazy("distributed")

# Ratio of predicted and measured time at four workers, the larger over the smaller.
TARGETS = {"four workers": 1.25}
SAMPLE, RANKS, RESTARTS = "digits", range(2, 12), 100
WORKERS = (1, 2, 4)
# Largest number of workers that the model predicts.
MANY = 64
COLUMNS = (
    "workers",
    "measured, s",
    "predicted, s",
    "one worker's time over it",
    "processor s of the steps",
    "longest step, s",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """The study on one, two and four workers, its parts, and the prediction."""
    ranks, restarts = (RANKS[:2], 20) if quick else (RANKS, RESTARTS)
    found = {count: _study(count, ranks, restarts) for count in WORKERS}
    first, cores = found[WORKERS[0]], worker_count()
    steps = len(first["worked"])

    def predicted(workers: int, at_once: int) -> float:
        serial = steps * first["handling"] + len(ranks) * workers * first["sending"]
        return serial + max(sum(first["worked"]) / at_once, *first["worked"])

    rows: list[list[Any]] = [
        [
            count,
            one["seconds"],
            predicted(count, min(count, cores)),
            first["seconds"] / one["seconds"],
            sum(one["worked"]),
            max(one["worked"]),
        ]
        for count, one in found.items()
    ]
    rows.append([f"{MANY}, of a core each", None, predicted(MANY, MANY), None, None, None])
    measured, estimated = rows[len(WORKERS) - 1][1:3]
    off = max(measured, estimated) / min(measured, estimated)
    verdict = harness.against(off, TARGETS["four workers"], at_least=False)
    return {
        "title": "Workers of a cluster",
        "summary": [
            f"{restarts} random restarts of the sample “{SAMPLE}” at each rank from {ranks[0]} to "
            f"{ranks[-1]}, {BLOCK} in a step, until they converge, on workers of one thread, "
            f"processes of this machine, which has {cores} cores: more workers than that share "
            "them. Workers have the program loaded and have made a step before. The prediction "
            "is from the parts that were measured with one worker, and takes "
            "sending to be one worker after the other: "
            f"{1000 * first['handling']:.2g} ms of handling a step, "
            f"{1000 * first['sending']:.2g} ms of sending a problem with its X to a worker, "
            f"{sum(first['worked']):.3g} s of work. At {WORKERS[-1]} workers what is predicted and "
            f"what is measured differ by a factor of {off:.2f} (target {verdict['target']}: "
            f"{part(verdict['part'])}). Factorizations are the same bits on all of them: "
            f"{'yes' if len({result['sum'] for result in found.values()}) == 1 else 'no'}.",
        ],
        "tables": [{"title": "Ranks × restarts", "columns": COLUMNS, "rows": rows}],
        "raw": {str(count): result for count, result in found.items()},
    }


def timed_restart(problem: Problem, shard: Shard) -> tuple[Solved, float]:
    """One block of restarts, and its processor time in seconds."""
    began = time.thread_time()
    return solve_block(problem, shard), time.thread_time() - began


def nothing(problem: Problem, shard: Shard) -> None:
    """A step that receives its inputs but does no work."""


def _study(workers: int, ranks: range, restarts: int) -> dict[str, Any]:
    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            memory_limit=0,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        open_executor(cluster.scheduler_address) as executor,
    ):
        _all(executor, timed_restart, _steps(range(2, 3), 4 * BLOCK * workers))  # warm up
        steps = _steps(ranks, restarts)
        sent = harness.seconds(lambda: _all(executor, nothing, steps[:: len(steps) // len(ranks)]))
        handled = harness.seconds(lambda: _all(executor, nothing, steps))
        fresh, made = _steps(ranks, restarts), []
        seconds = harness.seconds(lambda: made.extend(_all(executor, timed_restart, fresh)))
    handling = handled / len(steps)
    return {
        "seconds": seconds,
        "handling": handling,
        "sending": max(sent / len(ranks) - handling, 0.0) / workers,
        "worked": [worked for _, worked in made],
        "sum": float(np.sum([A.sum() + W.sum() for (A, W, _), _ in made])),
    }


def _steps(ranks: range, restarts: int) -> list[tuple[Problem, Shard]]:
    """Blocks of restarts; those of a rank share a problem that no worker has yet."""
    data = harness.dataset(SAMPLE)
    problems = [Problem(data, gaussian.MODEL, gaussian.Settings(), rank) for rank in ranks]
    return [(problem, shard) for problem in problems for shard in shards(restarts, seed=0)]


def _all(
    executor: Executor,
    function: Callable[..., Any],
    steps: list[tuple[Problem, Shard]],
) -> list[Any]:
    with Tasks(executor, None, None, len(steps)) as tasks:
        return tasks.make(function, steps)


if __name__ == "__main__":
    harness.main(measure)
