"""Values of a label that are dates: years, months or days, all in one spelling."""

import re
from collections.abc import Sequence

import numpy as np

# Spellings that mean one thing only, and the parts of each as year, month and day.
_CLOCK = r"(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?"
SPELLINGS = tuple(
    re.compile(spelling)
    for spelling in (
        r"(?P<year>1[5-9]\d\d|20\d\d)",
        r"(?P<year>\d{4})-(?P<month>\d\d)",
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d){_CLOCK}",
        r"(?P<year>\d{4})/(?P<month>\d\d)/(?P<day>\d\d)",
        r"(?P<day>\d\d)\.(?P<month>\d\d)\.(?P<year>\d{4})",
    )
)
# Period → its unit in NumPy, the shortest first.
PERIODS = {"day": "D", "month": "M", "year": "Y", "decade": "10Y", "century": "100Y"}
# Fewer different dates make no course of time.
FEWEST = 3


def dates_of(values: Sequence[str] | np.ndarray) -> np.ndarray | None:
    """Dates (N,) datetime64[D] of values that are all dates in one spelling; None of others.

    Years from 1500 to 2099, ISO dates with or without a day or a time, 2024/12/31, and 31.12.2024
    are dates. 12/31/2024 is none, as its order differs between countries. A month or a year is its
    first day, an empty value NaT. Fewer than three different dates are none.

    Examples
    --------
    >>> from bnmf_core.core.dates import dates_of
    >>> dates_of(["2023-05", "", "2024-01", "2024-02"])
    array(['2023-05-01',        'NaT', '2024-01-01', '2024-02-01'],
          dtype='datetime64[D]')
    >>> dates_of(["1", "2", "3"]) is None
    True
    """
    different = {str(value) for value in values} - {""}
    if len(different) < FEWEST:
        return None
    for spelling in SPELLINGS:
        found = {value: spelling.fullmatch(value) for value in different}
        if not all(found.values()):
            continue
        try:
            days = {
                value: np.datetime64("-".join(_parts(match)), "D")
                for value, match in found.items()
                if match
            }
        except ValueError:  # a thirteenth month
            return None
        if len(set(days.values())) >= FEWEST:
            return np.array([days.get(str(value), np.datetime64("NaT")) for value in values])
    return None


def _parts(match: re.Match[str]) -> tuple[str, str, str]:
    given = match.groupdict()
    return given["year"], given.get("month") or "01", given.get("day") or "01"
