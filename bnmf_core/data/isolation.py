"""Read files in a separate process, which hostile content may crash or exhaust.

All untrusted files are read this way. A server process imports the parsers once and forks a worker
for each file (:mod:`bnmf_core.data.worker`). A worker answers in JSON and plain arrays,
never in Python objects.
"""

import atexit
import json
import math
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Lock
from typing import Any, Self, cast

import numpy as np
from scipy import sparse

from bnmf_core.core import events
from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.core.limits import Limits, raised, read_limits
from bnmf_core.core.names import clean_name
from bnmf_core.data.foreign import NamedMatrix
from bnmf_core.data.reading import Reading

ANSWER, REQUEST, CONTENT = "answer.json", "request.json", "content"
# A parser may hold several copies of a file.
MEMORY_PER_BYTE = 12
# A parser that a small file keeps busy for long never ends: there are files that send one in a
# circle. Each time as many bytes give a larger one as much time again, up to the most times.
BYTES_A_TIME, MOST_TIMES = 7_500_000, 4.0
# Eleven days, the most that can be waited for at a time.
MOST_SECONDS = 1e6
# The most seconds that a process takes to be gone after it was killed.
KILL_SECONDS = 10.0
# A message to the server is a path of this length, filled up with zeros.
PATH_BYTES = 4096
PACKAGE = Path(__file__).resolve().parents[2]
# Threads of a parser would reserve memory that counts towards its limit.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Server:
    """The process that forks workers; it starts with the first one and ends with this process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket

    def fork(self, folder: Path) -> tuple[Connection, Connection]:
        """Fork a worker for the request in the folder.

        Returns two connections: the first breaks off when the worker ends; the worker is killed
        when the second is closed, be it by a program that crashed.
        """
        (life, held), (wish, heard) = Pipe(), Pipe()
        with held, heard, self._lock:
            ends = [held.fileno(), heard.fileno()]
            try:
                self._send(folder, ends)
            except OSError:  # the server has ended
                self._stop()
                self._send(folder, ends)
        return life, wish

    def close(self) -> None:
        """Stop the server and its workers."""
        with self._lock:
            self._stop()

    def forget(self) -> None:
        """Drop the server after a fork: it belongs to the parent process."""
        self._lock = Lock()
        if self._process is not None:
            self._control.close()
            self._process.returncode = 0  # else it is waited for
            self._process = None

    def _send(self, folder: Path, ends: list[int]) -> None:
        if self._process is None:
            self._start()
        socket.send_fds(self._control, [os.fsencode(folder).ljust(PATH_BYTES, b"\0")], ends)

    def _start(self) -> None:
        self._control, theirs = socket.socketpair()
        paths = [str(PACKAGE), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        with theirs:
            self._process = subprocess.Popen(
                # Do not import from the current folder.
                [sys.executable, "-P", "-m", "bnmf_core.data.worker", str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                env=os.environ | _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )

    def _stop(self) -> None:
        if self._process is not None:
            self._control.close()
            # It may be importing.
            self._process.terminate()
            self._process.wait()
            self._process = None


SERVER = Server()
atexit.register(SERVER.close)
os.register_at_fork(after_in_child=SERVER.forget)


def brought(source: bytes | Path, filename: str, otherwise: str) -> tuple[str, str]:
    """The file name for reading, and the name for messages.

    Raises
    ------
    NotFoundError
        When there is no such file.
    """
    filename = filename or (source.name if isinstance(source, Path) else otherwise)
    if isinstance(source, Path) and not source.is_file():
        raise NotFoundError(f"There is no file {clean_name(source)!r}.")
    return filename, clean_name(Path(filename.replace("\0", "")).name, 60)


class ReaderProcess:
    """A process that reads one file; it starts at once, and methods wait for its result.

    Parameters
    ----------
    content : bytes or path of the file. filename : its name.
    wanted : "reading", "parts", "both", "matrices", "rows" or "sets", as the methods.
    chosen : fixed choices of the reading. reading : for the parts.
    limits : of time and memory; None for those of :func:`read_limits`.
    """

    def __init__(
        self,
        content: bytes | Path,
        filename: str,
        wanted: str,
        *,
        chosen: Mapping[str, Any] | None = None,
        reading: Reading | None = None,
        limits: Limits | None = None,
    ) -> None:
        limits = limits or read_limits()
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        times = min(1.0 + size / BYTES_A_TIME, MOST_TIMES)
        self.seconds = min(times * limits.reading_seconds or MOST_SECONDS, MOST_SECONDS)
        memory = limits.reading_memory * 2**30
        self._folder = Path(tempfile.mkdtemp(prefix="bnmf-reading-"))
        request = {
            "filename": filename,
            "wanted": wanted,
            "limit_bytes": limits.reading_bytes,
            "chosen": dict(chosen or {}),
            "reading": None if reading is None else reading.plain(),
            "memory_bytes": int(memory + MEMORY_PER_BYTE * size) if memory else 0,
            "seconds": self.seconds,
        }
        try:
            (self._folder / REQUEST).write_text(json.dumps(request))
            if isinstance(content, Path):
                (self._folder / CONTENT).symlink_to(content.absolute())
            else:
                (self._folder / CONTENT).write_bytes(content)
        except OSError as error:
            shutil.rmtree(self._folder, ignore_errors=True)
            raise DataError(unreadable(error)) from error
        self._began = time.monotonic()
        self._life, self._wish = SERVER.fork(self._folder)
        self._late = self._killed = False
        # The result may never be requested, as by a closed page.
        self._finalizer = weakref.finalize(
            self, _stop, self._life, self._wish, self._folder, os.getpid()
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since it started."""
        return time.monotonic() - self._began

    @property
    def done(self) -> bool:
        """Whether the process has ended or its time is over."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; return whether it is done."""
        left = max(0.0, self.seconds - self.elapsed)
        if self._life.closed or self._life.poll(min(seconds, left)):
            return True
        self._late = self.elapsed > self.seconds
        if self._late:
            _kill(self._life, self._wish)
        return self._late

    def kill(self) -> None:
        """Stop the process; its result is then an error."""
        self._killed = True
        _kill(self._life, self._wish)

    def stop(self) -> None:
        """Stop the process and remove its files."""
        self._finalizer()

    def reading(self) -> Reading:
        """Wait for the Reading of the file.

        DataError when the file has faults or exceeds a limit.
        """
        return Reading.of_plain(self._answer()["reading"])

    def parts(self) -> Parts:
        """Wait for the parts of a dataset. Raises as :meth:`reading` does."""
        answer, arrays = self._answer()["parts"], self._arrays()
        shape = tuple(answer.pop("shape"))
        found = {key: value for key, value in answer.items() if value is not None}
        for key in found.keys() & {"image_shape", "map_shape"}:
            found[key] = tuple(found[key])
        if lies := found.pop("lies", None):
            found["X"] = self._lying(shape, **lies)
        elif "X" not in arrays:
            csc = arrays.pop("data"), arrays.pop("indices"), arrays.pop("indptr")
            found["X"] = sparse.csc_array(csc, shape=shape)
        return cast(Parts, found | arrays)

    def matrices(self) -> list[NamedMatrix]:
        """Wait for the matrices in the file. Raises as :meth:`reading` does."""
        found, arrays = self._answer()["matrices"], self._arrays()
        return [NamedMatrix(values=arrays[f"matrix{i}"], **one) for i, one in enumerate(found)]

    def rows(self) -> list[list[str]]:
        """Wait for the rows of a list or a table of words. Raises as :meth:`reading` does."""
        rows: list[list[str]] = self._answer()["rows"]
        return rows

    def sets(self) -> dict[str, list[str]]:
        """Wait for the sets of a GMT file by name. Raises as :meth:`reading` does."""
        sets: dict[str, list[str]] = self._answer()["sets"]
        return sets

    def _lying(self, shape: tuple[int, ...], offset: int, dtype: str, order: Any) -> np.ndarray:
        """The matrix as a view of the content."""
        count = math.prod(shape)
        try:
            flat = np.fromfile(self._folder / CONTENT, np.dtype(dtype), count, offset=offset)
            return flat.reshape(shape, order=order)
        except (OSError, ValueError) as error:
            raise DataError("The file was changed while it was read; read it again.") from error

    def _arrays(self) -> dict[str, np.ndarray]:
        files = self._folder.glob("*.npy")
        return {file.stem: np.load(file, allow_pickle=False) for file in files}

    def _answer(self) -> dict[str, Any]:
        while not self.wait(self.seconds):
            pass
        answer: dict[str, Any] = {}
        with suppress(OSError, ValueError):
            answer = json.loads((self._folder / ANSWER).read_text())
        if self._late or "error" in answer or not answer:
            why = "time" if self._late else "content" if answer else "broke off"
            events.tell("refused", what="file", why=why)
        if self._late:
            raise DataError(
                f"The file took longer than {round(self.seconds, 1):g} s to read and was given up; "
                f"save it in a plainer form, such as NPZ, or {raised('reading_seconds')}."
            )
        if self._killed:
            raise DataError("Reading the file was stopped.")
        if "error" in answer:
            raise DataError(answer["error"])
        if not answer:
            raise DataError(
                "The file is malformed: what read it broke off. Save it again, or in another form."
            )
        return answer


def unreadable(error: OSError) -> str:
    """The message for a file that cannot be opened, or a full disk."""
    return f"The file could not be read: {error.strerror}, on the disk or in the temporary folder."


def _kill(life: Connection, wish: Connection) -> None:
    wish.close()
    if not life.closed:
        life.poll(KILL_SECONDS)


def _stop(life: Connection, wish: Connection, folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # not in a fork
        _kill(life, wish)
        shutil.rmtree(folder, ignore_errors=True)
    life.close()
