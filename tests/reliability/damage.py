"""A store with every sort of file, what is read from it, and what disks do to files."""

import contextlib
import io
import json
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore
from bnmf_core.analysis import ranks, structure
from bnmf_core.analysis.stages import STAGES
from bnmf_core.cli import main
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.particles import ARRAYS, NAMED
from bnmf_core.findings.answer import Answer
from bnmf_core.runs import engine, planning
from bnmf_core.store import files, folders, health, manifest
from bnmf_core.store.lost import bring_back, lost_runs
from bnmf_core.store.shares import Shares

SPECS = [
    RunSpec("random_restarts", rank=3, particles=12),
    RunSpec("gibbs", rank=3, particles=12, settings={"warm_up": 5, "thinning": 1}),
]
BROKEN_OFF = [
    RunSpec("random_restarts", 2, particles=6, settings={"block": 2}),
    RunSpec("random_restarts", 2, particles=6, settings={"block": 2}, seed=1),
]
# What an analysis notes of itself, which is no result.
TIMES = ("seconds", "when", "files", "repaired")
EXACT = 1e-9
# Sorts of files, by where they lie.
SORTS = {
    "list": "index.sqlite",
    "log of the list": "index.sqlite-wal",
    "data": "datasets/*/*",
    "entries": "runs/*/run.json",
    "plans": "runs/*/plan.json",
    "chunks": "runs/*/chunk-*",
    "checkpoints": "runs/*/checkpoint-*",
    "arrays": "runs/*/particles/*",
    "particles": "runs/*/particles.json",
    "notes": "notes/*/*/*",
    "links": "shares/*",
    "rank studies": "ranks/*/*/*",
    "comparisons": "analyses/*/*.json",
}


class Refused(str):
    """A sentence in the place of what cannot be shown."""


@dataclass(frozen=True)
class Whole:
    """A store, the ids of its runs and data, and what is read, computed and made of it."""

    root: Path
    compared: tuple[str, ...]
    broken_off: tuple[str, ...]
    dataset: str
    stages: tuple[str, ...]
    held: Mapping[str, Any]
    computed: Mapping[str, Any]
    resumed: Mapping[str, Any]


def made(root: Path, stages: Sequence[str] = tuple(STAGES)) -> Whole:
    """Two runs and what these stages say of them, two broken off, names, links, rank studies."""
    told = root.with_name("ids.json")
    process = os.fork()
    if process == 0:  # it ends as if it were killed: the log of the list stays
        told.write_text(json.dumps(_make(root, stages)))
        os._exit(0)
    os.waitpid(process, 0)
    (root / "index.sqlite-shm").unlink()
    compared, broken_off, dataset = json.loads(told.read_text())
    found = Whole(root, tuple(compared), tuple(broken_off), dataset, tuple(stages), {}, {}, {})
    read, computed, resumed = (
        act(_copy(root, root.with_name(act.__name__)), found) for act in (read_all, compute, resume)
    )
    return replace(found, held=read, computed=computed, resumed=resumed)


def _copy(root: Path, to: Path) -> Path:
    return Path(shutil.copytree(root, to))


def _make(root: Path, stages: Sequence[str]) -> tuple[list[str], list[str], str]:
    rng = np.random.default_rng(5)
    kind = np.arange(18) % 3
    W = rng.gamma(1.0, 0.2, (3, 18)) + 2.0 * (np.arange(3)[:, None] == kind)
    X = rng.gamma(1.0, 1.0, (8, 3)) @ W + 0.05 * rng.random((8, 18))
    data = Dataset.from_array(X, name="Labelled", labels={"kind": kind})
    store = RunStore(root)
    with closing(JobRunner(store)) as runner:
        compared = runner.start(data, SPECS)
        runner.wait_analysis(compared, *stages, timeout=600)
    dataset = store.run(compared[0]).dataset
    broken_off = [_broken_off(store, data, BROKEN_OFF[0])]
    A = store.particles(compared[0]).A
    store.notes.keep(dataset, "mode", A[0], "a name", "what it is")
    store.notes.keep(dataset, "component", A[0][:, 0], "another name")
    store.notes.keep_on_runs(compared, "what was noted")
    store.notes.keep_on_runs(compared[:1], "what was noted on one")
    for run_ids in (compared, compared[:1]):
        Shares(root / "shares").make("local", run_ids, "shown")
    for count in (3, 4):
        asked = ranks.RankQuestion(dataset, (1, 2, 3), restarts=count)
        ranks.RankWork(root, asked, data).make(lambda part, stage: None, lambda: False)
    with store.database.connect() as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    broken_off.append(_broken_off(store, data, BROKEN_OFF[1]))
    return compared, broken_off, dataset


def _broken_off(store: RunStore, data: Dataset, spec: RunSpec) -> str:
    """A run of which some shards are made, one is half made, and the rest is not begun."""
    claim = store.life.enter(data.hash, spec)
    plan = planning.make_plan(data, spec)
    sink = folders.FolderSink(store.run_folder(claim.run_id))
    sink.write_plan(planning.describe(plan), [shard.start for shard in plan.shards])
    made = 0
    for shard in plan.shards[:2]:
        checkpoint, chunks = None, 0
        while chunks < 2 and (checkpoint is None or checkpoint.produced < shard.size):
            checkpoint, chunk = engine.advance(plan, shard, checkpoint)
            sink.save(shard, checkpoint, chunk)
            chunks += chunk is not None
            made += 0 if chunk is None else chunk.size
    store.life.begin(claim)
    store.life.end(claim, "cancelled", done=made)
    return claim.run_id


def _tried(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except BNMFError as error:
        return Refused(str(error))


def read_all(root: Path, whole: Whole) -> dict[str, Any]:
    """All that a store holds but what is computed; sentences where something cannot be shown."""
    store = RunStore(root)
    found: dict[str, Any] = {"said": [one.said for one in health.of_list(store)]}
    if lost_runs(store):
        found["said"] += bring_back(store).failures
    for run_id in (*whole.compared, *whole.broken_off):
        found[f"run {run_id}"] = _tried(lambda run_id=run_id: _run(store, run_id))
    found["data"] = _tried(lambda: _data(store, whole.dataset))
    notes = store.notes
    found["notes"] = sorted([n.name, n.text, n.A.tolist()] for n in notes.of(whole.dataset))
    found["said"] += filter(None, [notes.damaged(whole.dataset)])
    for count in (1, 2):
        ids = whole.compared[:count]
        found[f"note on {count}"] = _tried(lambda ids=ids: notes.on_runs(ids))
    found["links"] = sorted(share.run_ids for share in Shares(root / "shares").of("local"))
    found["studies"] = {
        str(asked.restarts): _tried(lambda asked=asked: _study(root, whole.dataset, asked.key))
        for asked in ranks.answered(root, whole.dataset)
    }
    found["said"] += ranks.damaged(root, whole.dataset)
    return found


def _run(store: RunStore, run_id: str) -> dict[str, Any]:
    record, particles = store.run(run_id), store.particles(run_id)
    said = [one.said for one in health.of_run(store, record)]
    return {
        "spec": record.spec.to_dict(),
        "status": record.status,
        "made": record.done,
        "ids": np.array(particles.ids),
        "said": said,
        **{name: np.array(getattr(particles, name)) for name in ARRAYS},
        **{kind: {k: np.array(v) for k, v in getattr(particles, kind).items()} for kind in NAMED},
    }


def _data(store: RunStore, dataset: str) -> list[Any]:
    store.verify_dataset(dataset)
    data = store.dataset(dataset)
    return [data.dense(), data.name, data.features, data.observations, dict(data.labels)]


def _study(root: Path, dataset: str, key: str) -> list[Any]:
    study = ranks.read(root / ranks.FOLDER / dataset / key)
    return [study.table.to_dict("list"), {str(k): v for k, v in study.best.items()}, study.noise]


def compute(root: Path, whole: Whole) -> dict[str, Any]:
    """What is computed of the runs, damaged parts of it again: numbers, findings, the document."""
    with closing(JobRunner(RunStore(root))) as runner:
        found = _tried(lambda: runner.wait_analysis(whole.compared, *whole.stages, timeout=600))
    if isinstance(found, Refused):
        return {"refused": found}
    modes = structure.modes_at(
        found, "max_angle", structure.suggested_threshold(found, "max_angle")
    )
    answer = Answer(found, "max_angle", modes)
    stored = {
        str(path.relative_to(found.folder)): _numbers(path)
        for stage in map(STAGES.get, whole.stages)
        for path in sorted(stage.folder(found).rglob("*"))
        if path.suffix in (".npy", ".npz", ".json") and path.name != manifest.DONE
    }
    mass = ["--mass"] * ("evidence" in whole.stages)
    code, told = asked(root, "metrics", *whole.compared, *mass, "--json")
    document = json.loads(told) if code == 0 else {}
    document.pop("repaired", None)
    return stored | {
        "findings": [finding.plain() for finding in answer.findings],
        "withheld": answer.withheld,
        "metrics": [code, document],
    }


def asked(root: Path, *words: str) -> tuple[int, str]:
    """The exit code of a command, and what it says."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*words, "--store", str(root)])
    return code, out.getvalue()


def _numbers(path: Path) -> Any:
    """What a file of results holds, without what it notes of its making."""
    if path.suffix == ".npy":
        return np.array(files.read_array(path))
    if path.suffix == ".npz":
        return files.read_arrays(path)
    return _untimed(files.read_json(path))


def _untimed(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _untimed(one) for key, one in value.items() if key not in TIMES}
    return [_untimed(one) for one in value] if isinstance(value, list) else value


def resume(root: Path, whole: Whole) -> dict[str, Any]:
    """What becomes of the runs that were broken off."""
    found = {}
    with closing(JobRunner(RunStore(root))) as runner:
        for run_id in whole.broken_off:

            def go_on(run_id: str = run_id) -> dict[str, Any]:
                runner.resume(run_id)
                runner.wait([run_id], 300)
                record = runner.store.run(run_id)
                if record.status != "complete":
                    return Refused(record.message)
                run = _run(runner.store, run_id)
                return {name: run[name] for name in ("spec", "A", "W", "log_joint", "error")}

            found[run_id] = _tried(go_on)
    return found


def same(one: Any, other: Any) -> bool:
    """Whether values are the same, numbers to what sums in another order leave."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if not isinstance(one, np.ndarray | float | int) or not isinstance(
        other, np.ndarray | float | int
    ):
        return bool(type(one) is type(other) and one == other)
    ours, theirs = np.asarray(one), np.asarray(other)
    if ours.shape != theirs.shape or ours.dtype.kind != theirs.dtype.kind:
        return False
    if ours.dtype.kind == "f":
        return bool(np.allclose(ours, theirs, rtol=EXACT, atol=EXACT, equal_nan=True))
    return bool((ours == theirs).all())
