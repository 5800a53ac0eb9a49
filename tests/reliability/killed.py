"""Work that is killed at any moment, again and again; run as a program of its own.

``python -m tests.reliability.killed FOLDER TRIES SEED [FAULT]`` prints one line of JSON. Every
piece of work is made by a child process, which is sent SIGKILL after a time that chance decides;
another child then looks at what is on the disk, and a third one goes on with it. FAULT: what is
planted, to see that it is counted, see ``PLANTED``.
"""

import json
import os
import pickle
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import BNMFError, RunError, StoreError
from bnmf_core.data.synthetic import low_rank
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs import engine
from bnmf_core.store import folders
from bnmf_core.store.checkpoint import Checkpoint
from tests.same import assert_same
from tests.suited import BRIEF, model_of, suited

DATA = low_rank(20, 30, 3, noise=0.05, rng=np.random.default_rng(0))
# Particles of a run: as many as keep it at work for so many seconds.
FEWEST, MOST, LONG_ENOUGH = 60, 4000, 0.5
# Seconds of processor time within which a child is killed, the shortest and the longest.
SOONEST, LATEST = 0.01, 1.2
# Of runs: how long they go on until then, and what a child does before its run begins.
LONGEST_RUN, BEFORE = 1.5, 0.3
PATIENCE = 120.0


class LossError(Exception):
    """What was reported is not there."""


class WaitError(Exception):
    """What was begun does not end."""


# What each error of a child is counted as; any other is a traceback.
COUNTED_AS = {"LossError": "losses", "AssertionError": "silent changes", "WaitError": "hangs"}


class ChildError(Exception):
    """An error in a child: how it counts, and its words."""


def in_child(work: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What work gives, made by a child process; an error of it is raised here."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            answer = ("made", work())
        except BaseException as error:
            kind = COUNTED_AS.get(type(error).__name__, "tracebacks")
            answer = ("raised", (kind, f"{type(error).__name__}: {error}"))
        with os.fdopen(writing, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        kind, value = pickle.load(file)
    os.waitpid(process, 0)
    if kind == "raised":
        raise ChildError(*value)
    return value


def worked(process: int) -> float:
    """Seconds of processor time that a process has had: on a busy machine they pass slowly."""
    told = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    if told[0] == "Z":  # it has come to its end by itself
        return float("inf")
    return (int(told[11]) + int(told[12])) / os.sysconf("SC_CLK_TCK")


def killed(work: Callable[[Callable[[str], None]], None], seconds: float) -> list[str]:
    """Kill a child after so much processor time; what it had told as done by then."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        work(lambda line: os.write(writing, f"{line}\n".encode()))
        os._exit(0)
    os.close(writing)
    began = time.monotonic()
    while worked(process) < seconds and time.monotonic() < began + PATIENCE:
        time.sleep(0.003)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    with os.fdopen(reading) as file:
        return file.read().split()


class Runs:
    """Runs that were reported to have so many particles have them, and are resumed to the bit."""

    def __init__(self, root: Path, key: str) -> None:
        model = model_of(key)
        self.dataset = suited(DATA, model)
        seconds, particles = 0.0, FEWEST
        while seconds < LONG_ENOUGH and particles <= MOST:  # else it would end before it is killed
            settings = BRIEF.get(key, {})
            self.spec = RunSpec(key, rank=3, model=model, particles=particles, settings=settings)
            self.whole = in_child(lambda: engine.run(self.dataset, self.spec))
            seconds, particles = self.whole.info["run_seconds"], 4 * particles
        self.longest = min(1.2 * seconds, LONGEST_RUN) + BEFORE

    def work(self, root: Path, tell: Callable[[str], None]) -> None:
        runner = JobRunner(RunStore(root))
        for run_id in runner.start(self.dataset, [self.spec]):
            tell(run_id)
        while True:
            for run in runner.store.runs():
                tell(f"{run.id}:{run.done}")
            time.sleep(0.01)

    def check(self, root: Path, told: list[str]) -> dict[str, int]:
        store, reported = RunStore(root), {}
        for line in told:
            run_id, _, done = line.partition(":")
            reported[run_id] = max(int(done or 0), reported.get(run_id, 0))
        for run_id, done in reported.items():
            if not done:
                continue
            try:
                there = store.particles(run_id)
            except StoreError as error:
                raise LossError(f"{run_id} is gone: {error}") from error
            if there.M < done:
                raise LossError(f"{run_id}: {there.M} of {done} that were reported")
            assert_same(there, self.whole.subset(np.searchsorted(self.whole.ids, there.ids)))
        return {"particles": sum(reported.values())}

    def go_on(self, root: Path) -> int:
        resumed = 0
        with closing(JobRunner(RunStore(root))) as runner:
            ids = [run.id for run in runner.store.runs() if run.status == "interrupted"]
            for run_id in ids:
                runner.resume(run_id)
            try:
                runner.wait(ids, PATIENCE)
            except RunError as error:
                raise WaitError(str(error)) from error
            for run in runner.store.runs():
                if run.status != "complete":
                    raise LossError(f"{run.id} is {run.status}: {run.message}")
                assert_same(runner.store.particles(run.id), self.whole)
                resumed += run.id in ids
        return resumed


class Analyses:
    """A comparison that was broken off is made again, and says the same."""

    def __init__(self, root: Path) -> None:
        self.longest = LATEST
        self.made = root / "made"
        in_child(self._make)
        whole = root / "whole"
        shutil.copytree(self.made, whole)
        self.labels = in_child(lambda: self._labels(whole))

    def _make(self) -> None:
        with closing(JobRunner(RunStore(self.made))) as runner:
            specs = [RunSpec("random_restarts", rank=3, particles=20, seed=seed) for seed in (0, 1)]
            run_ids = runner.start(laurberg("two", noise=0.01), specs)
            runner.wait(run_ids)
        shutil.rmtree(self.made / "analyses", ignore_errors=True)

    def _labels(self, root: Path) -> list[int]:
        with closing(JobRunner(RunStore(root))) as runner:
            # Later stages are not reached before the kill.
            run_ids = [run.id for run in runner.store.runs()]
            found = runner.wait_analysis(run_ids, "structure", "stein", "quality")
            from bnmf_core.analysis import structure  # noqa: PLC0415

            distances = np.asarray(structure.STAGE.of(found).linkage("max_angle"))
            return [*np.round(distances, 9).ravel()]

    def work(self, root: Path, tell: Callable[[str], None]) -> None:
        self._copy_to(root)
        self._labels(root)

    def check(self, root: Path, told: list[str]) -> dict[str, int]:
        if not root.exists():
            self._copy_to(root)
        return {}

    def _copy_to(self, root: Path) -> None:
        """All runs or none: half a store is not what a killed program leaves."""
        whole = Path(tempfile.mkdtemp(dir=root.parent)) / root.name
        shutil.copytree(self.made, whole)
        whole.rename(root)

    def go_on(self, root: Path) -> int:
        assert self._labels(root) == self.labels
        return 0


class Studies:
    """A study of ranks goes on from what it kept, to the same numbers."""

    def __init__(self, root: Path) -> None:
        self.dataset, self.longest = DATA, LATEST
        self.question = RankQuestion(self.dataset.hash, (1, 2, 3), restarts=4)
        self.table = in_child(lambda: self._make(root / "whole"))

    def _make(self, root: Path) -> list[Any]:
        work = RankWork(root, self.question, self.dataset)
        work.make(lambda part, stage: None, lambda: False)
        stored = json.loads((work.folder / "study.json").read_text())
        return [stored["table"]]

    def work(self, root: Path, tell: Callable[[str], None]) -> None:
        self._make(root)

    def check(self, root: Path, told: list[str]) -> dict[str, int]:
        return {}

    def go_on(self, root: Path) -> int:
        assert json.dumps(self._make(root)) == json.dumps(self.table)
        return 0


class Imports:
    """Data that were reported as taken are there."""

    def __init__(self, root: Path) -> None:
        self.longest = LATEST

    def work(self, root: Path, tell: Callable[[str], None]) -> None:
        store = RunStore(root)
        for seed in range(1000):
            rng = np.random.default_rng(seed)
            tell(store.add_dataset(low_rank(60, 80, 3, noise=0.1, rng=rng)))

    def check(self, root: Path, told: list[str]) -> dict[str, int]:
        store = RunStore(root)
        for dataset_id in told:
            try:
                assert store.dataset(dataset_id).hash == dataset_id
            except BNMFError as error:
                raise LossError(str(error)) from error
        return {"datasets": len(told)}

    def go_on(self, root: Path) -> int:
        return 0


# Runs of every algorithm, and as many of the others as of half of them together.
OTHERS = {"analyses": Analyses, "studies": Studies, "imports": Imports}


def kinds_of(tries: int) -> list[str]:
    """What is killed, in turn: of five, two are runs, each of the next algorithm."""
    algorithms = cycle(sorted(ALGORITHMS))
    turns = cycle(["run", "analyses", "run", "studies", "imports"])
    return [next(algorithms) if turn == "run" else turn for turn in islice(turns, tries)]


def main(folder: str, tries: int, seed: int, fault: str = "") -> dict[str, Any]:
    """Kill so often; what was counted."""
    rng, keys = np.random.default_rng(seed), kinds_of(tries)
    if fault:
        keys = ["gibbs", "random_restarts"] * (tries // 2)
    counted: dict[str, Any] = {"tried": {}, "faults": [], "resumed": 0}
    kinds: dict[str, Any] = {}
    for key in dict.fromkeys(keys):
        place = Path(folder) / key
        place.mkdir(parents=True)
        kinds[key] = OTHERS[key](place) if key in OTHERS else Runs(place, key)
    if fault:
        PLANTED[fault]()
    for number, key in enumerate(keys):
        kind, root = kinds[key], Path(folder) / f"try{number}"
        seconds = float(rng.uniform(SOONEST, kind.longest))
        told = killed(lambda tell, kind=kind, root=root: kind.work(root, tell), seconds)
        try:
            found = in_child(lambda kind=kind, root=root, told=told: kind.check(root, told))
            counted["resumed"] += in_child(lambda kind=kind, root=root: kind.go_on(root))
        except ChildError as error:
            counted["faults"].append([error.args[0], f"try {number}, {key}: {error.args[1]}"])
            found = {}
        counted["tried"][key] = counted["tried"].get(key, 0) + 1
        for name, count in found.items():
            counted[name] = counted.get(name, 0) + count
        shutil.rmtree(root, ignore_errors=True)
    return counted


def _lose_chunks() -> None:
    """Chunks are reported and not written."""
    save = folders.FolderSink.save

    def saved(self: folders.FolderSink, shard: Shard, checkpoint: Checkpoint, _: object) -> None:
        save(self, shard, checkpoint, None)

    folders.FolderSink.save = saved


def _forget_generators() -> None:
    """A run that is resumed draws other numbers."""
    engine.restore_generator = lambda state: np.random.default_rng(99)


def _break_reading() -> None:
    """What is stored cannot be read."""

    def particles(self: RunStore, run_id: str) -> Any:
        raise ZeroDivisionError("planted")

    RunStore.particles = particles


def _resume_nothing() -> None:
    """A run that is resumed waits for ever."""
    global PATIENCE
    PATIENCE = 2.0
    JobRunner.resume = lambda self, run_id: self.store.life.resume(run_id)


PLANTED = {
    "losses": _lose_chunks,
    "silent changes": _forget_generators,
    "tracebacks": _break_reading,
    "hangs": _resume_nothing,
}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), *sys.argv[4:5])))
