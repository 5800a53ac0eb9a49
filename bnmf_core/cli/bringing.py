"""``bring``: import factorizations of other programs as runs."""

import argparse
from pathlib import Path

from bnmf_core.cli import arguments
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import document, open_store, show_runs
from bnmf_core.core.errors import NotFoundError
from bnmf_core.data.foreign import pair
from bnmf_core.data.load import foreign_matrices
from bnmf_core.runs.foreign import bring as keep


def add_commands(commands: Commands) -> None:
    """Add ``bring``."""
    command = commands.add("bring", "import factorizations of other programs as runs", bring)
    arguments.add_data(command, "their data: a sample, a generator, a file, or an id")
    command.add_argument(
        "results",
        nargs="+",
        help="files or folders: matrices A and W of any program; or draws, as NPZ or NetCDF with "
        "A (chains, draws, D, R) and W (chains, draws, R, N), whose values and chains are kept",
    )
    command.add_argument(
        "--name", default="", help="label of the runs (default: the program and the file)"
    )


def bring(options: argparse.Namespace, output: Output) -> None:
    """Import the factorizations and show the runs."""
    store = open_store(options.store)
    dataset = arguments.dataset(options, store, output)
    matrices = []
    for name in options.results:
        path = Path(name)
        if not path.exists():
            raise NotFoundError(f"There is no file or folder {name!r}.")
        matrices += foreign_matrices(path)
    run_ids = keep(store, dataset, pair(matrices, dataset), options.name)
    records = [store.run(run_id) for run_id in run_ids]
    output.result(
        {"runs": [document(record, store) for record in records]},
        lambda: show_runs(records, store, output),
    )
