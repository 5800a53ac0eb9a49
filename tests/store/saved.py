"""Runs stored at once, and files that are damaged."""

from bnmf_core.core.spec import RunSpec
from bnmf_core.runs import engine, planning
from bnmf_core.runs.planning import describe
from bnmf_core.store import folders
from bnmf_core.store.records import select, swap

SPEC = RunSpec("random_restarts", 2, particles=6, settings={"block": 2, "max_iterations": 20})


def save_run(store, dataset, spec=SPEC, final=True) -> str:
    """A run made at once, without a job runner."""
    claim = store.life.enter(store.add_dataset(dataset), spec)
    run_id = claim.run_id
    sink = folders.FolderSink(store.run_folder(run_id))
    plan = planning.make_plan(dataset, spec)
    starts = [shard.start for shard in plan.shards]
    sink.write_plan(describe(plan), starts)
    for shard in plan.shards:
        checkpoint = None
        while checkpoint is None or checkpoint.produced < shard.size:
            checkpoint, chunk = engine.advance(plan, shard, checkpoint)
            sink.save(shard, checkpoint, chunk)
    info = describe(plan) | {"stop_reason": "complete"}
    particles = engine.assemble(sink.chunks(), starts, spec, info)
    if final:
        folders.write_particles(store.run_folder(run_id), particles, final=True)
        store.life.end(claim, "complete", done=spec.particles)
    return run_id


def hurt(path, damage):
    """A file as a failing disk leaves it."""
    content = bytearray(path.read_bytes())
    if damage == "deleted":
        path.unlink()
    elif damage == "torn":
        path.write_bytes(content[:-200])
    else:
        content[len(content) // 3] ^= 1
        path.write_bytes(content)


def write(store, run_id, **values):
    """Change a run's entry as another process might have left it."""
    (record,), _ = select(store.database, store.owner, "AND id = ?", (run_id,))
    assert swap(store.database, record, **values)
