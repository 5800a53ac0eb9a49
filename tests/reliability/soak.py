"""Runs and comparisons, one after the other in one process; run as a program of its own.

``python -m tests.reliability.soak FOLDER RUNS COMPARISONS`` prints one line of JSON: handles,
threads and megabytes after a fifth of the work, and at its end.
"""

import gc
import json
import os
import sys
import threading
from contextlib import closing
from pathlib import Path

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import posterior

SPEC = RunSpec("random_restarts", rank=3, particles=3)
AT_ONCE = 10


def held() -> dict[str, float]:
    """What the process holds now."""
    gc.collect()
    told = Path("/proc/self/status").read_text()
    return {
        "handles": len(os.listdir("/proc/self/fd")),
        "threads": threading.active_count(),
        "megabytes": int(told.split("VmRSS:")[1].split()[0]) / 1e3,
    }


def main(folder: str, runs: int, comparisons: int) -> list[dict[str, float]]:
    """Work, and say twice what is held."""
    data, made, found = laurberg("two", noise=0.01), [], []
    posterior.LONGEST = posterior.SHORTEST  # no chains that wait long for what they cannot reach
    with closing(JobRunner(RunStore(folder))) as runner:
        dataset_id = runner.store.add_dataset(data)
        rounds = max(runs // AT_ONCE, 1)
        for number in range(rounds):
            ids = runner.start(dataset_id, [SPEC] * AT_ONCE)
            runner.wait(ids, timeout=300)
            made += ids
            if number % max(rounds * AT_ONCE // max(comparisons, 1) // AT_ONCE, 1) == 0:
                for i in range(max(comparisons // rounds, 1)):
                    runner.wait_analysis([ids[i % AT_ONCE]], timeout=300)
            if number == rounds // 5:
                found.append(held())
            assert len(runner.store.runs()) == len(made)
    return [*found, held()]


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
