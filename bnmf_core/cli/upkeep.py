"""``clean`` and ``recover``: remove unused results and recover lost entries."""

import argparse

from bnmf_core.analysis.unused import DATASET, find_unused, remove_unused
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import of_one_owner, open_store
from bnmf_core.store.home import owners_in
from bnmf_core.store.lost import bring_back


def add_commands(commands: Commands) -> None:
    """Add ``clean`` and ``recover``."""
    words = "remove unused comparisons, and optionally datasets without runs"
    command = commands.add("clean", words, clean)
    command.add_argument("--datasets", action="store_true", help="also datasets without runs")
    command.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    words = "restore runs that are on disk but missing from the list"
    commands.add("recover", words, recover)


def clean(options: argparse.Namespace, output: Output) -> None:
    """Remove or list unused results."""
    store = open_store(options.store)
    found = [one for one in find_unused(store) if options.datasets or one.kind != DATASET]
    total = sum(one.bytes for one in found)
    freed = 0 if options.dry_run else remove_unused(store, found)
    rows = [
        {"kind": one.kind, "key": one.key, "label": one.label, "bytes": one.bytes} for one in found
    ]

    def show() -> None:
        if not found:
            output.say(of_one_owner(store) or "Everything that is kept is in use.")
            return
        output.table(["what", "size"], [(one.label, f"{one.bytes / 1e6:.2f} MB") for one in found])
        done = "could be freed" if options.dry_run else "are free again"
        output.say(f"{(total if options.dry_run else freed) / 1e6:.2f} MB {done}.")

    output.result({"unused": rows, "bytes": total, "freed": freed}, show)


def recover(options: argparse.Namespace, output: Output) -> None:
    """Recover lost entries of the index, on a shared server those of all owners."""
    store = open_store(options.store)
    stores = [store, *(open_store(folder) for folder in owners_in(store.root))]
    found = [bring_back(owned) for owned in stores]
    ids = [run_id for one in found for run_id in one.runs]
    datasets = sum(one.datasets for one in found)
    failures = [sentence for one in found for sentence in one.failures]

    def show() -> None:
        runs = len(ids)
        output.say(
            f"{runs} run{'s' if runs != 1 else ''} and {datasets} dataset"
            f"{'s' if datasets != 1 else ''} are in the list again."
            if runs or datasets
            else "Everything on the disk is in the list."
        )
        for sentence in failures:
            output.say(sentence)

    document = {"runs": ids, "datasets": datasets, "said": failures}
    output.result(document, show)
