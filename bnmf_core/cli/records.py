"""Runs of the store, as tables and as JSON."""

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from bnmf_core.cli.output import Output, duration
from bnmf_core.core.names import distinct_labels
from bnmf_core.core.plain import Plain
from bnmf_core.store import health
from bnmf_core.store.home import OWNERS, data_home, owners_in
from bnmf_core.store.records import RunRecord
from bnmf_core.store.run_store import RunStore


def open_store(folder: Path | None) -> RunStore:
    """The store in this folder, or the one that the dashboard uses.

    Raises
    ------
    StoreError
        When the folder cannot be made or written.
    """
    return RunStore(data_home() if folder is None else folder)


def tell_list(folder: Path | None, output: Output) -> None:
    """Report runs on the disk that the list does not show."""
    if (root := folder or data_home()).is_dir() and any(root.iterdir()):
        output.damaged(health.of_list(open_store(root)))


def of_one_owner(store: RunStore) -> str:
    """A hint to the owners' stores in the folder of a shared server; "" elsewhere."""
    owners = len(owners_in(store.root))
    if not owners:
        return ""
    return (
        f"This is the folder of a server that several share, {owners} so far; name the store of "
        f"one of them: --store {store.root / OWNERS}/NUMBER."
    )


def document(record: RunRecord, store: RunStore) -> dict[str, Plain]:
    """A run as plain values."""
    return {
        "id": record.id,
        "name": record.name,
        "launch": {"id": record.launch, "name": record.launch_name},
        "status": record.status,
        "message": record.message,
        "version": record.version,
        "dataset": {"id": record.dataset, "name": store.datasets().get(record.dataset, "")},
        "created": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="seconds"),
        "seconds": record.seconds,
        "done": record.done,
        "fraction": record.fraction,
        "remaining": record.remaining,
        "spec": record.spec.to_dict(),
    }


def show_runs(records: Sequence[RunRecord], store: RunStore, output: Output) -> None:
    """A table with one line per run."""
    names = distinct_labels(store.datasets())
    columns = ["run", "algorithm", "rank", "made", "status", "time", "data"]
    rows = [
        [
            r.id,
            r.spec.algorithm,
            r.spec.rank,
            f"{r.done}/{r.spec.particles}",
            r.status,
            duration(r.seconds),
            names.get(r.dataset, ""),
        ]
        for r in records
    ]
    if any(record.name for record in records):
        columns.insert(1, "name")
        for record, row in zip(records, rows, strict=True):
            row.insert(1, record.name)
    output.table(columns, rows)
