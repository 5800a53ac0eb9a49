"""The server that forks workers (:mod:`bnmf_core.data.isolation`), and the worker that parses.

``python -m bnmf_core.data.worker SOCKET`` is the server. It opens no file itself.
"""

import json
import os
import resource
import signal
import socket
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.checked import Words
from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.core.limits import raised
from bnmf_core.data.contents import content_parts, inspect_content
from bnmf_core.data.foreign import matrices_of
from bnmf_core.data.gene_sets import sets_of
from bnmf_core.data.isolation import ANSWER, CONTENT, PATH_BYTES, REQUEST, unreadable
from bnmf_core.data.joining import rows_of
from bnmf_core.data.limits import check_size
from bnmf_core.data.reading import Reading

# Imported one by one while the server is idle: each takes longer than reading a small file.
PARSERS = [
    "scipy.io",
    "openpyxl",
    "h5py",
    "PIL.Image",
    "pyarrow.parquet",
    "sklearn.feature_extraction.text",
]


def serve(control: socket.socket) -> None:
    """Fork one worker per message; kill cancelled workers.

    A message is a folder with two descriptors: the worker holds one while it lives; the other
    closes when its result is no longer wanted. Ends when ``control`` closes.
    """
    parsers = list(PARSERS)
    workers: dict[int, int] = {}  # descriptor → process
    while True:
        ready = wait([control, *workers], 0.05 if parsers else None)
        if not ready:
            with suppress(Exception):  # the worker that needs it says so
                import_module(parsers.pop(0))
        for one in ready:
            if isinstance(one, int):
                _kill(one, workers.pop(one))
                continue
            message, ends, _, _ = socket.recv_fds(control, PATH_BYTES, 2)
            if not message:
                for wish, process in workers.items():
                    _kill(wish, process)
                return
            life, wish = ends
            workers[wish] = _fork(Path(os.fsdecode(message.rstrip(b"\0"))), control)
            os.close(life)


def _fork(folder: Path, control: socket.socket) -> int:
    process = os.fork()
    if process == 0:
        control.close()
        try:
            (folder / ANSWER).write_text(json.dumps(work(folder)))
        finally:
            # Skip cleanup of resources that belong to the server.
            os._exit(0)
    return process


def _kill(wish: int, process: int) -> None:
    os.close(wish)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def work(folder: Path) -> dict[str, Any]:
    """Process the request in the folder; return plain values and write arrays to files."""
    request = json.loads((folder / REQUEST).read_text())
    if request["memory_bytes"]:
        _limit(resource.RLIMIT_AS, _reserved() + request["memory_bytes"])
    _limit(resource.RLIMIT_CPU, int(request["seconds"]) + 1)
    # In case the parent process is gone.
    signal.setitimer(signal.ITIMER_REAL, request["seconds"] + 10.0)
    try:
        return _answer(request, folder)
    except OSError as error:
        for array in folder.glob("*.npy"):
            array.unlink()
        return {"error": unreadable(error)}
    except (DataError, MemoryError) as error:
        # A parser that ran out of memory needs another message.
        if isinstance(error, DataError) and not isinstance(error.__cause__, MemoryError):
            return {"error": str(error)}
        return {
            "error": f"The file needs more than {request['memory_bytes'] / 2**30:.3g} GB of memory "
            "to be read; save it smaller, as a sparse matrix (NPZ or MTX), or "
            f"{raised('reading_memory')}."
        }


def _answer(request: dict[str, Any], folder: Path) -> dict[str, Any]:
    limit_bytes, wanted = request["limit_bytes"], request["wanted"]
    check_size((folder / CONTENT).stat().st_size, limit_bytes)
    content = (folder / CONTENT).read_bytes()
    file = content, request["filename"]
    if wanted == "rows":
        return {"rows": rows_of(content, limit_bytes)}
    if wanted == "sets":
        return {"sets": sets_of(content, limit_bytes)}
    if wanted == "matrices":
        found = [one._asdict() for one in matrices_of(*file, limit_bytes)]
        for number, one in enumerate(found):
            np.save(folder / f"matrix{number}.npy", one.pop("values"), allow_pickle=False)
        return {"matrices": found}
    answer: dict[str, Any] = {}
    if wanted == "parts":
        reading = Reading.of_plain(request["reading"])
    else:
        chosen = request["chosen"].items()
        choices = {key: tuple(one) if isinstance(one, list) else one for key, one in chosen}
        reading = inspect_content(*file, choices, limit_bytes)
        answer["reading"] = reading.plain()
    if wanted != "reading":
        answer["parts"] = _saved(content_parts(*file, reading, limit_bytes), folder, content)
    return answer


def _saved(parts: Parts, folder: Path, content: bytes) -> dict[str, Any]:
    """Write arrays to the folder, unless X is a view of the content; return the rest."""
    X: Any = parts["X"]
    lies = _place(X, content) if isinstance(X, np.ndarray) else None
    if lies:
        arrays = {}
    elif isinstance(X, np.ndarray):
        arrays = {"X": X}
    else:
        X = X.tocsc()
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    if "mask" in parts:
        arrays["mask"] = parts["mask"]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    features, observations = parts.get("features"), parts.get("observations")
    return {
        "shape": X.shape,
        "lies": lies,
        "features": None if features is None else [str(name) for name in features],
        "observations": None if observations is None else [str(name) for name in observations],
        "labels": _texts(parts.get("labels", {})),
        "descriptions": _texts(parts.get("descriptions", {})),
        "image_shape": parts.get("image_shape"),
        "map_shape": parts.get("map_shape"),
        "texts": None if (texts := parts.get("texts")) is None else list(texts),
    }


def _texts(columns: Mapping[str, Words]) -> dict[str, list[str]]:
    return {key: [str(word) for word in words] for key, words in columns.items()}


def _place(X: np.ndarray, content: bytes) -> dict[str, Any] | None:
    """Offset and layout of the matrix in the content; None if it is not a view of it."""
    begins = np.frombuffer(content, np.uint8).__array_interface__["data"][0]
    offset = X.__array_interface__["data"][0] - begins
    order = "C" if X.flags.c_contiguous else "F" if X.flags.f_contiguous else ""
    if not (order and 0 <= offset <= len(content) - X.nbytes):
        return None
    return {"offset": offset, "dtype": X.dtype.str, "order": order}


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    # Not all systems support this limit; the parent enforces the time anyway.
    with suppress(ValueError, OSError):
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


def _reserved() -> int:
    """Address space of the process before it reads anything; 0 if unknown."""
    sizes = Path("/proc/self/statm")
    return int(sizes.read_text().split()[0]) * resource.getpagesize() if sizes.exists() else 0


if __name__ == "__main__":
    # The parent handles keyboard interrupts.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    serve(socket.socket(fileno=int(sys.argv[1])))
