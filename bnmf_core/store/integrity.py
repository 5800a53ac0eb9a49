"""Whether what is read is what was written: CRC-32, which tells damage at the speed of reading.

It is no defence against somebody who changes files on purpose.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

SEAL = "seal"


def checksum(array: np.ndarray) -> int:
    """Of the entries in the order of their indices, however they lie in memory.

    >>> import numpy as np
    >>> checksum(np.arange(3.0)) == checksum(np.arange(6.0)[::2] / 2)
    True
    """
    entries = np.ravel(array, order="C").view(np.uint8)
    return zlib.crc32(entries.data)


def sealed(values: Mapping[str, Any]) -> dict[str, Any]:
    """Plain values with the checksum of what JSON makes of them."""
    return {**values, SEAL: _of_json(values)}


def is_whole(values: Mapping[str, Any]) -> bool:
    """Whether plain values are those that were sealed; unsealed ones, of older versions, pass."""
    rest = {key: value for key, value in values.items() if key != SEAL}
    return SEAL not in values or values[SEAL] == _of_json(rest)


def _of_json(values: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, default=str, sort_keys=True).encode())
