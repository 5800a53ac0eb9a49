"""``recover``: runs whose entries in the index are lost come back from their folders."""

import argparse

from bnmf_core.cli.commands import Commands
from bnmf_core.cli.output import Output
from bnmf_core.cli.records import open_store
from bnmf_core.store.home import owners_in
from bnmf_core.store.lost import bring_back


def add_commands(commands: Commands, parents: list[argparse.ArgumentParser]) -> None:
    """Add ``recover``."""
    words = "bring back runs that are on the disk and not in the list, which was lost or damaged"
    command = commands.add_parser("recover", parents=parents, help=words, description=words)
    command.set_defaults(act=recover)


def recover(options: argparse.Namespace, output: Output) -> None:
    """Enter what is not in the index, and say what could not be; of a shared server, of all."""
    store = open_store(options.store)
    everybodys = [store, *(open_store(folder) for folder in owners_in(store.root))]
    found = [bring_back(one) for one in everybodys]
    ids = [run_id for one in found for run_id in one.runs]
    datasets = sum(one.datasets for one in found)
    said = [sentence for one in found for sentence in one.said]

    def show() -> None:
        runs = len(ids)
        output.say(
            f"{runs} run{'s' if runs != 1 else ''} and {datasets} dataset"
            f"{'s' if datasets != 1 else ''} are in the list again."
            if runs or datasets
            else "Everything on the disk is in the list."
        )
        for sentence in said:
            output.say(sentence)

    told = {"runs": ids, "datasets": datasets, "said": said}
    output.result(told, show)
