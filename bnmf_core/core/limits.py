"""Limits of what an owner may use, and of reading a file, as an operator sets them in one file."""

import dataclasses
import os
import tomllib
from pathlib import Path

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.plain import is_number, is_whole

NAMED_BY = "BNMF_LIMITS"
# A number of bytes beyond any memory.
NO_LIMIT = 2**40


@dataclasses.dataclass(frozen=True)
class Limits:
    """Limits on runs, storage, and reading.

    Attributes
    ----------
    runs_at_once : runs that one owner may have side by side, while there is room for more than one
        of each. analyses_at_once : comparisons that are computed at one time, of all owners.
    runs_waiting : runs of one owner that wait or run.
    disk : gigabytes that one owner may keep; 0 for as much as there is.
    keep_days : days after which an owner who has not come again is removed with all data and runs;
        0 for never.
    share_results : whether equal analyses are computed once also where people brought the data
        themselves; how soon a result is there then tells that somebody else has the same data.
    reading_seconds : that a file may take to be read; a large one up to four times as many.
        reading_memory : gigabytes, beside twelve times the size of the file. reading_megabytes :
        of a file, and of what is packed in it. 0 of each for no limit.
    """

    runs_at_once: int = 3
    analyses_at_once: int = 3
    runs_waiting: int = 50
    disk: float = 0.0
    keep_days: float = 0.0
    share_results: bool = False
    reading_seconds: float = 30.0
    reading_memory: float = 2.0
    reading_megabytes: float = 256.0

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if isinstance(field.default, bool):
                if not isinstance(value, bool):
                    raise SettingsError(
                        f"The limit {field.name!r} was {value!r}; it is true or false."
                    )
                continue
            whole = isinstance(field.default, int)
            least = 1 if whole else 0
            kinds = is_whole(value) if whole else is_number(value)
            if not (kinds and least <= value < NO_LIMIT):
                kind = "a whole number from 1 on" if whole else "a number, 0 for no limit"
                raise SettingsError(f"The limit {field.name!r} was {value!r}; it is {kind}.")

    @property
    def reading_bytes(self) -> int:
        """The most bytes of a file, and of what is packed in it."""
        return int(self.reading_megabytes * 2**20) or NO_LIMIT


def raised(name: str) -> str:
    """Instruction for raising a limit, part of a sentence."""
    return f"raise `{name}` in the file that {NAMED_BY} names"


def read_limits(path: str | Path | None = None) -> Limits:
    """The limits in a TOML file; left out, in the one that ``BNMF_LIMITS`` names, if it does.

    Raises
    ------
    SettingsError
        When it cannot be read, or holds something else.
    """
    path = path or os.environ.get(NAMED_BY, "")
    if not path:
        return Limits()
    try:
        values = tomllib.loads(Path(path).read_text())
    except (OSError, ValueError) as error:
        raise SettingsError(f"The limits in {str(path)!r} cannot be read: {error}.") from error
    known = [field.name for field in dataclasses.fields(Limits)]
    if unknown := sorted(values.keys() - set(known)):
        raise SettingsError(
            f"{str(path)!r} sets {unknown[0]!r}, which is no limit; those are {', '.join(known)}."
        )
    return Limits(**values)
