"""Work that is killed at any moment, again and again; run as a program of its own.

``python -m tests.reliability.killed FOLDER TRIES SEED`` prints one line of JSON. Every piece of
work is made by a child process, which is sent SIGKILL after a time that chance decides; another
child then looks at what is on the disk, and a third one goes on with it.
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
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from bnmf_core.data.synthetic import low_rank
from bnmf_core.runs import engine
from tests.same import assert_same

SPECS = [
    RunSpec("random_restarts", rank=3, particles=400),
    RunSpec("gibbs", rank=3, particles=600, settings={"chains": 2, "warm_up": 5, "thinning": 1}),
]
# Seconds of processor time within which a child is killed, the shortest and the longest.
SOONEST, LATEST = 0.01, 1.2
PATIENCE = 120.0


def in_child(work: Callable[[], Any], patience: float = PATIENCE) -> Any:
    """What work gives, made by a child process; an error of it is raised here."""
    reading, writing = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reading)
        try:
            answer = ("made", work())
        except BaseException as error:
            answer = ("raised", f"{type(error).__name__}: {error}")
        with os.fdopen(writing, "wb") as file:
            pickle.dump(answer, file)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        kind, value = pickle.load(file)
    os.waitpid(process, 0)
    if kind == "raised":
        raise AssertionError(value)
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

    def __init__(self, root: Path) -> None:
        self.dataset = low_rank(20, 30, 3, noise=0.05, rng=np.random.default_rng(0))
        self.whole = in_child(lambda: [engine.run(self.dataset, spec) for spec in SPECS])

    def work(self, root: Path, tell: Callable[[str], None]) -> None:
        runner = JobRunner(RunStore(root))
        for run_id in runner.start(self.dataset, SPECS):
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
            whole = self.whole[SPECS.index(store.run(run_id).spec)]
            if done:
                there = store.particles(run_id)
                assert there.M >= done, f"{run_id}: {there.M} of {done} that were reported"
                assert_same(there, whole.subset(there.ids))
        return {"particles": sum(reported.values())}

    def go_on(self, root: Path) -> int:
        resumed = 0
        with closing(JobRunner(RunStore(root))) as runner:
            ids = [run.id for run in runner.store.runs() if run.status == "interrupted"]
            for run_id in ids:
                runner.resume(run_id)
            runner.wait(ids, PATIENCE)
            for run in runner.store.runs():
                assert run.status == "complete", f"{run.id} is {run.status}: {run.message}"
                assert_same(runner.store.particles(run.id), self.whole[SPECS.index(run.spec)])
                resumed += run.id in ids
        return resumed


class Analyses:
    """A comparison that was broken off is made again, and says the same."""

    def __init__(self, root: Path) -> None:
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
        self.dataset = low_rank(20, 30, 3, noise=0.05, rng=np.random.default_rng(0))
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
        pass

    def work(self, root: Path, tell: Callable[[str], None]) -> None:
        store = RunStore(root)
        for seed in range(1000):
            rng = np.random.default_rng(seed)
            tell(store.add_dataset(low_rank(60, 80, 3, noise=0.1, rng=rng)))

    def check(self, root: Path, told: list[str]) -> dict[str, int]:
        store = RunStore(root)
        for dataset_id in told:
            assert store.dataset(dataset_id).hash == dataset_id
        return {"datasets": len(told)}

    def go_on(self, root: Path) -> int:
        return 0


KINDS = (Runs, Analyses, Studies, Imports)


def main(folder: str, tries: int, seed: int) -> dict[str, int]:
    """Kill so often; what was counted."""
    rng, counted = np.random.default_rng(seed), {"kills": 0, "resumed": 0}
    kinds = []
    for kind in KINDS:
        place = Path(folder) / kind.__name__
        place.mkdir(parents=True)
        kinds.append(kind(place))
    for number in range(tries):
        kind = kinds[number % len(kinds)]
        root = Path(folder) / f"try{number}"
        seconds = float(rng.uniform(SOONEST, LATEST))
        told = killed(lambda tell, kind=kind, root=root: kind.work(root, tell), seconds)
        try:
            found = in_child(lambda kind=kind, root=root, told=told: kind.check(root, told))
            counted["resumed"] += in_child(lambda kind=kind, root=root: kind.go_on(root))
        except AssertionError as error:
            raise AssertionError(f"try {number}, {type(kind).__name__}") from error
        counted["kills"] += 1
        for name, count in found.items():
            counted[name] = counted.get(name, 0) + count
        shutil.rmtree(root, ignore_errors=True)
    return counted


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
