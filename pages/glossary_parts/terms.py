"""The terms of the glossary in ``terms.toml``."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """Meaning of a term, the page that shows it, and its source.

    ``words`` : its forms in sentences, by default its name.
    """

    name: str
    about: str
    page: str
    source: str = ""
    words: tuple[str, ...] = ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """Its forms in sentences."""
        return tuple(self.words) or (self.name,)

    def holds(self, words: str) -> bool:
        """Whether all of these words are in its name or its meaning."""
        text = f"{self.name} {self.about}".lower()
        return all(word in text for word in words.lower().split())


@cache
def terms() -> list[Term]:
    """All terms, by their names."""
    file = Path(__file__).with_name("terms.toml")
    found = [Term(**entry) for entry in tomllib.loads(file.read_text("utf-8"))["term"]]
    return sorted(found, key=lambda term: term.name.lower())
