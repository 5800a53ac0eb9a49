"""Compile the kernels of a first analysis in advance."""

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path

import numba

from bnmf_core.core.model import required
from bnmf_core.core.spec import USUAL_MODEL
from bnmf_core.data.kinds import Kind
from bnmf_core.numerics.compiling import listen
from bnmf_core.registry import model_for
from bnmf_core.runs.examples import EXAMPLES
from bnmf_core.runs.launch import preset
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore

ENGINE = Path(__file__).resolve().parents[1]
PATIENCE = 600.0
PARTICLES, CHAIN = 4, {"chains": 4, "longest": 100}
# Examples, most common first, with models and stages of the analysis; () for all stages.
MADE: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("digits", USUAL_MODEL, ("structure",)),
    ("two_solutions", USUAL_MODEL, ()),
    ("newsgroups", USUAL_MODEL, ("structure",)),
    ("signatures", required(model_for(Kind.COUNTS)).key, ("structure", "resampling")),
)


def warm_up(mark: Path | None = None) -> bool:
    """Make small analyses of dense and sparse examples, so that Numba caches their kernels.

    Returns whether they were made: once for each version of the program, marked by ``mark``, an
    empty file in Numba's cache folder.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from bnmf_core.runs.warming import warm_up
    >>> with tempfile.NamedTemporaryFile() as there:
    ...     warm_up(Path(there.name))
    False
    """
    mark = mark or _mark()
    if mark.exists():
        return False
    listen()
    for key, model, stages in MADE:
        data, rank = EXAMPLES[key].dataset(), EXAMPLES[key].rank
        with (
            tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
            closing(JobRunner(RunStore(Path(folder)))) as runner,
        ):
            specs = [
                replace(spec, particles=40, settings={**spec.settings, **CHAIN})
                if spec.algorithm == "gibbs"
                else replace(spec, particles=PARTICLES)
                for spec in preset(data, rank, model=model).specs
            ]
            run_ids = runner.start(data, specs)
            runner.wait(run_ids, PATIENCE)
            runner.wait_analysis(run_ids, *stages, timeout=PATIENCE)
    with suppress(OSError):  # then it is repeated next time
        mark.parent.mkdir(exist_ok=True)
        mark.touch()
    return True


def warm_up_apart() -> None:
    """:func:`warm_up` in a separate process of low priority that ends with this one."""
    if not _mark().exists():
        command = [sys.executable, "-m", "bnmf_core.runs.warming"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, cwd=ENGINE.parent) as process:
            process.wait()


def main() -> None:
    """Run :func:`warm_up` at low priority until the end of standard input."""

    def until_left() -> None:
        sys.stdin.read()
        os._exit(0)

    threading.Thread(target=until_left, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(19)
    warm_up()


def _mark() -> Path:
    files = sorted(ENGINE.rglob("*.py"))
    state = [numba.__version__, *((path.name, path.stat().st_mtime_ns) for path in files)]
    name = hashlib.sha256(repr(state).encode()).hexdigest()[:12]
    return ENGINE / "runs" / "__pycache__" / f"warm-{name}"


if __name__ == "__main__":
    main()
