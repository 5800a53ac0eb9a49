"""Stores whose disk has gone bad: what is shown is what was stored, or is said to be damaged."""

import shutil
from collections import Counter
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import structure
from bnmf_core.core.errors import BNMFError
from bnmf_core.store.lost import bring_back, lost_runs

SPECS = [
    RunSpec("random_restarts", rank=3, particles=12),
    RunSpec("gibbs", rank=3, particles=12, settings={"warm_up": 5, "thinning": 1}),
]
ARRAYS = ("A", "W", "log_joint", "error")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with two runs, their comparison and a note; and what it holds."""
    root = tmp_path_factory.mktemp("whole") / "store"
    with closing(JobRunner(RunStore(root))) as runner:
        store = runner.store
        run_ids = runner.start(laurberg("two", noise=0.01), SPECS)
        found = runner.wait_analysis(run_ids)
        A = store.particles(run_ids[0]).A[0]
        store.notes.keep(store.run(run_ids[0]).dataset, "mode", A, "a name")
        held = {
            "particles": {run_id: store.particles(run_id) for run_id in run_ids},
            "dataset": store.dataset(store.run(run_ids[0]).dataset),
            "linkage": np.array(structure.STAGE.of(found).linkage("max_angle")),
        }
    return root, held


def damaged(path: Path, rng: np.random.Generator) -> str:
    """Do to a file what disks do; which it was."""
    content = bytearray(path.read_bytes())
    kind = ("flip", "cut", "gone", "zeros")[rng.integers(4)]
    if kind == "gone" or not content:
        path.unlink()
        return "gone"
    at = int(rng.integers(len(content)))
    if kind == "flip":
        content[at] ^= 1 << int(rng.integers(8))
    elif kind == "cut":
        del content[at:]
    else:
        content[at : at + 512] = bytes(len(content[at : at + 512]))
    path.write_bytes(bytes(content))
    return kind


def looked_at(root: Path, held: dict, counted: Counter) -> None:
    """Open everything; whatever is shown is as it was, whatever else is said in a sentence."""
    store = RunStore(root)
    if lost_runs(store):
        bring_back(store)
        counted["brought back"] += 1
    for run_id, before in held["particles"].items():
        try:
            there = store.particles(run_id)
            run = store.run(run_id)
        except BNMFError:
            counted["refused"] += 1
            continue
        as_it_was = before.subset(there.ids)
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(there, name), getattr(as_it_was, name), name)
        assert there.M == before.M or there.info.get("damage") or run.status != "complete"
        counted["whole" if there.M == before.M else "in part"] += 1
    for dataset_id in store.datasets():
        try:
            store.verify_dataset(dataset_id)
            there = store.dataset(dataset_id)
            np.testing.assert_array_equal(there.dense(), held["dataset"].dense())
            assert there.features == held["dataset"].features
        except BNMFError:
            counted["refused"] += 1
    for note in (note for dataset_id in store.datasets() for note in store.notes.of(dataset_id)):
        assert note.name == "a name"
        np.testing.assert_array_equal(note.A, held["particles"][min_id(held)].A[0])


def min_id(held: dict) -> str:
    return next(iter(held["particles"]))


def compared(root: Path, held: dict) -> None:
    """The comparison is the one that was stored, or is made again of what is whole."""
    with closing(JobRunner(RunStore(root))) as runner:
        runs = [run for run in runner.store.runs() if run.id in held["particles"]]
        try:
            found = runner.wait_analysis([run.id for run in reversed(runs)], "structure")
            now = np.array(structure.STAGE.of(found).linkage("max_angle"))
        except BNMFError:
            return
        if len(runs) == len(SPECS) and len(now) == len(held["linkage"]):
            np.testing.assert_allclose(now, held["linkage"], atol=1e-9)


def tried(whole, folder: Path, count: int, seed: int) -> str:
    """Damage so many stores; what was counted, in words."""
    root, held = whole
    rng, counted = np.random.default_rng(seed), Counter()
    for number in range(count):
        copy = folder / "copy"
        shutil.copytree(root, copy)
        files = sorted(path for path in copy.rglob("*") if path.is_file())
        path = files[rng.integers(len(files))]
        kind = damaged(path, rng)
        try:
            looked_at(copy, held, counted)
            if number % 4 == 0:
                compared(copy, held)
        except Exception as error:
            where = path.relative_to(copy)
            raise AssertionError(f"store {number} of seed {seed}: {where} {kind}") from error
        counted[kind] += 1
        shutil.rmtree(copy)
    return (
        f"damaged stores: {count} opened (bits flipped {counted['flip']}, files cut "
        f"{counted['cut']}, gone {counted['gone']}, zeros {counted['zeros']}); runs shown whole "
        f"{counted['whole']}, in part and said {counted['in part']}, refused or data refused "
        f"{counted['refused']}; shown wrong 0"
    )


@pytest.mark.slow
def test_twenty_damaged_stores(whole, tmp_path, promise):
    promise(tried(whole, tmp_path, 20, seed=1))


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_two_hundred_damaged_stores(whole, tmp_path, promise):
    promise(tried(whole, tmp_path, 200, seed=2))
