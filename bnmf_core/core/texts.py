"""The texts that observations were counted from, read only when somebody looks at one."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import overload

import numpy as np

# Maximum UTF-8 bytes of the stored texts of one dataset; larger texts are not stored.
MOST_BYTES = 2**26
# A word, as scikit-learn's vectorizers count it.
TOKEN = re.compile(r"(?u)\b\w\w+\b")


@dataclass(frozen=True, eq=False)
class Texts(Sequence[str]):
    """N texts in the order of the observations.

    Attributes
    ----------
    load : gives all texts there are. places : (N,) positions of these among them.
    counts : gives what :meth:`documents` counts, where it is known.

    Examples
    --------
    >>> from bnmf_core.core.texts import Texts
    >>> Texts.of(["The moon.", "A goal!"]).chosen([1])[0]
    'A goal!'
    """

    load: Callable[[], Sequence[str]]
    places: np.ndarray
    counts: Callable[[], Mapping[str, int]] | None = None

    @classmethod
    def of(cls, texts: Iterable[str]) -> "Texts":
        """These texts; half a surrogate pair, which no file can hold, becomes a question mark."""
        held = tuple(text.encode("utf-8", "replace").decode() for text in texts)
        return cls(partial(tuple, held), np.arange(len(held)))

    def chosen(self, index: Sequence[int] | np.ndarray) -> "Texts":
        """The texts at these positions."""
        return Texts(self.load, self.places[np.asarray(index, dtype=np.int64)])

    def documents(self) -> Mapping[str, int]:
        """In how many of these texts each word stands.

        >>> Texts.of(["A red lamp.", "Red, red!"]).documents()
        {'red': 2, 'lamp': 1}
        """
        if self.counts is not None:
            return self.counts()
        found: Counter[str] = Counter()
        for text in self:
            found.update(iter(dict.fromkeys(TOKEN.findall(text.lower()))))
        return dict(found)

    def __len__(self) -> int:
        return self.places.size

    @overload
    def __getitem__(self, n: int) -> str: ...
    @overload
    def __getitem__(self, n: slice) -> "Texts": ...
    def __getitem__(self, n: int | slice) -> "str | Texts":
        if isinstance(n, slice):
            return Texts(self.load, self.places[n])
        return self.load()[self.places[n]]

    def __iter__(self) -> Iterator[str]:
        texts = self.load()
        return (texts[n] for n in self.places)
