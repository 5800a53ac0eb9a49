"""The terms of the glossary, as ``terms.toml`` holds them."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Term:
    """What a word on screen means, the page where it is seen, and where it comes from.

    ``words`` : how it is spoken of in sentences, its name if left out.
    """

    name: str
    about: str
    page: str
    source: str = ""
    words: tuple[str, ...] = ()

    @property
    def spoken(self) -> tuple[str, ...]:
        """How it is spoken of in sentences."""
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
