"""Plain values: what settings, the index and files hold without further ado."""

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

# Values of a setting; None: taken from the data.
Value: TypeAlias = bool | int | float | str | None
# Values that JSON can hold.
Plain: TypeAlias = Value | Sequence["Plain"] | Mapping[str, "Plain"]


def plain(value: Any) -> Any:
    """The value, a scalar of NumPy as Python's; of a mapping, of all its values."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    return value.item() if isinstance(value, np.generic) else value


def is_whole(value: object) -> TypeGuard[int]:
    """Whether it is of the type int; True and False are no numbers here."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[int | float]:
    """Whether it is of the type int or float."""
    return is_whole(value) or isinstance(value, float)
