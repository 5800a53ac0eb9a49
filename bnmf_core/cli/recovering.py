"""``recover``: runs whose entries in the index are lost come back from their folders."""

import argparse

from bnmf_core.cli.commands import Commands
from bnmf_core.cli.output import Output
from bnmf_core.cli.records import open_store
from bnmf_core.store.lost import bring_back


def add_commands(commands: Commands, parents: list[argparse.ArgumentParser]) -> None:
    """Add ``recover``."""
    words = "bring back runs that are on the disk and not in the list, which was lost or damaged"
    command = commands.add_parser("recover", parents=parents, help=words, description=words)
    command.set_defaults(act=recover)


def recover(options: argparse.Namespace, output: Output) -> None:
    """Enter what is not in the index, and say what could not be."""
    brought = bring_back(open_store(options.store))

    def show() -> None:
        runs, datasets = len(brought.runs), brought.datasets
        output.say(
            f"{runs} run{'s' if runs != 1 else ''} and {datasets} dataset"
            f"{'s' if datasets != 1 else ''} are in the list again."
            if runs or datasets
            else "Everything on the disk is in the list."
        )
        for sentence in brought.said:
            output.say(sentence)

    told = {"runs": list(brought.runs), "datasets": brought.datasets, "said": list(brought.said)}
    output.result(told, show)
