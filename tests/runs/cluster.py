"""A dask scheduler and its workers as processes of their own, for tests that lose some of them."""

import json
import subprocess
import sys
import time
from pathlib import Path

from bnmf_core.core.errors import SchedulerError
from bnmf_core.runs.executors import open_executor

ROOT = Path(__file__).resolve().parents[2]


def wait_until(true, timeout=30.0):
    end = time.monotonic() + timeout
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.01)


class Cluster:
    """A scheduler on 127.0.0.1; workers of one thread are added and killed.

    ``options`` : further ones of the scheduler.
    """

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen] = []
        told = folder / "scheduler.json"
        self.scheduler = self._start("scheduler", "--port", "0", "--scheduler-file", told, *options)
        end = time.monotonic() + 30
        while not told.exists() or not told.read_text().strip():
            assert time.monotonic() < end and self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(told.read_text())["address"]

    def add_worker(self, memory: str = "0") -> subprocess.Popen:
        """One that may take so much memory, as "300MB"; "0" for as much as there is."""
        return self._start(
            "worker",
            self.address,
            "--nthreads",
            "1",
            "--no-nanny",
            "--local-directory",
            self.folder,
            "--worker-port",
            "0",
            "--memory-limit",
            memory,
        )

    def open(self, threads: int):
        """An executor, once this many workers have come."""
        end = time.monotonic() + 60
        while True:
            assert time.monotonic() < end
            try:
                executor = open_executor(self.address)
            except SchedulerError:
                time.sleep(0.1)
                continue
            if executor.at_once == threads:
                return executor
            executor.shutdown()
            time.sleep(0.1)

    def close(self) -> None:
        for process in self.processes:
            process.kill()
            process.wait()

    def _start(self, what: str, *arguments) -> subprocess.Popen:
        command = [sys.executable, "-m", "dask", what, "--host", "127.0.0.1", "--no-dashboard"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.processes.append(process)
        return process
