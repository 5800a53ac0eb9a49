"""What several commands are given: data, a seed, observations to hold out."""

import argparse

from bnmf_core import registry
from bnmf_core.analysis.proposal import proposal
from bnmf_core.blocks.whole import SAMPLE
from bnmf_core.cli import inputs, reading
from bnmf_core.cli.output import Output
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.runs.launch import KINDS
from bnmf_core.store.run_store import RunStore


def add_data(command: argparse.ArgumentParser, words: str = "") -> None:
    """Add the data, how a file of them is read and how they are generated."""
    command.add_argument(
        "data", help=words or "a sample, a generator, a file, or the id of stored data"
    )
    reading.add_options(command)
    command.add_argument(
        "--data-set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the generator",
    )
    command.add_argument(
        "--data-seed",
        type=int,
        default=0,
        help="seed of the generator and of what is hidden (default: 0)",
    )


def add_blocks(command: argparse.ArgumentParser) -> None:
    """Add whether the data stay on the disk and are read in blocks."""
    group = command.add_argument_group("data larger than memory")
    group.add_argument(
        "--blocks",
        action="store_true",
        help="read the file or Zarr folder in blocks where it lies, with a sample in memory; of "
        "how it is read only --observations may be said",
    )
    group.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help=f"observations of it in memory, drawn by --data-seed (default: {SAMPLE:,})",
    )


def add_seed(command: argparse.ArgumentParser) -> None:
    """Add the seed of the results."""
    command.add_argument("--seed", type=int, default=0, help="same seed, same result (default: 0)")


def add_holdout(command: argparse.ArgumentParser) -> None:
    """Add the part of the observations that is held out."""
    command.add_argument(
        "--holdout",
        type=float,
        default=0.0,
        metavar="PART",
        help="part of the observations that no run sees, 0 to 0.5",
    )


def model(given: str | None, dataset: Dataset, kind: str = "parts") -> tuple[str, str]:
    """The model's key and the reason: the one that is given, else the one proposed for the data.

    Raises
    ------
    NotFoundError
        When there is no such model.
    """
    if kind != "parts":
        return given or KINDS[kind].model, ""
    proposed = proposal(dataset)
    if given is None or given == proposed.model:
        return proposed.model, proposed.sentence
    asked = registry.model(given)
    return asked.key, f"“{asked.label}” was asked for. {proposed.sentence}"


def dataset(
    options: argparse.Namespace, store: RunStore, output: Output, hide: float | None = None
) -> Dataset:
    """The data that :func:`add_data` asked for; ``hide`` is a fraction of entries to hide.

    Raises
    ------
    BNMFError
        When there are no such data, or they cannot be read.
    """
    if options.data_seed < 0:
        raise SettingsError(f"The data seed was {options.data_seed}; a number ≥ 0 is needed.")
    chosen = reading.choices(options)
    if getattr(options, "blocks", False):
        further = [*(["join"] if options.join else []), *(["hide"] if hide is not None else [])]
        return inputs.in_blocks(
            options.data,
            store,
            [*chosen, *further],
            chosen.get("observations", "rows"),
            options.sample,
            options.data_seed,
        )
    if getattr(options, "sample", None) is not None:
        raise SettingsError("--sample is for data that are read in blocks; give --blocks, too.")
    return inputs.find_data(
        options.data,
        store,
        chosen,
        inputs.pairs(options.data_set, "--data-set"),
        options.data_seed,
        hide,
        None if output.as_json else output.note,
        options.join,
    )
