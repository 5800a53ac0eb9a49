"""User-given names and notes on components and modes.

A note is stored with the column of A or the basis that it describes, not with a number. Other runs
of the same data find it by similarity, whatever number the component or mode has there. A note on
several compared runs is stored under their ids.
"""

import hashlib
import json
import re
import secrets
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.core.errors import DamagedError, NotFoundError, SettingsError, StoreError
from bnmf_core.core.names import clean_name
from bnmf_core.store import files

COMPONENT, MODE = "component", "mode"
LONGEST_NAME, LONGEST_TEXT = 40, 2_000
ID = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, eq=False)
class Note:
    """A name and a note.

    kind : of what, ``component`` or ``mode``. A : (D,) the component, or (D, R) the mode's most
    typical basis. created : seconds since 1970.
    """

    id: str
    kind: str
    name: str
    text: str
    A: np.ndarray
    created: float

    @property
    def caption(self) -> str:
        """The name and the text, in one line."""
        return ": ".join(filter(None, (self.name, clean_name(self.text, LONGEST_TEXT))))


class NoteBook:
    """The notes of one owner, by dataset.

    Parameters
    ----------
    root : folder of the store. owner : whose notes.
    """

    def __init__(self, root: Path, owner: str) -> None:
        self._folder = root / "notes" / hashlib.sha256(owner.encode()).hexdigest()[:12]

    def of(self, dataset_id: str) -> list[Note]:
        """The notes on these data, the oldest first; see :meth:`damaged`."""
        return self._read(dataset_id)[0]

    def damaged(self, dataset_id: str) -> str:
        """How many notes on these data cannot be read and are left out; "" where none is."""
        count = self._read(dataset_id)[1]
        if not count:
            return ""
        several = f"{count} names or notes are" if count > 1 else "1 name or note is"
        return f"{several} damaged on the disk and left out."

    def _read(self, dataset_id: str) -> tuple[list[Note], int]:
        found, damaged = [], 0
        for path in (self._folder / dataset_id).glob("*.npz"):
            try:
                found.append(read(path))
            except DamagedError:
                damaged += 1
            except StoreError:  # removed at this moment
                continue
        return sorted(found, key=lambda note: (note.created, note.id)), damaged

    def keep(
        self, dataset_id: str, kind: str, A: np.ndarray, name: str, text: str = "", id: str = ""
    ) -> Note:
        """Keep a note; one with this ``id`` is replaced.

        Raises
        ------
        SettingsError
            When there is neither a name nor a text.
        """
        name, text = clean_name(name, LONGEST_NAME), text.strip()[:LONGEST_TEXT]
        if not name and not text:
            raise SettingsError("A note needs a name or a text; remove it to have none.")
        note = Note(
            id or secrets.token_hex(4), kind, name, text, np.asarray(A, np.float64), time.time()
        )
        write(self.path(dataset_id, note.id), note)
        return note

    def remove(self, dataset_id: str, id: str) -> None:
        """Remove a note, if it is there."""
        files.remove(self.path(dataset_id, id))

    def on_runs(self, run_ids: Collection[str]) -> str:
        """The note on these runs, in any order; "" without one.

        Raises
        ------
        DamagedError
            When it cannot be read.
        """
        path = self._path_on_runs(run_ids)
        return str(files.read_json(path)["text"]) if path.exists() else ""

    def keep_on_runs(self, run_ids: Collection[str], text: str) -> None:
        """Store a note on these runs; "" removes it."""
        path, text = self._path_on_runs(run_ids), text.strip()[:LONGEST_TEXT]
        if text:
            files.write_json(path, {"runs": sorted(run_ids), "text": text})
        else:
            files.remove(path)

    def _path_on_runs(self, run_ids: Collection[str]) -> Path:
        named = hashlib.sha256(",".join(sorted(run_ids)).encode()).hexdigest()[:16]
        return self._folder / "runs" / f"{named}.json"

    def path(self, dataset_id: str, id: str) -> Path:
        """The file of a note."""
        if not ID.fullmatch(id):
            raise NotFoundError(f"There is no note {clean_name(id)!r}.")
        return self._folder / dataset_id / f"{id}.npz"


def write(path: Path, note: Note) -> None:
    """Write one note into a file."""
    fields = {"kind": note.kind, "name": note.name, "text": note.text, "created": note.created}
    files.write_arrays(path, {"A": note.A, "told": np.array(json.dumps(fields))})


def read(path: Path) -> Note:
    """Read what :func:`write` wrote; its id is the file's name.

    Raises
    ------
    DamagedError
        When the file is damaged, or no note.
    """
    arrays = files.read_arrays(path)
    try:
        fields = json.loads(str(arrays["told"]))
        note = Note(
            path.stem,
            str(fields["kind"]),
            clean_name(fields["name"], LONGEST_NAME),
            str(fields["text"])[:LONGEST_TEXT],
            np.asarray(arrays["A"], dtype=np.float64),
            float(fields["created"]),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise DamagedError(f"The note {path.name} cannot be read: {error}.") from error
    right = {COMPONENT: 1, MODE: 2}.get(note.kind)
    if note.A.ndim != right or not np.isfinite(note.A).all() or not note.A.any():
        raise DamagedError(f"The note {path.name} is on nothing that can be named.")
    return note
