"""Other programs, each in an environment of its own, measured inside their own process.

A peer is a folder with ``requirements.txt`` and ``runner.py``. The runner reads an ``.npz`` named
on its command line, warms up, prints one line ``{"ready": …}``, and then answers every line of
JSON options on its input with one line of JSON. So it can take turns with what it is compared
with, and starting it is not part of any time.
"""

import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Unavailable

HERE = Path(__file__).resolve().parent
ENVIRONMENTS = HERE.parent / ".envs"
INSTALL_SECONDS = 900


class Peer:
    """A peer's running process."""

    def __init__(self, process: subprocess.Popen) -> None:
        self._process = process
        self.ready = self._answer()

    def ask(self, **options: Any) -> dict[str, Any]:
        """Measure once with these options."""
        try:
            self._process.stdin.write(json.dumps(options) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise Unavailable("the peer's process has ended") from error
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        # Peers print progress of their own; answers are the lines that begin with a brace.
        for line in self._process.stdout:
            if line.startswith("{"):
                answer = json.loads(line)
                if "failed" in answer:
                    raise Unavailable(answer["failed"])
                return answer
        raise Unavailable("the peer's process ended without an answer")


@contextmanager
def opened(name: str, arrays: dict[str, np.ndarray]) -> Iterator[Peer]:
    """Start the peer on these arrays.

    Raises
    ------
    Unavailable
        When it cannot be installed or started; the text says why.
    """
    python = environment(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        np.savez(path, **arrays)
        process = subprocess.Popen(
            [python, "-W", "ignore", HERE / name / "runner.py", path],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            yield Peer(process)
        finally:
            process.stdin.close()
            process.terminate()
            process.wait(timeout=30)
            process.stdout.close()


def environment(name: str) -> Path:
    """The python of the peer's environment, which is made on first use.

    Raises
    ------
    Unavailable
        When it cannot be installed.
    """
    requirements = HERE / name / "requirements.txt"
    wanted = hashlib.sha256(requirements.read_bytes()).hexdigest()
    folder = ENVIRONMENTS / name
    python, mark = folder / "bin" / "python", folder / "installed"
    if mark.is_file() and mark.read_text() == wanted:
        return python
    shutil.rmtree(folder, ignore_errors=True)
    print(f"Installing {name} into an environment of its own …", file=sys.stderr, flush=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for command in ([sys.executable, "-m", "venv", folder], [*pip, "-r", requirements]):
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Unavailable(f"{name} could not be installed ({type(error).__name__})") from error
        if done.returncode:
            last = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            reason = last[-1].removeprefix("ERROR: ") if last else "pip failed"
            raise Unavailable(f"{name} could not be installed: {reason}")
    mark.write_text(wanted)
    return python
