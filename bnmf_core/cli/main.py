"""The subcommands, and the handling of errors and Ctrl-C."""

import argparse
import sqlite3
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Never

from bnmf_core.cli import (
    analyse,
    apply,
    bringing,
    catalogue,
    comparing,
    libraries,
    operating,
    ranks,
    reading,
    results,
    running,
    serving,
    sharing,
    upkeep,
)
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import tell_list
from bnmf_core.core.errors import BNMFError, DamagedError, SettingsError
from bnmf_core.store import disk
from bnmf_core.store.health import Damage
from bnmf_core.version import VERSION

OK, FAILED, DAMAGED, CANCELLED = 0, 1, 3, 130
# Commands that do not read the store, or repair it.
WITHOUT_STORE = (
    *(catalogue.samples, reading.inspect, upkeep.recover),
    *(operating.back_up, operating.restore, operating.usage, operating.forget),
    serving.app,
)


class Parser(argparse.ArgumentParser):
    """An argument parser that raises errors as sentences."""

    def error(self, message: str) -> Never:
        """Raise instead of exiting."""
        raise SettingsError(f"{message[:1].upper()}{message[1:]}; see {self.prog} --help.")


def parser() -> Parser:
    """The command line; algorithms, models and settings come from the registry."""
    whole = Parser(
        prog="bnmf",
        description="Make and compare non-negative matrix factorizations, X ≈ A W. Runs started "
        "here appear in the dashboard, and vice versa.",
    )
    whole.add_argument("--version", action="version", version=f"bnmf {VERSION}")
    shared = argparse.ArgumentParser(add_help=False)
    shared.add_argument("--json", action="store_true", help="print one JSON document only")
    shared.add_argument(
        "--store",
        type=Path,
        metavar="FOLDER",
        help="folder of the store (default: BNMF_HOME, else ~/.local/share/bnmf)",
    )
    commands = Commands(whole, shared)
    for room in (
        analyse,
        apply,
        catalogue,
        reading,
        running,
        comparing,
        bringing,
        results,
        sharing,
        upkeep,
        operating,
        ranks,
        libraries,
        serving,
    ):
        room.add_commands(commands)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command.

    Returns 0, 1 after an error, 3 if damaged stored data were left out, or 130 when cancelled.
    """
    output = Output()
    try:
        options = parser().parse_args(arguments)
        output.as_json = options.json
        if options.act not in WITHOUT_STORE:
            tell_list(options.store, output)
        code = CANCELLED if options.act(options, output) == "cancelled" else OK
        return code or (DAMAGED if output.damage else OK)
    except SystemExit as leaving:  # --help
        return int(leaving.code or 0)
    except BNMFError as error:
        if isinstance(error, DamagedError):
            output.damaged([Damage("store", "", str(error))])
        else:
            output.error(str(error))
        if output.damage:
            output.result({}, lambda: None)
        return DAMAGED if output.damage else FAILED
    except BrokenPipeError:  # the reader of the pipe has left
        sys.stderr.close()
        return OK
    except (OSError, sqlite3.Error) as error:
        output.error(str(disk.not_done(error)))
        return FAILED
    except KeyboardInterrupt:
        output.error("Cancelled; what was made is kept.")
        return CANCELLED
