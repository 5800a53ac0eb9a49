"""Facts and their sentences: numbers here, words in ``sentences.toml``."""

import math
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from string import Formatter
from typing import Any

from bnmf_core.core.names import in_digits, listed, percent

# Largest numbers of modes and of names that a sentence lists.
MODES, NAMES = 6, 4
# Angles below this are rounding, in degrees as in ℓ1 units.
IDENTICAL = 0.001


@dataclass(frozen=True)
class Fact:
    """A finding in numbers.

    key : of its sentence, in ``sentences.toml`` of this package, or of another one as
    "package:key". values : the numbers that the sentence names.
    """

    key: str
    values: Mapping[str, Any]


def fact(key: str, **values: Any) -> Fact:
    """A fact with these values.

    >>> fact("basin", share=0.62, mode=2).values["share"]
    0.62
    """
    return Fact(key, values)


def say(facts: Fact | Iterable[Fact], names: Sequence[str] = ()) -> str:
    """The sentences of facts.

    names : names of the modes, such as "mode 2 (late)"; a sentence uses each once, then its number.

    Besides Python's formats, a field has these: ``percent``; ``mode`` and ``modes``, by their
    numbers from 1, capitalized as ``Mode`` and ``Modes``; ``list``; ``names``, the first four;
    ``capital``; ``rotation``, degrees; ``one|many`` by a number or the length of a tuple, inserted
    for ``#``. A field that is a fact is replaced by its sentence.

    Examples
    --------
    >>> say(fact("basin", share=0.62, mode=2), ["mode 1", "mode 2 (late)"])
    '62 % of the restarts ended in mode 2 (late).'
    """
    if isinstance(facts, Fact):
        package, _, key = facts.key.rpartition(":")
        return _Words(names).vformat(_sentence(package or __package__, key), (), facts.values)
    return " ".join(say(one, names) for one in facts)


def plain(fact: Fact) -> dict[str, Any]:
    """A fact as plain values; unknown and infinite numbers are None."""
    return {"fact": fact.key} | {name: _plain(value) for name, value in fact.values.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, Fact):
        return plain(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


@cache
def _sentences(package: str) -> dict[str, Any]:
    file = resources.files(package).joinpath("sentences.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _sentence(package: str, key: str) -> str:
    found: Any = _sentences(package)
    for part in key.split("."):
        found = found[part]
    return str(found)


def rotation(degrees: float) -> str:
    """A remaining rotation in two digits; less than ``IDENTICAL`` is rounding.

    >>> rotation(0.7634), rotation(2e-7)
    ('0.76°', '0.001°')
    """
    return f"{max(degrees, IDENTICAL):.2g}°"


def _listed(values: Iterable[object]) -> str:
    return listed(f"{one:g}" if isinstance(one, float) else one for one in values)


def _some(names: Sequence[str]) -> str:
    more = len(names) - NAMES
    return ", ".join(names[:NAMES]) + f" and {more} more" * (more > 0)


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


FORMATS: dict[str, Callable[[Any], str]] = {
    "percent": percent,
    "rotation": rotation,
    "list": _listed,
    "names": _some,
    "capital": _capital,
}


class _Words(Formatter):
    """Fills values into a sentence."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)

    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Fact):
            return say(value, self.names)
        if "|" in format_spec:
            number = len(value) if isinstance(value, tuple) else value
            one, many = format_spec.split("|")
            return (one if number == 1 else many).replace("#", f"{number:,}")
        if format_spec.lower() in ("mode", "modes"):
            words = self._modes(value if isinstance(value, tuple) else (value,))
            return words if format_spec.islower() else _capital(words)
        own = FORMATS.get(format_spec)
        if own is not None:
            return own(value)
        if format_spec.endswith("g"):
            return in_digits(value, format_spec)
        return format(value, format_spec)

    def _modes(self, modes: Sequence[int]) -> str:
        """Modes by their numbers; a single one by its name, the first time."""
        if len(modes) == 1:
            k = modes[0] - 1
            named = self.names[k] if k < len(self.names) else ""
            if named:
                self.names[k] = ""
            return named or f"mode {modes[0]}"
        more = [f"{len(modes) - MODES} more"] * (len(modes) > MODES)
        return f"modes {listed([*map(str, modes[:MODES]), *more])}"
