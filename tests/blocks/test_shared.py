"""What is handed to others of data in blocks: archives, programs, methods; and opened from them."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.cli.sharing import STAGES
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import clean_name
from bnmf_core.core.spec import RunSpec
from bnmf_core.findings.answer import Answer
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share import archive, code, methods, opening
from bnmf_core.store.run_store import RunStore

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def made(tmp_path, runner: JobRunner):
    """A comparison of restarts of 900 observations, of which 100 are in memory."""
    rng = np.random.default_rng(1)
    np.save(tmp_path / "cells.npy", rng.random((900, 3)) @ rng.random((3, 12)))
    data = Dataset.from_blocks(tmp_path / "cells.npy", sample=100)
    run_ids = runner.start(data, [RunSpec("random_restarts", 3, particles=3)])
    runner.wait_analysis(run_ids, *STAGES)
    comparison = open_comparison(runner.store, run_ids)
    return comparison


def answer_of(comparison) -> Answer:
    from bnmf_core.analysis import structure  # noqa: PLC0415

    modes = structure.modes_at(comparison, "max_angle", 10.0)
    return Answer(comparison, "max_angle", modes)


@pytest.mark.slow
def test_an_archive_holds_the_sample_and_opens_no_path_of_somebody_else(made, tmp_path):
    answer = answer_of(made)
    archive.write(tmp_path / "made.zip", answer)
    other = RunStore(tmp_path / "other")
    opened = opening.open_archive(other, tmp_path / "made.zip", False)
    dataset_id = other.run(opened.run_ids[0]).dataset
    found = other.dataset(dataset_id)
    assert found.hash == made.dataset.hash and found.whole.N == 900 and not found.whole.path
    np.testing.assert_array_equal(found.X, made.dataset.X)
    np.testing.assert_array_equal(other.particles(opened.run_ids[0]).A, made.particles[0].A)
    # Whoever has the file opens it again, and the runs are of it.
    other.add_dataset(Dataset.from_blocks(tmp_path / "cells.npy", sample=100))
    assert RunStore(tmp_path / "other").dataset(dataset_id).whole.read(0).shape == (12, 900)


@pytest.mark.slow
def test_the_program_that_repeats_the_runs_gives_the_same_bits(made, tmp_path):
    program = code.script(made)
    assert "Dataset.from_blocks('cells.npy'" in program and str(tmp_path) not in program
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        # On the same kind of processor, which a variable may name to the linear algebra.
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "3 factorizations, the same bits" in done.stdout, done.stderr


@pytest.mark.slow
def test_methods_say_how_many_observations_there_are_and_are_shown(made):
    text = clean_name(methods.methods(answer_of(made)), 5000)
    assert "12 features and 900 observations" in text
    assert "Weights are shown of a random sample of 100 observations" in text
