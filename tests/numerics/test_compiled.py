"""Compiled code gives the same bits where it is compiled and where it comes from the disk."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bnmf_core

ENGINE = Path(bnmf_core.__file__).parent
SCRIPT = """
import hashlib
import numpy as np
from bnmf_core import Dataset, RunSpec, distances, run
X = np.random.default_rng(5).poisson(3, size=(60, 40)).astype(float)
quick = {"warm_up": 3}
for key, settings in (("random_restarts", {}), ("gibbs", quick), ("hmc", quick)):
    particles = run(Dataset.from_array(X), RunSpec(key, 4, particles=6, settings=settings))
    apart = distances(particles, "max_angle")
    for array in (particles.A, apart):
        print(key, hashlib.md5(np.ascontiguousarray(array).tobytes()).hexdigest())
"""


def decorated(tree):
    """Compiled functions of a file: name → (its node, its decorator's options)."""
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("njit"):
                    options = {word.arg: ast.unparse(word.value) for word in mark.keywords}
                    found[node.name] = node, options
    return found


FILES = [path for path in sorted(ENGINE.rglob("*.py")) if "njit(" in path.read_text()]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_reordered_arithmetic_is_compiled_into_its_caller(path):
    """There are else two versions of it, rounded differently: its own, and one in its caller.

    The process that compiles them runs one, and those that load the caller from the disk the other.
    """
    compiled = decorated(ast.parse(path.read_text()))
    called = {
        inner.func.id
        for name, (node, _) in compiled.items()
        for inner in ast.walk(node)
        if isinstance(inner, ast.Call) and isinstance(inner.func, ast.Name)
        if inner.func.id in compiled and inner.func.id != name
    }
    for name in called:
        options = compiled[name][1]
        if "fastmath" in options:
            inlined = options.get("forceinline") == "True" or options.get("inline") == "'always'"
            assert inlined, f"{name} needs forceinline=True"


@pytest.mark.slow
def test_the_first_run_of_a_fresh_installation_has_the_bits_of_every_later_one(tmp_path):
    def bits():
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "compiled")}
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=environment | {"PYTHONPATH": str(ENGINE.parent), "BNMF_HOME": str(tmp_path)},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        return run.stdout

    assert bits() == bits()
