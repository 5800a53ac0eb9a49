"""Features that are places along an axis: wavelengths, wavenumbers, times, by their names."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Minimum number of places of an axis.
FEWEST = 8
_PLACE = re.compile(r"(\D*?)([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(\D.*)?")
_PADDED = re.compile(r"0\d")
# Letters on both sides, as "PD4120a".
_CODE = re.compile(r"[A-Za-z]+\d+[a-z]")


@dataclass(frozen=True, eq=False)
class Axis:
    """Places (D,) along an axis, rising or falling throughout, and their unit, "" where unknown."""

    values: np.ndarray
    unit: str


def interpolated(held: Axis, values: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Values between the places that an axis holds, on straight lines.

    Parameters
    ----------
    held : of D' places, rising or falling. values : (D', C). places : (D,) within them.

    Returns
    -------
    (D, C); NaN beside a value that is NaN.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.core.axis import Axis, interpolated
    >>> interpolated(Axis(np.array([420, 410, 400]), "nm"), np.eye(3), np.array([405.0, 420.0]))
    array([[0. , 0.5, 0.5],
           [1. , 0. , 0. ]])
    """
    rising = np.argsort(held.values)
    x = held.values[rising]
    return np.stack([np.interp(places, x, column[rising]) for column in values.T], axis=1)


def axis_of(names: Sequence[str]) -> Axis | None:
    """The axis that D names are places of: numbers with one unit behind them, in their order.

    None where they are not, where they only count 1, 2, 3, … without a unit after a space, and of
    accession numbers: a word and a number that begins with zeros, or has a letter behind it.

    Examples
    --------
    >>> from bnmf_core.core.axis import axis_of
    >>> axis_of([f"{nm} nm" for nm in range(400, 480, 10)]).unit
    'nm'
    >>> axis_of([f"feature {d}" for d in range(1, 9)]) is None
    True
    """
    if len(names) < FEWEST:
        return None
    found = [_PLACE.fullmatch(name.strip()) for name in names]
    if any(one is None for one in found) or all(_CODE.fullmatch(name.strip()) for name in names):
        return None
    parts = [one.groups(default="") for one in found if one is not None]
    padded = any(before and not unit and _PADDED.match(number) for before, number, unit in parts)
    if padded or len({(before, unit) for before, _, unit in parts}) > 1:
        return None
    values = np.array([float(number) for _, number, _ in parts])
    steps = np.diff(values)
    if not np.isfinite(values).all() or not ((steps > 0).all() or (steps < 0).all()):
        return None
    unit = parts[0][2].strip(" ()[]")
    counted = np.array_equal(np.abs(steps), np.ones(steps.size)) and values.min() in (0, 1)
    # "0 min" is a place, "1_at" a name.
    named = not unit or names[0].strip().endswith(parts[0][1] + parts[0][2])
    return None if counted and named else Axis(values, unit)
