"""Read-only access to runs that another owner shares."""

from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

from bnmf_core.core.errors import NotFoundError, StoreError
from bnmf_core.store.database import Database
from bnmf_core.store.life import Life
from bnmf_core.store.notes import NoteBook
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import DatasetEntry, RunStore

REFUSED = (
    "These runs are somebody else's, who shows them to you: nothing can be changed here. Download "
    "the archive, under Overview, and open it among your own runs."
)


def _refused(*arguments: Any, **named: Any) -> NoReturn:
    raise StoreError(REFUSED)


class GuestStore(RunStore):
    """A read-only store that shows only some runs and their data.

    Parameters
    ----------
    root : folder of the store. run_ids : the runs that are shown.

    Every change raises a StoreError.
    """

    add_dataset = delete_run = _refused

    def __init__(self, root: str | Path, run_ids: Collection[str]) -> None:
        super().__init__(root)
        self._run_ids = frozenset(run_ids)
        self.database = Database(self.root, REFUSED)
        self.life = Life(self.database, self.owner)
        self.notes = _NotesOfAnother(self.root, self.owner)

    def run(self, run_id: str) -> RunRecord:
        """The record of a run that is shown."""
        if run_id not in self._run_ids:
            raise NotFoundError(f"There is no run {run_id!r} in this store.")
        return super().run(run_id)

    def dataset_entries(self) -> list[DatasetEntry]:
        """The data of the runs that are shown."""
        used = self.datasets_in_use()
        return [entry for entry in super().dataset_entries() if entry.id in used]

    def datasets_in_use(self) -> set[str]:
        """Ids of the data of the runs that are shown."""
        return {run.dataset for run in self.runs()}

    def made(self) -> dict[str, int]:
        """Number of particles of each run that is shown."""
        return {run_id: done for run_id, done in super().made().items() if run_id in self._run_ids}

    def _select(self) -> tuple[list[RunRecord], dict[str, str]]:
        found, unreadable = super()._select()
        return (
            [record for record in found if record.id in self._run_ids],
            {run_id: why for run_id, why in unreadable.items() if run_id in self._run_ids},
        )


class _NotesOfAnother(NoteBook):
    """Read-only notes of the owner."""

    keep = remove = keep_on_runs = _refused
