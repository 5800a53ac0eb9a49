"""Plain values: what settings, the index and files hold without further ado."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

# What a setting can be; None: taken from the data.
Value: TypeAlias = bool | int | float | str | None
# What JSON can hold.
Plain: TypeAlias = Value | Sequence["Plain"] | Mapping[str, "Plain"]
