"""``apply``: fit the components of a mode to new samples."""

import argparse
from pathlib import Path

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.cli import arguments
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import open_store
from bnmf_core.cli.running import compute
from bnmf_core.compare.distances import DISTANCES, find_distance
from bnmf_core.compare.new_samples import apply_components, describe_fit, new_samples_table
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.names import no_formula, numbered
from bnmf_core.store import files


def add_commands(commands: Commands) -> None:
    """Add ``apply``."""
    words = "fit a mode's components to new samples, features matched by name or along an axis"
    command = commands.add("apply", words, apply)
    command.add_argument("run_ids", nargs="+", metavar="RUN_ID")
    arguments.add_data(command, "the new samples: a file, or the id of stored data")
    command.add_argument("--mode", type=int, default=1, help="by its number (default: 1)")
    command.add_argument(
        "--distance", default=next(iter(DISTANCES)), metavar="KEY", help=", ".join(DISTANCES)
    )
    command.add_argument(
        "--threshold", type=float, help="largest distance within a mode (default: suggested)"
    )
    command.add_argument(
        "--without-missing",
        action="store_true",
        help="fit without the features that the new samples lack, instead of refusing",
    )
    command.add_argument("--output", required=True, type=Path, metavar="FILE", help="weights (CSV)")


def apply(options: argparse.Namespace, output: Output) -> None:
    """Write weights, shares and misfit of new samples to a CSV file."""
    store, distance = open_store(options.store), find_distance(options.distance)
    comparison = open_comparison(store, options.run_ids)
    if comparison.of_tiles:
        raise SettingsError("These runs are of tiles; only runs of components can be applied.")
    new = arguments.dataset(options, store, output)
    compute(comparison, ["structure"], output)
    modes = structure.modes_at(comparison, distance.key, options.threshold)
    if not 1 <= options.mode <= modes.count:
        raise SettingsError(f"--mode was {options.mode}; there are modes 1 to {modes.count}.")
    first, chosen = modes.representative[0], modes.representative[options.mode - 1]
    # Components are numbered by mode 1.
    A = comparison.aligned([first, chosen])[1:]
    found = apply_components(
        A, comparison.seen_dataset, new, comparison.fit.loss, leave_out=options.without_missing
    )
    called, names = f"mode {options.mode}", [no_formula(name) for name in new.observations]
    table = new_samples_table(found, [called], names, numbered([], comparison.rank))
    text = table.to_csv(index=False).encode()
    files.hand_over(options.output, "file", lambda file: file.write(text))
    sentences = [describe_fit(found, 0, called, new.observations), found.matched]
    unlike = zip(new.observations, found.unlike[0], strict=True)
    document = {
        "mode": options.mode,
        "output": str(options.output),
        "samples": new.N,
        "said": sentences,
        "limit": float(found.limits[0]),
        "unlike": [name for name, far in unlike if far],
    }

    def show() -> None:
        for sentence in sentences:
            output.say(sentence)
        output.say(f"Weights of {new.N:,} samples written to {options.output}")

    output.result(document, show)
