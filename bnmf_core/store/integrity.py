"""Checksums of arrays and of JSON: CRC-32, which finds damage at the speed of reading.

They are no defence against somebody who changes files on purpose.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

SEAL = "seal"
# The key of a value that is no dictionary.
VALUE = "sealed value"


def checksum(array: np.ndarray) -> int:
    """Of the entries in the order of their indices, however they lie in memory.

    >>> import numpy as np
    >>> checksum(np.arange(3.0)) == checksum(np.arange(6.0)[::2] / 2)
    True
    """
    entries = np.ravel(array, order="C").view(np.uint8)
    return zlib.crc32(entries.data)


def sealed(value: object) -> str:
    """JSON of plain values, with the checksum of what is read from it.

    >>> unsealed(sealed([1, 2.5]))
    [1, 2.5]
    """
    # As it will be read: keys of dictionaries become text.
    plain = json.loads(json.dumps(value, default=str))
    plain = plain if isinstance(plain, dict) else {VALUE: plain}
    return json.dumps({**plain, SEAL: _of_json(plain)})


def unsealed(text: str) -> Any:
    """The values that :func:`sealed` wrote.

    Raises
    ------
    ValueError
        When it is no JSON, or not what was written.
    """
    value = json.loads(text)
    if not isinstance(value, dict) or value.pop(SEAL, None) != _of_json(value):
        raise ValueError("it is not what was written")
    return value[VALUE] if value.keys() == {VALUE} else value


def _of_json(values: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, default=str, sort_keys=True).encode())
