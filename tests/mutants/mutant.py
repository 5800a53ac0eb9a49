"""A mistake to plant."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """``before`` stands once in the file and becomes ``after``; ``tests`` have to notice."""

    name: str
    file: str
    before: str
    after: str
    tests: str
