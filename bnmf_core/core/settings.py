"""Declared settings: one dataclass field describes a value, its range and its words.

The browser form, the command line and the docs table are all drawn from this metadata,
so an algorithm or model declares a setting once.
"""

import dataclasses
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.plain import Value, is_number, plain

Default = TypeVar("Default")
SettingsT = TypeVar("SettingsT")
LARGEST = sys.float_info.max


@dataclass(frozen=True)
class Declaration:
    """Declaration of one setting, besides its default value."""

    label: str
    help: str
    minimum: float | None = None
    maximum: float | None = None
    unit: str = ""
    choices: tuple[str, ...] = ()
    advanced: bool = False
    pattern: str = ""


def setting(
    default: Default,
    label: str,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    unit: str = "",
    choices: Sequence[str] = (),
    advanced: bool = False,
    pattern: str = "",
) -> Default:
    """Declare a dataclass field; ``None`` as default means "taken from the data".

    With ``pattern``, a regular expression, the value is text that matches it.
    """
    declaration = Declaration(
        label, help, minimum, maximum, unit, tuple(choices), advanced, pattern
    )
    return dataclasses.field(default=default, metadata={"declaration": declaration})


def declarations(settings_class: type) -> dict[str, tuple[dataclasses.Field[Value], Declaration]]:
    """Map each field name of a Settings dataclass to its field and declaration."""
    return {f.name: (f, f.metadata["declaration"]) for f in dataclasses.fields(settings_class)}


def build(settings_class: type[SettingsT], values: Mapping[str, Value], owner: str) -> SettingsT:
    """Make a Settings object from a mapping, checking names, types and ranges.

    Raises
    ------
    SettingsError
        Naming the owner (algorithm or model), the setting, the value and what is allowed.
    """
    if not isinstance(values, Mapping):
        raise SettingsError(f"The settings of {owner} were {values!r}; give them as name: value.")
    known = declarations(settings_class)
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise SettingsError(
            f"{owner} has no setting called {unknown[0]!r}; its settings are "
            f"{', '.join(sorted(known)) or 'none'}."
        )
    checked = {name: _check(*known[name], value, owner) for name, value in values.items()}
    return settings_class(**checked)


def values_of(settings: object) -> dict[str, Value]:
    """The value of every setting, by its name."""
    return {name: getattr(settings, name) for name in declarations(type(settings))}


def _check(
    field: dataclasses.Field[Value], declared: Declaration, value: Value, owner: str
) -> Value:
    optional = "None" in str(field.type)
    if value is None:
        if optional:
            return None
        raise SettingsError(f"{owner}: {declared.label!r} needs a value.")
    value, kind = plain(value), str(field.type)
    whole = "int" in kind
    if declared.choices:
        fits = isinstance(value, str) and value in declared.choices
        needed = f"choose one of {', '.join(declared.choices)}."
    elif declared.pattern:
        fits = isinstance(value, str) and re.fullmatch(declared.pattern, value) is not None
        needed = declared.help[:1].lower() + declared.help[1:]
    elif "bool" in kind:
        fits, needed = isinstance(value, bool), "it is true or false."
    elif not is_number(value) or (whole and value % 1 != 0):
        fits, needed = False, f"a {'whole ' if whole else ''}number is needed."
    else:
        low = -LARGEST if declared.minimum is None else declared.minimum
        high = LARGEST if declared.maximum is None else declared.maximum
        fits, needed = low <= value <= high, f"{_allowed(declared)} is allowed."
    if not fits:
        raise SettingsError(f"{owner}: {declared.label!r} was {value!r}; {needed}")
    if is_number(value):
        return int(value) if whole else float(value)
    return value


def _allowed(declared: Declaration) -> str:
    low, high = declared.minimum, declared.maximum
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if low is not None:
        return f"{low:g} or more"
    if high is not None:
        return f"{high:g} or less"
    return "any finite number"
