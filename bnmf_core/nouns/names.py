"""Names and labels that come from outside, made safe to show."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

MAX_NAME = 200

# Other kinds of character that are never seen: control, format (right-to-left marks,
# zero-width spaces), half of a surrogate pair, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def clean_name(text: object, limit: int = MAX_NAME) -> str:
    """One line of visible text: unseen characters removed, at most ``limit`` characters.

    Tabs and line ends become spaces, so that the words beside them stay apart.
    """
    text = str(text)
    # A megabyte in one cell is shortened before it is looked at character by character.
    shortened = text[: 4 * limit]
    if not (shortened.isascii() and shortened.isprintable()):
        shortened = "".join(
            " " if character.isspace() else character
            for character in shortened
            if character.isspace() or unicodedata.category(character) not in _UNSEEN
        )
    clean = " ".join(shortened.split())
    return clean if len(clean) <= limit else clean[: limit - 1] + "…"


def clean_names(texts: Iterable[object], fallback: str) -> list[str]:
    """Names that differ from each other: an empty one is called ``fallback`` and its number.

    A name that was there before gets " (2)", " (3)" and so on.
    """
    taken: set[str] = set()
    following: dict[str, int] = {}
    names = []
    for position, text in enumerate(texts, start=1):
        base = clean_name(text) or f"{fallback} {position}"
        name = base
        while name in taken:
            following[base] = following.get(base, 1) + 1
            name = f"{base} ({following[base]})"
        taken.add(name)
        names.append(name)
    return names


def told_apart(labels: Mapping[str, str]) -> dict[str, str]:
    """The same labels by key, with the key added to those that several have."""
    count = Counter(labels.values())
    return {key: f"{label} ({key})" if count[label] > 1 else label for key, label in labels.items()}
