"""``transforms``: learn or import a library of transforms for Q-Transform."""

import argparse
from dataclasses import fields
from pathlib import Path

from bnmf_core.cli.inputs import find_data
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import open_store
from bnmf_core.core.errors import StoreError
from bnmf_core.explorers import library
from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.explorers.transforms import SETS_IN_PAPER, Recipe, TransformLibrary

USUAL = {field.name: field.default for field in fields(Recipe)}


def add_commands(commands: Commands) -> None:
    """Add ``transforms``."""
    words = "learn a library of transforms for Q-Transform, or import one"
    command = commands.add("transforms", words, transforms)
    what = command.add_mutually_exclusive_group(required=True)
    what.add_argument("--output", type=Path, metavar="FILE", help="learn one and write it (.npz)")
    what.add_argument("--add", type=Path, metavar="FILE", help="bring one in; prints its key")
    command.add_argument("--process", default=USUAL["process"], help=", ".join(PROCESSES))
    for option, words in (
        ("rank", "transfer rank"),
        ("size", "rows and columns of the small matrices"),
        ("source-rank", "rank of the small matrices (default: the transfer rank)"),
        ("restarts", "pairs of transforms from each small matrix"),
    ):
        default = USUAL[option.replace("-", "_")]
        command.add_argument(f"--{option}", type=int, default=default, help=words)
    command.add_argument("--noise", type=float, default=USUAL["noise"], help="on their products")
    command.add_argument("--sets", type=int, default=SETS_IN_PAPER, help="number of matrices")
    command.add_argument(
        "--target", metavar="DATA", help="sample, generator, file or id, for sources that need it"
    )


def transforms(options: argparse.Namespace, output: Output) -> None:
    """Learn a library and write it to a file, or import one."""
    if options.add is not None:
        found = TransformLibrary.load(options.add)
        library.keep(found)
        words = f"kept; runs use it by --set library={found.key}"
    else:
        target = None
        if options.target is not None:
            store = open_store(options.store)
            target = find_data(options.target, store)
        found = library.transform_library(
            options.rank,
            options.sets,
            process=options.process,
            size=options.size,
            source_rank=options.source_rank,
            noise=options.noise,
            restarts=options.restarts,
            target=target,
        )
        try:
            found.save(options.output)
        except OSError as error:
            raise StoreError(
                f"The file {str(options.output)!r} cannot be written: {error.strerror or error}."
            ) from error
        words = f"written to {options.output}"
    document = {
        "key": found.key,
        "pairs": found.count,
        "rank": found.rank,
        "recipe": dict(found.recipe),
    }
    output.result(
        document,
        lambda: output.say(
            f"Library {found.key}, {found.count} pairs of transfer rank {found.rank}: {words}"
        ),
    )
