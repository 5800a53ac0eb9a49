"""Whatever happens to a stored result on the disk: it is computed again, never read as it is."""

import shutil
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from bnmf_core.analysis import stages
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.spec import RunSpec
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store import files, manifest
from bnmf_core.store.run_store import RunStore

SPECS = [
    RunSpec("random_restarts", 2, particles=8, settings={"max_iterations": 200}),
    RunSpec("gibbs", 2, particles=8, settings={"warm_up": 5, "thinning": 1}),
]
# "begun" : flipped while the stage was not complete yet.
HARM = ("flipped", "cut", "gone", "empty", "begun")


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """A store with two runs and every stage of their comparison; the ids of the runs."""
    rng = np.random.default_rng(3)
    X = rng.exponential(size=(6, 2)) @ rng.exponential(size=(2, 12)) + 0.1 * rng.random((6, 12))
    data = Dataset.from_array(X, labels={"kind": ["one", "two"] * 6})
    root = tmp_path_factory.mktemp("stored") / "store"
    with closing(JobRunner(RunStore(root))) as runner:
        run_ids = runner.start(data, SPECS)
        runner.wait_analysis(run_ids)
    return root, run_ids


def contents(folder: Path) -> dict[str, object]:
    """What is in the files of a stage, by their names."""
    readers = {".json": files.read_json, ".npz": files.read_arrays, ".npy": files.read_array}
    return {
        path.name: readers[path.suffix](path)
        for path in sorted(folder.iterdir())
        if path.name != manifest.DONE
    }


def hurt(path: Path, how: str, at: int) -> None:
    """Flip a bit at a byte of a file, cut it off there, empty it or remove it."""
    content = bytearray(path.read_bytes())
    at %= len(content)
    if how == "gone":
        path.unlink()
    elif how in ("flipped", "begun"):
        content[at] ^= 1 << at % 8
        path.write_bytes(content)
    else:
        path.write_bytes(content[: 0 if how == "empty" else at])


# A file that is hurt before its stage is complete costs a computation: all of them only here.
EVERY_FILE = pytest.param("begun", 99, 60, marks=pytest.mark.long)


@pytest.mark.parametrize(
    ("how", "most", "least"), [*((how, 99, 60) for how in HARM[:-1]), ("begun", 1, 12), EVERY_FILE]
)
def test_every_file_of_every_stage_is_computed_again_and_is_what_it_was(
    stored, tmp_path, how, most, least, caplog
):
    """``most`` files of each stage are hurt, and together more than ``least``."""
    root, run_ids = shutil.copytree(stored[0], tmp_path / "store"), stored[1]
    rng, tried = np.random.default_rng(HARM.index(how)), 0
    # Every stage is made again where bits were flipped, and a third of them however else.
    again = {*STAGES} if how == "flipped" else {*list(STAGES)[HARM.index(how) % 3 :: 3]}
    for stage in STAGES.values():
        folder = stage.folder(open_comparison(RunStore(root), run_ids))
        held = contents(folder)
        paths = sorted(folder.iterdir())
        chosen = paths[rng.choice(len(paths))]
        rng.shuffle(paths)
        whole = shutil.copytree(folder, tmp_path / stage.key)
        for path in paths[:most]:
            comparison = open_comparison(RunStore(root), run_ids)
            assert stage.ready(comparison), stage.key
            caplog.clear()
            hurt(path, how, int(rng.integers(2**20)))
            if how == "begun":
                (folder / manifest.DONE).unlink()
            what = f"{stage.key}/{path.name} {how}"
            assert not stage.ready(comparison), what
            # Without its last file, nothing was complete.
            if how != "begun" and (how, path.name) != ("gone", manifest.DONE):
                assert manifest.damage(folder).files == (path.name,), what
                assert stage.label in caplog.text, what
            tried += 1
            # A complete stage is made again as a whole, whichever of its files is hurt; of one
            # that was begun the others are kept.
            if how != "begun" and (path != chosen or stage.key not in again):
                shutil.rmtree(folder)
                shutil.copytree(whole, folder)
                continue
            stages.compute(comparison, lambda part, what: None, lambda: False, [stage.key])
            np.testing.assert_equal(contents(folder), held, what)
            stage.of(comparison)
    assert tried > least
