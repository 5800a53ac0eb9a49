"""The server of the app, as a process: where its files are, how it starts, what it answers at."""

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

# Inside the engine where it was installed, beside it in a checkout.
_ENGINE = Path(__file__).resolve().parents[1]
FOLDER = next(
    (one for one in (_ENGINE / "app", _ENGINE.parent) if (one / "app.py").is_file()), None
)
# Seconds in which a server has to answer.
PATIENCE = 60.0


def command(port: int) -> list[str]:
    """What starts the server, in :data:`FOLDER`, whose settings it then reads.

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
    """The environment of a server that keeps everything in a folder."""
    return {**os.environ, "BNMF_HOME": str(home.resolve())}


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A server that answers, on a free port, and its address.

    Raises
    ------
    RunError
        When it cannot start; gives the last line of what it said.
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
            # Interrupting a cell of a notebook is not meant for it.
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
        said = log.read().decode(errors="replace").strip().splitlines() or ["nothing"]
        raise RunError(f"The server of the app did not start. The last line it said: {said[-1]}")
