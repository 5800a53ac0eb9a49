"""One run over blocks, in its own process: ``python -m benchmarks.scale_point``.

Reads a JSON object {path, model, N, good_enough, two_workers, compared} on standard input, and
prints another: passes, seconds, seconds per pass, peak memory and its part in mapped
files; with ``two_workers`` their efficiency against one, and with ``compared`` how far above a
run in memory it ended.
"""

import json
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.scale import PARTICLES, RANK
from bnmf_core import Dataset, RunSpec, run
from bnmf_core.blocks.whole import in_blocks
from bnmf_core.core.spec import Progress

STATUS = Path("/proc/self/status")
LOOK_EVERY = 0.02


class Peak(threading.Thread):
    """The largest resident memory, and how much of it was files, in GB."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.ended = threading.Event()
        self.whole = self.files = 0.0

    def run(self) -> None:
        """Poll the memory until the run has ended."""
        while not self.ended.wait(LOOK_EVERY):
            status = dict(line.split(":", 1) for line in STATUS.read_text().splitlines())
            sizes = {key: int(status[key].split()[0]) / 1e6 for key in ("VmRSS", "RssFile")}
            if sizes["VmRSS"] > self.whole:
                self.whole, self.files = sizes["VmRSS"], sizes["RssFile"]


def measure(options: dict[str, Any]) -> dict[str, Any]:
    """The run, a pass by one worker, and the same in memory."""
    _compile(options["model"])
    spec = _spec(options)
    began: dict[str, float] = {}

    def note(progress: Progress) -> None:
        began.setdefault(progress.stage.split(":")[0], time.perf_counter())

    peak = Peak()
    peak.start()
    start = time.perf_counter()
    data = in_blocks(options["path"])
    found = run(data, spec, on_progress=note)
    end = time.perf_counter()
    peak.ended.set()
    passes = [key for key in began if key.startswith("Pass")]
    each = (end - began[passes[0]]) / len(passes)
    fields: dict[str, Any] = {
        "N": data.whole.N,
        "bytes": Path(options["path"]).stat().st_size,
        "passes": len(passes),
        "pass": each,
        "seconds": end - start,
        "peak": peak.whole,
        "mapped": peak.files,
        "error": float(found.error.min()),
        "kkt": float(np.nanmax(found.kkt)),
        "converged": bool(found.diagnostics["converged"].all()),
    }
    if options.get("two_workers"):
        fields["efficiency"] = _efficiency(data, options["model"])
    if options.get("compared"):
        fields["nats"] = _nats_above_memory(data, options, found.error.min())
    return fields


def _spec(options: dict[str, Any], **settings: Any) -> RunSpec:
    if "good_enough" in options:
        settings |= {"good_enough": options["good_enough"]}
    return RunSpec("random_restarts", RANK, options["model"], PARTICLES, settings=settings)


def _compile(model: str) -> None:
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "small"
        X = rng.poisson(1.0, (400, 30)).astype(np.float32)
        np.save(path.with_suffix(".npy"), X)
        sparse.save_npz(path.with_suffix(".npz"), sparse.csr_array(X), compressed=False)
        for suffix in (".npy", ".npz"):
            run(in_blocks(path.with_suffix(suffix)), RunSpec("random_restarts", 3, model, 2))


def _efficiency(data: Dataset, model: str) -> float:
    """Seconds of two passes with one worker, over twice those with two, in turn."""
    times: dict[int, list[float]] = {1: [], 2: []}
    spec = _spec({"model": model}, max_iterations=10, good_enough=1.0)
    for _ in range(2):
        for threads, of_these in times.items():
            began: list[float] = []

            def note(progress: Progress, began: list[float] = began) -> None:
                if progress.stage.startswith("Pass") and not began:
                    began.append(time.perf_counter())

            with ThreadPoolExecutor(threads) as workers:
                run(data, spec, on_progress=note, executor=workers)
            of_these.append(time.perf_counter() - began[0])
    return min(times[1]) / (2 * min(times[2]))


def _nats_above_memory(data: Dataset, options: dict[str, Any], error: float) -> float:
    """Nats of the best factorization here above that of a run in memory."""
    path = Path(options["path"])
    X = sparse.load_npz(path).tocsr().T if path.suffix == ".npz" else np.load(path).T
    whole = Dataset.from_array(X.astype(np.float64))
    best = run(whole, _spec(options)).error.min()
    if options["model"] == "gaussian":
        return float(np.log(error / best) * whole.D * whole.N)
    from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER  # noqa: PLC0415

    f = [float(KULLBACK_LEIBLER.unmeasured(whole, np.array(e))) for e in (error, best)]
    return f[0] - f[1]


if __name__ == "__main__":
    print(json.dumps(measure(json.load(sys.stdin))))
