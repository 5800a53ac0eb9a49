"""``backup``, ``restore``, ``usage`` and ``forget``: commands for operators."""

import argparse
import time
from pathlib import Path

from bnmf_core.cli.output import Commands, Output
from bnmf_core.core.errors import NotFoundError, RunError, SettingsError
from bnmf_core.core.limits import read_limits
from bnmf_core.core.names import clean_name
from bnmf_core.store import backup, forgetting, health
from bnmf_core.store.forgetting import Theirs
from bnmf_core.store.health import Damage
from bnmf_core.store.home import EVERYBODY, data_home, store_of
from bnmf_core.store.run_store import RunStore

# Seconds to wait for the runs of an owner to stop.
PATIENCE = 60.0
# Seconds to wait for late writes of an app.
SETTLED = 1.0


def add_commands(commands: Commands) -> None:
    """Add ``backup``, ``restore``, ``usage`` and ``forget``."""
    words = "back up everything of all owners into one file, also while the app runs"
    command = commands.add("backup", words, back_up)
    command.add_argument("file", type=Path, metavar="FILE", help="outside of what is backed up")
    words = "restore a backup into an empty or new folder, verified"
    command = commands.add("restore", words, restore)
    command.add_argument("file", type=Path, metavar="FILE")
    commands.add("usage", "show the disk space of each owner, and its limit", usage)
    words = "remove everything of an owner: runs, data, names, shared links"
    command = commands.add("forget", words, forget)
    command.add_argument(
        "owner",
        nargs="?",
        default="",
        help=f"as usage lists them; {EVERYBODY}: of the folder itself",
    )
    command.add_argument("--all", action="store_true", help="everybody")
    command.add_argument("--yes", action="store_true", help="do it; else it is only said")


def back_up(options: argparse.Namespace, output: Output) -> None:
    """Write the backup."""
    made = backup.write(_home(options), options.file)
    warnings = [f"{sentence} It is in the backup as it is." for sentence in made.said]
    output.damaged(Damage("list", "", sentence) for sentence in warnings)
    document = {"output": str(options.file), **vars(made)}
    where = f"{made.files:,} files ({made.bytes / 1e6:,.2f} MB) are in {options.file}."
    output.result(document, lambda: output.say(where))


def restore(options: argparse.Namespace, output: Output) -> None:
    """Restore a backup."""
    home = options.store or Path(data_home())
    made = backup.restore(options.file, home)
    document = {"store": str(home), **vars(made)}
    where = f"{made.files:,} files ({made.bytes / 1e6:,.2f} MB) are in {home}, each as it was."
    output.result(document, lambda: output.say(where))


def usage(options: argparse.Namespace, output: Output) -> None:
    """A line per owner."""
    home, most = _home(options), read_limits().disk
    found = [_theirs(home, owner, output) for owner in forgetting.owners(home)]

    def show() -> None:
        limit = f"{most:g} GB" if most else "no limit"
        columns = ["owner", "runs", "data", "MB", "of"]
        cells = [(o.owner, o.runs, o.data, f"{o.bytes / 1e6:,.2f}", limit) for o in found]
        output.table(columns, cells)

    output.result({"owners": list(map(vars, found)), "limit_bytes": round(most * 1e9)}, show)


def forget(options: argparse.Namespace, output: Output) -> None:
    """List what would be removed, or remove it."""
    home, known = _home(options), forgetting.owners(_home(options))
    if bool(options.owner) == options.all:
        raise SettingsError("Name one owner, as `bnmf usage` lists them, or give --all.")
    if options.owner and options.owner not in known:
        raise NotFoundError(
            f"There is no owner {clean_name(options.owner)!r} here; `bnmf usage` lists them."
        )
    found = [_theirs(home, name, output) for name in (known if options.all else [options.owner])]
    for entry in reversed(found) if options.yes else ():
        _stop(RunStore(store_of(home, entry.owner)), entry)
        # A running app may still write.
        while forgetting.parts_of(home, entry.owner):
            forgetting.forget(home, entry.owner)
            time.sleep(SETTLED)

    def show() -> None:
        for entry in found:
            output.say(f"{entry.owner}: {entry.counts}, {entry.bytes / 1e6:,.2f} MB.")
        output.say("All of it is removed." if options.yes else "Give --yes to remove it.")

    output.result({"owners": [vars(entry) for entry in found], "removed": options.yes}, show)


def _theirs(home: Path, owner: str, output: Output) -> Theirs:
    """Count what belongs to an owner and report damage of their list."""
    store = RunStore(store_of(home, owner))
    output.damaged(health.of_list(store))
    return forgetting.theirs(home, store)


def _stop(store: RunStore, found: Theirs) -> None:
    """Cancel the active runs of an owner and wait for them."""
    end = time.monotonic() + PATIENCE
    while active := [run for run in store.runs() if run.active]:
        for run in active:
            store.life.cancel(run.id)
        if time.monotonic() > end:
            raise RunError(
                f"{len(active)} runs of {found.owner} have not stopped after {PATIENCE:g} seconds; "
                "stop the app and try again."
            )
        time.sleep(0.2)


def _home(options: argparse.Namespace) -> Path:
    return data_home() if options.store is None else Path(options.store)
