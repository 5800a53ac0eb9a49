"""Damage of a store on the disk: its list of runs, its runs, its data, its names."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.errors import DamagedError, StoreError
from bnmf_core.core.names import listed
from bnmf_core.core.particles import Particles
from bnmf_core.store import records
from bnmf_core.store.database import NAME
from bnmf_core.store.lost import lost_runs
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import RunStore


@dataclass(frozen=True)
class Damage:
    """A damaged part of a store.

    what : "list", "run", "data" or "names". id : of the run or the data, "" of the list.
    said : the message: what is left out, and what to do. left_out : numbers of factorizations.
    """

    what: str
    id: str
    said: str
    left_out: tuple[int, ...] = ()


def of_list(store: RunStore) -> Iterator[Damage]:
    """Runs missing from the list because the list or their entries are damaged."""
    set_aside = store.database.set_aside
    if set_aside is not None:
        yield Damage(
            "list",
            "",
            f"The list of runs was damaged and has been set aside as {set_aside.name}. "
            "`bnmf recover` brings back the runs that are on the disk.",
        )
    elif lost := lost_runs(store):
        several, them = (f"{len(lost)} runs are", "them") if len(lost) > 1 else ("1 run is", "it")
        yield Damage(
            "list",
            "",
            f"{several} on the disk but not in the list, which was lost or damaged. "
            f"`bnmf recover` brings {them} back.",
        )
    for run_id, sentence in store.unreadable().items():
        yield Damage("run", run_id, sentence)


def of_run(store: RunStore, record: RunRecord) -> Iterator[Damage]:
    """Damage of a run's entry and of its factorizations, all of which are read."""
    try:
        copied = records.read_copy(store.run_folder(record.id))
    except (StoreError, KeyError, TypeError, ValueError):
        copied = None  # the copy is damaged: the entry itself is there
    if copied is not None:
        wrong = [name for name in records.FIXED if getattr(copied, name) != getattr(record, name)]
        if wrong:
            yield Damage(
                "run",
                record.id,
                f"Run {record.id}: its entry in the list of runs is damaged "
                f"({listed(wrong)}). To rebuild the list from the copies in the folders of the "
                f"runs, stop the program, rename {NAME} and call `bnmf recover`.",
            )
    if record.active or not record.done:
        return
    try:
        yield from of_particles(record, store.particles(record.id))
    except DamagedError as error:
        yield Damage("run", record.id, str(error))
    except StoreError:
        return  # of another version: no damage


def of_particles(record: RunRecord, particles: Particles) -> Iterator[Damage]:
    """Factorizations of a run that were left out because they are damaged."""
    if damage := particles.info.get("damage"):
        missing = np.setdiff1d(np.arange(record.done), particles.ids)
        again = f"`bnmf code {record.id}` prints the program that makes the run again."
        again = "" if "resuming" in damage else f" {again}"
        yield Damage(
            "run", record.id, f"Run {record.id}: {damage}.{again}", tuple(missing.tolist())
        )


def of_data(store: RunStore, dataset_id: str) -> Iterator[Damage]:
    """Damage of a dataset, which is read in full."""
    try:
        store.dataset(dataset_id)
        store.verify_dataset(dataset_id)
    except DamagedError as error:
        yield Damage("data", dataset_id, str(error))


def of_names(store: RunStore, dataset_id: str) -> Iterator[Damage]:
    """Number of damaged names and notes on a dataset."""
    if sentence := store.notes.damaged(dataset_id):
        yield Damage("names", dataset_id, sentence)
