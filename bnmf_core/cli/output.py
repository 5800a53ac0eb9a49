"""Terminal output: results on stdout, progress and errors on stderr."""

import argparse
import json
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from rich import box
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from bnmf_core.store.health import Damage

# Seconds between two lines of progress where stderr is no terminal.
TELL_EVERY = 30.0


class Output:
    """Tables or one JSON document on stdout, everything else on stderr.

    User text (names, file names) is never interpreted as markup.
    """

    def __init__(self) -> None:
        self.as_json = False
        # Damage found in the store.
        self.damage: list[Damage] = []
        # Sentences on damaged results that were computed again.
        self.repaired: list[str] = []
        # A pipe gets whole lines, whatever their width.
        width = None if sys.stdout.isatty() else 500
        self._screen = Console(highlight=False, markup=False, soft_wrap=True, width=width)
        self._aside = Console(stderr=True, highlight=False, markup=False, soft_wrap=True)

    def result(self, document: object, show: Callable[[], None]) -> None:
        """Print the document as JSON if requested, else call ``show``.

        The document includes ``damage``, and ``repaired`` results that were computed again.
        """
        if self.as_json:
            if isinstance(document, dict):
                found = {"damage": [vars(o) for o in self.damage], "repaired": self.repaired}
                document = document | {key: value for key, value in found.items() if value}
            sys.stdout.write(json.dumps(document, default=_plain, indent=1, allow_nan=False) + "\n")
        else:
            show()

    def say(self, words: str) -> None:
        """Print a line of the result."""
        self._screen.print(Text(words))

    def note(self, words: str) -> None:
        """Print a line to stderr."""
        self._aside.print(Text(words))

    def damaged(self, found: Iterable[Damage]) -> None:
        """Report each damage once; the exit code reflects it."""
        for one in found:
            if one not in self.damage:
                self.damage.append(one)
                self._aside.print(Text(one.said, style="yellow"))

    def error(self, words: str) -> None:
        """Print an error."""
        self._aside.print(Text(" ".join(words.split()), style="red"))

    def table(
        self, columns: Sequence[str], rows: Iterable[Sequence[object]], title: str = ""
    ) -> None:
        """Print a table; numbers are right-aligned.

        Only the last column wraps on a narrow screen.
        """
        cells = [list(row) for row in rows]
        if title:
            self.say(title)
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
        for position, column in enumerate(columns):
            numbers = all(isinstance(row[position], int | float | np.number) for row in cells)
            table.add_column(
                column,
                justify="right" if numbers else "left",
                overflow="fold",
                no_wrap=position < len(columns) - 1,
            )
        for row in cells:
            table.add_row(*(Text(_short(value)) for value in row))
        self._screen.print(table, soft_wrap=False)

    @contextmanager
    def progress(self) -> Iterator[Progress]:
        """Progress bars on stderr, or occasional lines if it is no terminal."""
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[made]}", markup=False),
        )
        bars = Progress(*columns, console=self._aside, transient=True)
        if self._aside.is_terminal:
            with bars:
                yield bars
            return
        ended, begun = threading.Event(), set[TaskID]()

        def tell() -> None:
            over = False
            while not over:
                over = ended.wait(TELL_EVERY)
                for task in bars.tasks:
                    words = f"{task.description}: {task.percentage:.0f} %"
                    if task.finished and task.id in begun:
                        begun.remove(task.id)
                        self.note(words)
                    elif not task.finished and not over:
                        begun.add(task.id)
                        self.note(f"{words}, {task.fields['made']}".removesuffix(", "))

        teller = threading.Thread(target=tell, daemon=True)
        teller.start()
        try:
            yield bars
        finally:
            ended.set()
            teller.join()


def duration(seconds: float | None) -> str:
    """Seconds in words."""
    if seconds is None:
        return "time unknown"
    if seconds < 90:
        return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _short(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    return str(value)


def _plain(value: object) -> object:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} is not a JSON value")


class Commands:
    """The commands of the program; each has the ``shared`` options."""

    def __init__(self, whole: argparse.ArgumentParser, shared: argparse.ArgumentParser) -> None:
        self._added = whole.add_subparsers(title="commands", required=True, metavar="COMMAND")
        self._shared = shared

    def add(
        self, name: str, words: str, act: Callable[..., object], *parents: argparse.ArgumentParser
    ) -> argparse.ArgumentParser:
        """Add a command with the options of its parents; ``words`` are its help."""
        parents = (self._shared, *parents)
        command = self._added.add_parser(name, parents=parents, help=words, description=words)
        command.set_defaults(act=act)
        return command
