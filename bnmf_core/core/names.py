"""Names and labels that come from outside, made safe to show; lists and shares in words."""

import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal

MAX_NAME = 200

# Other kinds of character that are never seen: control, format (right-to-left marks,
# zero-width spaces), half of a surrogate pair, line and paragraph separators.
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def clean_name(text: object, limit: int = MAX_NAME) -> str:
    """One line of visible text: unseen characters removed, at most ``limit`` characters.

    Tabs and line ends become spaces, so that the words beside them stay apart.
    """
    text = str(text)
    # A megabyte in one cell is shortened before the loop over characters.
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


def distinct_labels(labels: Mapping[str, str], *longer: Mapping[str, str]) -> dict[str, str]:
    """Make labels distinct: repeated ones become ``longer``, and finally get their key.

    >>> distinct_labels({"a": "Gibbs", "b": "Gibbs"}, {"a": "Gibbs, seed 1", "b": "Gibbs, seed 2"})
    {'a': 'Gibbs, seed 1', 'b': 'Gibbs, seed 2'}
    """
    found = dict(labels)
    for further in (*longer, None):
        count = Counter(found.values())
        found = {
            key: label
            if count[label] == 1
            else further[key]
            if further is not None
            else f"{label} ({key})"
            for key, label in found.items()
        }
    return found


def no_formula(text: str) -> str:
    """Text that no spreadsheet takes for a formula, as a cell of a CSV file.

    >>> no_formula("=1+1"), no_formula("a = 1")
    ("'=1+1", 'a = 1')
    """
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def numbered(called: Iterable[str], count: int = 0) -> list[str]:
    """Things by their numbers, from 1, each with what it was called, if anything.

    ``count``: how many there are where none was called anything.

    >>> numbered(["late", ""])
    ['1 (late)', '2']
    >>> numbered([], 2)
    ['1', '2']
    """
    names = list(called) or [""] * count
    return [f"{k} ({name})" if name else str(k) for k, name in enumerate(names, start=1)]


def listed(words: Iterable[object], last: str = "and") -> str:
    """Words one after the other, the last one behind "and".

    >>> listed([4, 6, 8])
    '4, 6 and 8'
    >>> listed(["4"])
    '4'
    """
    *others, end = map(str, words)
    return f"{', '.join(others)} {last} {end}" if others else end


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it takes to say that it is neither 0 nor 1."""
    if math.isnan(share):
        return "not computed"
    if 0 < share < 0.001:
        return "< 0.1 %"
    if 0.999 < share < 1:
        return "> 99.9 %"
    digits = 1 if 0 < share < 0.1 or 0.9 < share < 1 else 0
    return f"{100 * share:.{digits}f} %"


def in_digits(value: float, spec: str = ".3g") -> str:
    """Format a number in significant digits, without an exponent or with a raised one.

    >>> in_digits(18_421.0), in_digits(2.1e-5), in_digits(3e-9, "#.2g"), in_digits(0.2)
    ('18,400', '0.000021', '3.0·10⁻⁹', '0.2')
    """
    number = format(value, spec)
    mantissa, exponential, exponent = number.partition("e")
    if not exponential:
        return number
    if -7 < int(exponent) < 10:
        return f"{Decimal(number):,f}"
    return f"{mantissa}·10{str(int(exponent)).translate(_RAISED)}"


def no_more(r_hat: float, ess: float) -> tuple[float, float]:
    """R̂ with two digits that it does not exceed, and an ESS that it is not below.

    >>> no_more(1.011, 301.7)
    (1.02, 301.0)
    """
    return round(r_hat + 0.005 - 1e-9, 2), ess // 1.0
