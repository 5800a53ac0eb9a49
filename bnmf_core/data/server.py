"""Processes that read files, forked in an instant from one that has imported what parsers need."""

import atexit
import os
import socket
import subprocess
import sys
from pathlib import Path
from threading import Lock

PACKAGE = Path(__file__).resolve().parents[2]
# A message to the server is a path of this length, filled up with zeros.
PATH_BYTES = 4096
# Threads of a parser would only reserve memory that its limit counts.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
# The most seconds that a process takes to be gone after it was killed.
_GOING = 10.0


class Worker:
    """A process that works on one folder, until it is done or no longer wanted.

    It holds the other end of ``life``, which is cut off when it ends. Its server holds the other
    end of ``wish``, and kills it when that is cut off, be it by a program that crashed.
    """

    def __init__(self, life: socket.socket, wish: socket.socket) -> None:
        self._life, self._wish = life, wish

    def ended(self, seconds: float = 0.0) -> bool:
        """Whether it is no more; waits at most so long for that."""
        try:
            self._life.settimeout(seconds)
            return not self._life.recv(1)
        except (BlockingIOError, TimeoutError):
            return False
        except OSError:  # nobody asks any more
            return True

    def end(self) -> None:
        """End it."""
        self._wish.close()
        self.ended(_GOING)

    def close(self) -> None:
        """End it, and forget it."""
        self.end()
        self._life.close()


class Server:
    """The process that workers are forked from; it begins with the first, and ends with ours."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket

    def worker(self, folder: Path) -> Worker:
        """A new process that does what the request in the folder asks."""
        (life, held), (wish, heard) = socket.socketpair(), socket.socketpair()
        ends = [held.fileno(), heard.fileno()]
        message = os.fsencode(folder).ljust(PATH_BYTES, b"\0")
        with held, heard, self._lock:
            self._begin()
            try:
                socket.send_fds(self._control, [message], ends)
            except OSError:  # somebody ended it
                self._end()
                self._begin()
                socket.send_fds(self._control, [message], ends)
        return Worker(life, wish)

    def close(self) -> None:
        """End it, and all that it forked."""
        with self._lock:
            self._end()

    def _begin(self) -> None:
        if self._process is not None:
            return
        self._control, theirs = socket.socketpair()
        paths = [str(PACKAGE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "bnmf_core.data.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )

    def _end(self) -> None:
        if self._process is not None:
            self._control.close()
            # It may be in the middle of an import.
            self._process.terminate()
            self._process.wait()
            self._process = None


SERVER = Server()
atexit.register(SERVER.close)
