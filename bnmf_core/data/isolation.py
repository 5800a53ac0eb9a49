"""Files read in a process of their own: hostile bytes may crash or swell it, and nothing else.

Every file from outside comes through here. A server process imports the parsers once and forks a
worker for each file (:mod:`bnmf_core.data.worker`). A worker answers in JSON and plain arrays,
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
# A parser may hold what a file takes several times over.
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
# Threads of a parser would only reserve memory that its limit counts.
_ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class Server:
    """The process that workers are forked from; it starts with the first, and ends with ours."""

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
            except OSError:  # the server is no more
                self._stop()
                self._send(folder, ends)
        return life, wish

    def close(self) -> None:
        """End the server, and all that it forked."""
        with self._lock:
            self._stop()

    def forget(self) -> None:
        """Leave the server to the process that this one was forked from."""
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
                # Nothing is imported from the folder in which somebody happens to be.
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
            # It may be in the middle of an import.
            self._process.terminate()
            self._process.wait()
            self._process = None


SERVER = Server()
atexit.register(SERVER.close)
os.register_at_fork(after_in_child=SERVER.forget)


def brought(source: bytes | Path, filename: str, otherwise: str) -> tuple[str, str]:
    """The name by which a file is read, and that by which sentences call it.

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
    """A process that reads one file; it starts at once, and its result is fetched later.

    Parameters
    ----------
    content : the bytes of the file, or where it is. filename : what it is called.
    wanted : "reading", "parts", "both", "matrices", "rows" or "sets", of which the method of that
        name asks.
    chosen : what is not to be guessed of the reading. reading : how the parts are read.
    limits : the most that it may take; None: those of :func:`read_limits`.
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
        # Nobody may ask any more: a page that was left.
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
        """Whether it has ended, by itself or because its time was over."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether it is done."""
        left = max(0.0, self.seconds - self.elapsed)
        if self._life.closed or self._life.poll(min(seconds, left)):
            return True
        self._late = self.elapsed > self.seconds
        if self._late:
            _kill(self._life, self._wish)
        return self._late

    def kill(self) -> None:
        """End it; its result is then an error that says that it was stopped."""
        self._killed = True
        _kill(self._life, self._wish)

    def stop(self) -> None:
        """End it, and remove its files."""
        self._finalizer()

    def reading(self) -> Reading:
        """How the file would be read; waits for it.

        DataError says what is wrong with the file, or that it took too much.
        """
        return Reading.of_plain(self._answer()["reading"])

    def parts(self) -> Parts:
        """What a dataset is made of; waits for it. Raises as :meth:`reading` does."""
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
        """Every matrix in the file; waits for it. Raises as :meth:`reading` does."""
        found, arrays = self._answer()["matrices"], self._arrays()
        return [NamedMatrix(values=arrays[f"matrix{i}"], **one) for i, one in enumerate(found)]

    def rows(self) -> list[list[str]]:
        """The rows of a list or a table of words; waits for it. Raises as :meth:`reading` does."""
        rows: list[list[str]] = self._answer()["rows"]
        return rows

    def sets(self) -> dict[str, list[str]]:
        """The sets of a GMT file by name; waits for it. Raises as :meth:`reading` does."""
        sets: dict[str, list[str]] = self._answer()["sets"]
        return sets

    def _lying(self, shape: tuple[int, ...], offset: int, dtype: str, order: Any) -> np.ndarray:
        """The matrix that lies in the content as it is."""
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
    """The sentence about a file that cannot be opened, or for which a disk has no room."""
    return f"The file could not be read: {error.strerror}, on the disk or in the temporary folder."


def _kill(life: Connection, wish: Connection) -> None:
    wish.close()
    if not life.closed:
        life.poll(KILL_SECONDS)


def _stop(life: Connection, wish: Connection, folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and no process that was forked since
        _kill(life, wish)
        shutil.rmtree(folder, ignore_errors=True)
    life.close()
