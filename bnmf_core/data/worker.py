"""What parses a file in a process of its own, and the server that forks it.

``python -m bnmf_core.data.worker SOCKET`` is the server. It opens no file itself.
"""

import json
import os
import resource
import selectors
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Parts
from bnmf_core.core.errors import DataError
from bnmf_core.data.child import ANSWER, CONTENT, REQUEST
from bnmf_core.data.contents import content_parts, inspect_content
from bnmf_core.data.foreign import NamedMatrix, matrices_of
from bnmf_core.data.reading import Reading
from bnmf_core.data.server import PATH_BYTES

# Imported one by one while there is nothing to do: each takes longer than reading a small file.
PARSERS = [
    "scipy.io",
    "openpyxl",
    "h5py",
    "PIL.Image",
    "pyarrow.parquet",
    "sklearn.feature_extraction.text",
]


def serve(control: socket.socket) -> None:
    """Fork a worker for every message, and kill those that nobody wants any more.

    A message is a folder, with two sockets: one that the worker holds as long as it lives, one
    that is cut off when it is no longer wanted. Ends when ``control`` is cut off.
    """
    parsers = list(PARSERS)
    with selectors.DefaultSelector() as waiting:
        waiting.register(control, selectors.EVENT_READ)
        while True:
            ready = waiting.select(0.05 if parsers else None)
            if not ready:
                with suppress(Exception):  # the worker that needs it says so
                    import_module(parsers.pop(0))
            for key, _ in ready:
                if key.data is not None:
                    waiting.unregister(key.fileobj)
                    _ended(key.fd, key.data)
                    continue
                message, ends, _, _ = socket.recv_fds(control, PATH_BYTES, 2)
                if not message:
                    for one in [key for key in waiting.get_map().values() if key.data is not None]:
                        _ended(one.fd, one.data)
                    return
                life, wish = ends
                process = _forked(Path(os.fsdecode(message.rstrip(b"\0"))), control)
                os.close(life)
                waiting.register(wish, selectors.EVENT_READ, process)


def _forked(folder: Path, control: socket.socket) -> int:
    """The number of a new process that does what the request in the folder asks."""
    process = os.fork()
    if process == 0:
        control.close()
        try:
            (folder / ANSWER).write_text(json.dumps(work(folder)))
        finally:
            # What the server has open is not this process's to close.
            os._exit(0)
    return process


def _ended(wish: int, process: int) -> None:
    os.close(wish)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def work(folder: Path) -> dict[str, Any]:
    """Do what the request in the folder asks; the answer as plain values, arrays beside it."""
    request = json.loads((folder / REQUEST).read_text())
    _limit(resource.RLIMIT_AS, _reserved() + request["memory_bytes"])
    _limit(resource.RLIMIT_CPU, int(request["seconds"]) + 1)
    # Should nobody be left who watches the time.
    signal.alarm(int(request["seconds"]) + 10)
    content = (folder / CONTENT).read_bytes()
    filename, limit_bytes = request["filename"], request["limit_bytes"]
    try:
        if request["matrices"]:
            return {"matrices": _matrices(matrices_of(content, filename, limit_bytes), folder)}
        if request["reading"] is None:
            chosen = {key: _tuple(value) for key, value in request["chosen"].items()}
            return {"reading": inspect_content(content, filename, chosen, limit_bytes).plain()}
        reading = Reading.of_plain(request["reading"])
        return {"parts": _kept(content_parts(content, filename, reading, limit_bytes), folder)}
    except DataError as error:
        # What a parser could not get is worth telling apart from what it could not understand.
        if isinstance(error.__cause__, MemoryError):
            return {"error": _too_large(request["memory_bytes"])}
        return {"error": str(error)}
    except MemoryError:
        return {"error": _too_large(request["memory_bytes"])}


def _kept(parts: Parts, folder: Path) -> dict[str, Any]:
    """Keep the arrays; the rest as plain values."""
    X: Any = parts["X"]
    arrays: dict[str, np.ndarray] = {}
    if not isinstance(X, np.ndarray):
        X = X.tocsc()
        arrays = {"data": X.data, "indices": X.indices, "indptr": X.indptr}
    else:
        arrays["X"] = np.asarray(X)
    if "mask" in parts:
        arrays["mask"] = parts["mask"]
    for name, array in arrays.items():
        np.save(folder / f"{name}.npy", array, allow_pickle=False)
    features, observations = parts.get("features"), parts.get("observations")
    return {
        "shape": list(X.shape),
        "features": None if features is None else [str(name) for name in features],
        "observations": None if observations is None else [str(name) for name in observations],
        "labels": {
            key: [str(v) for v in values] for key, values in parts.get("labels", {}).items()
        },
        "image_shape": parts.get("image_shape"),
        "map_shape": parts.get("map_shape"),
    }


def _matrices(found: list[NamedMatrix], folder: Path) -> list[dict[str, Any]]:
    for number, one in enumerate(found):
        np.save(folder / f"matrix{number}.npy", one.values, allow_pickle=False)
    return [
        {key: value for key, value in one._asdict().items() if key != "values"} for one in found
    ]


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _limit(kind: int, most: int) -> None:
    _, hard = resource.getrlimit(kind)
    # Not every system lets itself be limited so; the parent watches the time all the same.
    with suppress(ValueError, OSError):
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, hard))


def _reserved() -> int:
    """Bytes of addresses that the process has before it reads anything; 0 where unknown."""
    sizes = Path("/proc/self/statm")
    return int(sizes.read_text().split()[0]) * resource.getpagesize() if sizes.exists() else 0


def _too_large(memory_bytes: int) -> str:
    return (
        f"The file needs more than {memory_bytes / 2**30:.3g} GB of memory to be read; save it "
        "smaller, or as a sparse matrix (NPZ or MTX)."
    )


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
