"""``app``: run the dashboard."""

import argparse
import os
from pathlib import Path

from bnmf_core.cli.output import Commands, Output
from bnmf_core.core.errors import SettingsError
from bnmf_core.notebook import server
from bnmf_core.store.home import data_home, make


def add_commands(commands: Commands) -> None:
    """Add ``app``."""
    command = commands.add("app", "run the dashboard; Ctrl-C stops it", app)
    command.add_argument("--port", type=int, default=8501, help="(default: %(default)s)")
    command.add_argument(
        "--home", type=Path, dest="store", metavar="DIR", help="the same as --store"
    )


def app(options: argparse.Namespace, output: Output) -> None:
    """Replace this process by the server."""
    if not 1 <= options.port <= 65535:
        raise SettingsError(f"--port was {options.port}; a number from 1 to 65535 is needed.")
    home = options.store or data_home()
    make(home)
    command, environment = server.command(options.port), server.environment(home)
    output.note(f"Everything is kept in {home}.")
    os.chdir(str(server.FOLDER))
    os.execve(command[0], command, environment)
