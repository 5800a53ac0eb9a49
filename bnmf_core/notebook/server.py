"""The server of the app as a process: its files, command and address."""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path

from bnmf_core.core.errors import RunError

# Inside the package when installed, next to it in a checkout.
_ENGINE = Path(__file__).resolve().parents[1]
FOLDER = next(
    (one for one in (_ENGINE / "app", _ENGINE.parent) if (one / "app.py").is_file()), None
)
# Seconds to wait for a server to answer.
PATIENCE = 60.0


def command(port: int) -> list[str]:
    """The command that starts the server in :data:`FOLDER`.

    Raises
    ------
    RunError
        When Streamlit or the app is not installed.
    """
    if FOLDER is None or find_spec("streamlit") is None:
        missing = "its pages" if FOLDER is None else "Streamlit"
        raise RunError(
            f"The app needs {missing}, and only the engine is installed; install all of it with: "
            'pip install "bnmf[app]"'
        )
    return [sys.executable, "-m", "streamlit", "run", "app.py", "--server.port", str(port)]


def environment(home: Path) -> dict[str, str]:
    """The environment of a server with its store in this folder."""
    return {**os.environ, "BNMF_HOME": str(home.resolve())}


def free_port() -> int:
    """A free port of this machine."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start a server on a free port; return it and its address when it answers.

    Raises
    ------
    RunError
        When it cannot start; the message has its last line of output.
    """
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command(port),
            cwd=FOLDER,
            env=environment(home),
            stdout=log,
            stderr=log,
            # Interrupting a notebook cell must not stop it.
            start_new_session=True,
        )
        end = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < end:
            try:
                urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
                return process, address
            except OSError:
                time.sleep(0.05)
        process.kill()
        process.wait()
        log.seek(0)
        lines = log.read().decode(errors="replace").strip().splitlines() or ["nothing"]
        raise RunError(f"The server of the app did not start. The last line it said: {lines[-1]}")
