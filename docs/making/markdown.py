"""Small pieces of Markdown, as the pages that are made from the program need them."""

import re
from collections.abc import Iterable, Sequence

# What would be read as markup inside a sentence. Quotes and dashes are left alone.
SPECIAL = re.compile(r"([\\`*_{}\[\]<>$|#])")
ROLE = re.compile(r":[a-z]+:`~?\.?([^`]+)`")
CODE = re.compile(r"(``.+?``)", re.DOTALL)


def escaped(text: object) -> str:
    """The text, shown as it stands."""
    return SPECIAL.sub(r"\\\1", str(text))


def prose(text: str) -> str:
    """Sentences of a docstring: ``code`` stays code, all else is shown as it stands.

    >>> prose("``W`` (M, R, N), see :class:`Batch`: |x| <= 1")
    '`W` (M, R, N), see `Batch`: \\\\|x\\\\| \\\\<= 1'
    """
    text = ROLE.sub(lambda found: f"``{found[1].split('.')[-1]}``", text)
    pieces = CODE.split(text)
    pieces[::2] = [escaped(piece) for piece in pieces[::2]]
    pieces[1::2] = [piece[1:-1] for piece in pieces[1::2]]
    return "".join(pieces)


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(' '.join(cell.split()) for cell in line)} |" for line in lines)


def code(text: str, language: str = "") -> str:
    """A block of code."""
    return f"```{language}\n{text.strip()}\n```"


def listed(links: Iterable[str]) -> str:
    """A list with a point for each."""
    return "\n".join(f"- {link}" for link in links)


def slug(heading: str) -> str:
    """The anchor of a heading, as GitHub and the site have it.

    >>> slug("Which mode should I plot?")
    'which-mode-should-i-plot'
    """
    kept = re.sub(r"[^\w\- ]", "", heading.strip().lower())
    return kept.replace(" ", "-")
