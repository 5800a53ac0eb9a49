"""The program that repeats runs gives the same bits."""

import subprocess
import sys
from contextlib import closing

import pytest

from bnmf_core import RunSpec, load_sample
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share import archive, code
from bnmf_core.store.run_store import RunStore

pytestmark = pytest.mark.slow


def told(program: str, folder) -> str:
    (folder / "repeat.py").write_text(program)
    made = subprocess.run(
        [sys.executable, "repeat.py"], cwd=folder, capture_output=True, text=True, check=False
    )
    assert made.returncode == 0, made.stderr
    return made.stdout


def test_runs_on_uploaded_data_come_out_with_the_same_bits(answer, tmp_path):
    archive.write(tmp_path / "archive.zip", answer)
    said = told(code.script(answer.comparison), tmp_path)
    for run, particles in zip(answer.comparison.runs, answer.comparison.particles, strict=True):
        assert f"{run.id}: {particles.M} factorizations, the same bits" in said


def test_it_says_when_the_bits_are_others(answer, tmp_path):
    archive.write(tmp_path / "archive.zip", answer)
    program = code.script(answer.comparison)
    other = program.replace(answer.comparison.particles[0].digest, "0" * 16)
    assert told(other, tmp_path).count("other bits than then") == 1


def test_a_sample_needs_no_file(tmp_path):
    store = RunStore(tmp_path / "home")
    sample = load_sample("digits")
    few = {"max_iterations": 20}
    spec = RunSpec("random_restarts", 2, particles=2, seed=5, holdout=0.25, settings=few)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(sample, [spec])
        runner.wait(run_ids)
    program = code.script(open_comparison(store, run_ids))
    assert "load_sample('digits')" in program
    assert "2 factorizations, the same bits" in told(program, tmp_path)
