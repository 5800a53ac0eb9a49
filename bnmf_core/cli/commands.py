"""What the files of this room add their commands to."""

import argparse
from collections.abc import Sequence
from typing import Protocol


class Commands(Protocol):
    """The commands of the program."""

    def add_parser(
        self,
        name: str,
        *,
        parents: Sequence[argparse.ArgumentParser],
        help: str,
        description: str,
    ) -> argparse.ArgumentParser:
        """Add a command, which has the options of its parents."""
