"""What the guide says is on screen is there: **bold** words are words of the program."""

import ast
import re
from functools import cache

import pytest

from tests.docs.written import BOLD, ROOT, by_hand, without_code

GUIDE = {
    path: text
    for path, text in by_hand().items()
    if path.startswith(("guide/", "pages/")) or path == "faq.md"
}


@cache
def shown() -> tuple[str, tuple[re.Pattern[str], ...]]:
    """All texts of the program in one, and patterns of those that have gaps."""
    whole, patterns = [], []
    for folder in ("pages", "bnmf_core", "studies"):
        for file in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(file.read_text("utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    whole.append(node.value)
                elif isinstance(node, ast.JoinedStr):
                    parts = [
                        re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+"
                        for part in node.values
                    ]
                    if sum(len(part) for part in parts if part != ".+") > 4:
                        patterns.append(re.compile("".join(parts)))
    whole += [file.read_text("utf-8") for file in sorted((ROOT / "studies").rglob("*.toml"))]
    return "\n".join(whole), tuple(patterns)


def on_screen(words: str) -> bool:
    """Whether the program has these words in a text of its own."""
    text, patterns = shown()
    return words in text or any(pattern.fullmatch(words) for pattern in patterns)


@pytest.mark.parametrize("path", sorted(GUIDE))
def test_bold_words_are_words_of_the_program(path):
    for found in BOLD.findall(without_code(GUIDE[path])):
        words = " ".join(found.split()).removesuffix(".")
        assert on_screen(words), f"{path} says that {words!r} is on screen"


def test_words_that_are_nowhere_are_not_found():
    assert on_screen("Threshold between modes")
    assert on_screen("Analyse 1,797 digits")
    assert not on_screen("Threshold " + "between moods")
