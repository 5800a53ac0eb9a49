"""``clean``: what nothing uses any more, and its removal."""

import argparse

from bnmf_core.analysis.unused import DATASET, find_unused, remove_unused
from bnmf_core.cli.commands import Commands
from bnmf_core.cli.output import Output
from bnmf_core.cli.records import of_one_owner, open_store


def add_commands(commands: Commands, parents: list[argparse.ArgumentParser]) -> None:
    """Add ``clean``."""
    words = "remove comparisons that nothing uses any more; datasets without runs if asked to"
    command = commands.add_parser("clean", parents=parents, help=words, description=words)
    command.add_argument("--datasets", action="store_true", help="also datasets without runs")
    command.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    command.set_defaults(act=clean)


def clean(options: argparse.Namespace, output: Output) -> None:
    """Remove, or list, what is not used."""
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
