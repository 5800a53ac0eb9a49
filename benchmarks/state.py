"""Whether the machine was idle during a measurement: load of other processes, and speed."""

import os
import resource
import time
from dataclasses import dataclass

import numpy as np
import psutil

from benchmarks.kernels import SIZE, product_rate

# Largest part of all cores that other processes use in a recorded measurement.
FREE = 0.1
WATCHED = 2.0  # seconds


@dataclass(frozen=True)
class State:
    """others : part of all cores that other processes use. rate : GFLOP/s of products, all cores.

    wall, processor : seconds so far, the latter with those of processes that have ended.
    """

    others: float
    rate: float
    wall: float
    processor: float

    @property
    def busy(self) -> bool:
        """Whether other processes disturb the measurement."""
        return self.others > FREE


def now() -> State:
    """The state of the machine; takes a few seconds, in which this process rests."""
    others = psutil.cpu_percent(WATCHED) / 100.0
    rate = product_rate(np.float32, os.cpu_count() or 1, SIZE, 7)
    return State(others, rate, time.perf_counter(), _processor_time())


def describe(before: State, after: State) -> str:
    """Describe the machine between two states."""
    wall, processor = after.wall - before.wall, after.processor - before.processor
    return (
        f"It took {wall / 60:.1f} minutes, and {processor / 60:.1f} of processor time. Products "
        f"{SIZE}×{SIZE} in float32 on all cores: {before.rate:.0f} GFLOP/s before and "
        f"{after.rate:.0f} after; other programs used {before.others:.0%} of the cores before and "
        f"{after.others:.0%} after."
    )


def _processor_time() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime
