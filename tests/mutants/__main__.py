"""Mistakes planted in the engine, one at a time: the tests named have to notice each of them.

``make mutants`` runs all, ``python -m tests.mutants WORD …`` those whose names hold a word. Every
mutant is made in a copy of the project; one is caught when a test fails or does not end.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import local

from tests.mutants import (
    analysis,
    boolean,
    compare,
    evidence,
    explorers,
    findings,
    likelihoods,
    numerics,
    posterior,
    rrt,
    runs,
    samplers,
    solvers,
    store,
)
from tests.mutants.mutant import Mutant

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("bnmf_core", "tests", "sample_data", "pyproject.toml", "README.md")
# A mutant that hangs is stopped by the tests' own limit; this one ends what that does not.
SECONDS = 240
AT_ONCE = 2
MUTANTS = tuple(
    mutant
    for room in (
        analysis,
        boolean,
        compare,
        evidence,
        explorers,
        findings,
        numerics,
        posterior,
        likelihoods,
        runs,
        samplers,
        solvers,
        store,
        rrt,
    )
    for mutant in room.MUTANTS
)

_workshop = local()


def workshop(folder: Path) -> Path:
    """This thread's copy of the project."""
    if not hasattr(_workshop, "place"):
        _workshop.place = Path(tempfile.mkdtemp(dir=folder))
        skipped = shutil.ignore_patterns("__pycache__", "*.pyc")
        for name in COPIED:
            source, target = ROOT / name, _workshop.place / name
            if source.is_dir():
                shutil.copytree(source, target, ignore=skipped)
            else:
                shutil.copy(source, target)
    return _workshop.place


def _write(path: Path, text: str) -> None:
    """Write a module, and let others that compile its functions into theirs do so again."""
    path.write_text(text)
    for other in path.parents[1].rglob("*.py"):
        words = other.read_text()
        if "njit(" in words and f".{path.stem} import" in words:
            other.touch()


def verdict(mutant: Mutant, folder: Path) -> tuple[str, float]:
    """ "caught", "survived", or what is wrong with the mutant itself; and the seconds it took."""
    began, place = time.monotonic(), workshop(folder)
    path = place / "bnmf_core" / mutant.file
    whole = path.read_text()
    if whole.count(mutant.before) != 1:
        return f"its text stands {whole.count(mutant.before)} times in {mutant.file}", 0.0
    _write(path, whole.replace(mutant.before, mutant.after))
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    try:
        run = subprocess.run(
            [*command, "-o", "timeout=60", *mutant.tests.split()],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        # 1: a test failed. Anything else (no test, an import that fails) tells nothing, but for
        # the hard end that a hanging compiled loop needs.
        said = {0: "survived", 1: "caught"}.get(run.returncode)
        hung = "Timeout" in run.stdout + run.stderr
        found = "caught" if hung else said or f"the tests did not run: {run.stdout[-500:]}"
    except subprocess.TimeoutExpired:
        found = "caught"
    finally:
        _write(path, whole)
    return found, time.monotonic() - began


def main(words: list[str]) -> int:
    """Tell of every mutant whether it was caught; 1 where one was not."""
    chosen = [m for m in MUTANTS if not words or any(word in m.name for word in words)]
    missed = 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(AT_ONCE) as threads:
        results = threads.map(lambda mutant: verdict(mutant, Path(folder)), chosen)
        for mutant, (found, seconds) in zip(chosen, results, strict=True):
            missed += found != "caught"
            sys.stdout.write(f"{found:9} {seconds:5.1f} s  {mutant.name}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{len(chosen) - missed} passed, {missed} failed\n")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
