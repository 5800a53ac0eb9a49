"""Parsing in a process of its own: hostile bytes may crash or swell it, and nothing else.

What the child says comes back as JSON and plain arrays, never as Python objects.
"""

import json
import shutil
import tempfile
import time
import weakref
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from scipy import sparse

from bnmf_core.core import events
from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.data.foreign import NamedMatrix
from bnmf_core.data.reading import Reading
from bnmf_core.data.server import SERVER, Worker

ANSWER, REQUEST, CONTENT = "answer.json", "request.json", "content"
ARRAYS = ("X", "data", "indices", "indptr", "mask")
# Beside what the file itself takes, which a parser may hold several times over.
MEMORY_BYTES = 2 * 2**30
MEMORY_PER_BYTE = 12
# A parser that a small file keeps busy for longer never ends: there are files that send one in a
# circle. Larger ones have more time.
SECONDS, SECONDS_PER_BYTE, MOST_SECONDS = 30.0, 4e-6, 120.0


class Child:
    """A process that reads one file; it begins at once and is asked for later.

    Parameters
    ----------
    content : the bytes of the file. filename : what it is called.
    chosen : what is not to be guessed, for :meth:`reading`.
    reading : how it is read, for :meth:`parts`. Without either, it is read for :meth:`matrices`.
    memory_bytes, seconds : the most that it may take; None: what the size of the file allows.
    """

    def __init__(
        self,
        content: bytes,
        filename: str,
        limit_bytes: int,
        *,
        chosen: Mapping[str, Any] | None = None,
        reading: Reading | None = None,
        memory_bytes: int | None = None,
        seconds: float | None = None,
    ) -> None:
        allowed = min(SECONDS + SECONDS_PER_BYTE * len(content), MOST_SECONDS)
        self.seconds = allowed if seconds is None else seconds
        self.memory_bytes = memory_bytes or MEMORY_BYTES + MEMORY_PER_BYTE * len(content)
        self._folder = Path(tempfile.mkdtemp(prefix="bnmf-reading-"))
        request = {
            "filename": filename,
            "limit_bytes": limit_bytes,
            "chosen": None if chosen is None else dict(chosen),
            "reading": None if reading is None else reading.plain(),
            "matrices": chosen is None and reading is None,
            "memory_bytes": self.memory_bytes,
            "seconds": self.seconds,
        }
        (self._folder / REQUEST).write_text(json.dumps(request))
        (self._folder / CONTENT).write_bytes(content)
        self._began = time.monotonic()
        self._worker = SERVER.worker(self._folder)
        self._late = self._killed = False
        # Nobody may ask any more: a page that was left.
        self._end = weakref.finalize(self, _end, self._worker, self._folder)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def elapsed(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self._began

    @property
    def done(self) -> bool:
        """Whether it has ended, by itself or because its time was over."""
        return self.wait(0.0)

    def wait(self, seconds: float) -> bool:
        """Wait at most so long; whether it is done."""
        left = max(0.0, self.seconds - self.elapsed)
        if self._worker.ended(min(seconds, left)):
            return True
        self._late = self.elapsed > self.seconds
        if self._late:
            self._worker.end()
        return self._late

    def kill(self) -> None:
        """End it; what is asked of it then says that it was stopped."""
        self._killed = True
        self._worker.end()

    def stop(self) -> None:
        """End it, and remove what it kept."""
        self._end()

    def reading(self) -> Reading:
        """What it found, once it has; waits for it.

        Raises
        ------
        DataError
            What is wrong with the file, or that it took too much.
        """
        return Reading.of_plain(self._answer()["reading"])

    def parts(self) -> Parts:
        """What a dataset is made of; waits for it.

        Raises
        ------
        DataError
            What is wrong with the file, or that it took too much.
        """
        said = self._answer()["parts"]
        arrays = {
            name: np.load(self._folder / f"{name}.npy", allow_pickle=False)
            for name in ARRAYS
            if (self._folder / f"{name}.npy").exists()
        }
        if "X" in arrays:
            X: Any = arrays["X"]
        else:
            places = (arrays["data"], arrays["indices"], arrays["indptr"])
            X = sparse.csc_array(places, shape=tuple(said["shape"]))
        parts: Parts = {"X": X, "features": said["features"], "observations": said["observations"]}
        parts["labels"] = said["labels"] or {}
        if "mask" in arrays:
            parts["mask"] = arrays["mask"]
        if said["image_shape"] is not None:
            height, width = said["image_shape"]
            parts["image_shape"] = (height, width)
        if said["map_shape"] is not None:
            height, width = said["map_shape"]
            parts["map_shape"] = (height, width)
        return parts

    def matrices(self) -> list[NamedMatrix]:
        """Every matrix in the file, once it has; waits for it.

        Raises
        ------
        DataError
            What is wrong with the file, or that it took too much.
        """
        return [
            NamedMatrix(
                values=np.load(self._folder / f"matrix{number}.npy", allow_pickle=False), **said
            )
            for number, said in enumerate(self._answer()["matrices"])
        ]

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
                f"The file took longer than {self.seconds:.0f} s to read and was given up; save "
                "it in a plainer form, such as NPZ."
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


def _end(worker: Worker, folder: Path) -> None:
    worker.close()
    shutil.rmtree(folder, ignore_errors=True)
