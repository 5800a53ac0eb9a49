"""Options that commands share: data, seed, held-out observations."""

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
    """Add options for the data: reading of files and settings of generators."""
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
        help="seed of the generator and of the mask (default: 0)",
    )


def add_blocks(command: argparse.ArgumentParser) -> None:
    """Add options for data that are read in blocks."""
    group = command.add_argument_group("data larger than memory")
    group.add_argument(
        "--blocks",
        action="store_true",
        help="read the file or Zarr folder in blocks, with a sample in memory; of the reading "
        "options, only --observations can be given",
    )
    group.add_argument(
        "--sample",
        type=int,
        metavar="N",
        help=f"observations in memory, drawn by --data-seed (default: {SAMPLE:,})",
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
        help="share of the observations to hold out, 0 to 0.5",
    )


def model(given: str | None, dataset: Dataset, kind: str = "parts") -> tuple[str, str]:
    """The key of the given model, else of the proposed one, and the reason.

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
    chosen = registry.model(given)
    return chosen.key, f"“{chosen.label}” was asked for. {proposed.sentence}"


def dataset(
    options: argparse.Namespace, store: RunStore, output: Output, hide: float | None = None
) -> Dataset:
    """Load the data of :func:`add_data`; ``hide`` : fraction of entries to mask.

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
