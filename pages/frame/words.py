"""Text on screen: escaped text from files; times and sizes in words."""

import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

# Characters that begin Markdown, HTML, an entity or a formula.
_SPECIAL = re.compile(r"[\\`*_\[\]<>$~&|]")
# At the beginning of a text only: headings and lists.
_BEGINNING = re.compile(r"^\s*(?:([#+-])(?=[#+-]|\s|$)|(\d+)(?=[.)](?:\s|$)))")
# Directives (:red[…]), and what the browser makes of text after Markdown has been read, where a
# backslash no longer helps: icons, emoji, links, arrows. A character that is not seen and joins
# words breaks them up.
_READ_LATER = re.compile(
    r":(?=[\w+/-])|www(?=\.)|@(?=\w)|(?<!\S)[<>~-]+(?=[<>=-](?:\s|$))", re.IGNORECASE
)
JOINER = "\N{WORD JOINER}"


def plain(text: object) -> str:
    """Escape Markdown, HTML, formulas, links, icons and emoji."""
    return _plain(str(text))


# A page shows the same words again each time that it is drawn, a table of parts thousands.
@lru_cache(maxsize=8192)
def _plain(text: str) -> str:
    visible = "".join(character for character in text if character.isprintable())
    broken_up = _READ_LATER.sub(rf"\g<0>{JOINER}", re.sub(r" {2,}", " ", visible))
    escaped = _SPECIAL.sub(r"\\\g<0>", broken_up)
    return _BEGINNING.sub(lambda m: f"\\{m[1]}" if m[1] else f"{m[2]}{JOINER}", escaped)


def shown(labels: Mapping[Any, str]) -> Callable[[Any], str]:
    """``format_func`` of options whose labels are parsed as Markdown: escaped labels."""
    return lambda key: plain(labels[key])


def labelled(labels: Mapping[Any, str]) -> Callable[[Any], str]:
    """``format_func`` of a menu, which does not parse Markdown.

    A label that has changed since it was sent to the browser comes back in place of its option.
    """
    return lambda key: labels.get(key, str(key))


def capital(text: str) -> str:
    """Capitalize the first letter."""
    return text[:1].upper() + text[1:]


def with_unit(label: str, unit: str) -> str:
    """A label with its unit, if it has one."""
    return f"{label} ({unit})" if unit else label


NATS = "A nat is the unit of natural logarithms: 2.3 nats are a factor of ten."


def duration(seconds: float) -> str:
    """Seconds in words."""
    if seconds < 1:
        return "under a second"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"


def left(seconds: float | None) -> str:
    """The time left, if it is known."""
    if seconds is None:
        return "time left unknown yet"
    return f"{'' if seconds < 1 else 'about '}{duration(seconds)} left"


def size(count: float) -> str:
    """Bytes in words."""
    for unit in ("B", "KB", "MB", "GB"):
        if count < 1000 or unit == "GB":
            return f"{count:.0f} {unit}" if unit in ("B", "KB") else f"{count:.1f} {unit}"
        count /= 1000
    return ""
