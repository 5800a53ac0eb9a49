"""Parts of a long computation that are kept in a folder, so that it goes on from there."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.errors import StoreError
from bnmf_core.store import files


class Cache:
    """Makes each part once.

    folder : where parts are kept; None: nowhere, and each is made.
    """

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def arrays(
        self, name: str, make: Callable[..., Mapping[str, np.ndarray]], *arguments: object
    ) -> Mapping[str, np.ndarray]:
        """Named arrays, kept from before or made now from the arguments."""
        return self._kept(f"{name}.npz", files.read_arrays, files.write_arrays, make, arguments)

    def plain(
        self, name: str, make: Callable[..., dict[str, Any]], *arguments: object
    ) -> dict[str, Any]:
        """Plain values, kept from before or made now from the arguments."""
        return self._kept(f"{name}.json", files.read_json, files.write_json, make, arguments)

    def found(self, name: str) -> Any:
        """A part that is kept; None where there is none that can be read. Changes nothing."""
        if self.folder is None:
            return None
        for path, read in (
            (self.folder / f"{name}.npz", files.read_arrays),
            (self.folder / f"{name}.json", files.read_json),
        ):
            if path.is_file():
                with suppress(StoreError):
                    return read(path)
        return None

    def _kept(
        self,
        name: str,
        read: Callable[[Path], Any],
        write: Callable[[Path, Any], None],
        make: Callable[..., Any],
        arguments: tuple[object, ...],
    ) -> Any:
        if self.folder is None:
            return make(*arguments)
        path = self.folder / name
        if path.is_file():
            try:
                return read(path)
            except StoreError:  # torn by a full disk or a crash: it is made again
                path.unlink()
        made = make(*arguments)
        write(path, made)
        return made
