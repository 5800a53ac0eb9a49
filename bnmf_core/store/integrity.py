"""Checksums of arrays and of JSON: CRC-32, which finds damage at the speed of reading.

They do not protect against deliberate changes.
"""

import json
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np

SEAL = "seal"
# Key for a value that is no dictionary.
VALUE = "sealed value"


def checksum(array: np.ndarray) -> int:
    """CRC-32 of the entries in C order, whatever their memory layout.

    >>> import numpy as np
    >>> checksum(np.arange(3.0)) == checksum(np.arange(6.0)[::2] / 2)
    True
    """
    entries = np.ravel(array, order="C").view(np.uint8)
    return zlib.crc32(entries.data)


def sealed(value: object) -> str:
    """JSON of plain values with their checksum.

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
        When it is no JSON or the checksum is wrong.
    """
    value = json.loads(text)
    if not isinstance(value, dict) or value.pop(SEAL, None) != _of_json(value):
        raise ValueError("it is not what was written")
    return value[VALUE] if value.keys() == {VALUE} else value


def _of_json(values: Mapping[str, Any]) -> int:
    return zlib.crc32(json.dumps(values, default=str, sort_keys=True).encode())
