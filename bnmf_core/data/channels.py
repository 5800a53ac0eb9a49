"""The 96 channels of single-base substitutions, recognised by name in any order and spelling."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from bnmf_core.core.names import listed

SUBSTITUTIONS = ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
# Largest number of names that a sentence lists.
MOST_LISTED = 4
_BASE, _CHANGE = r"([ACGT])", r"([CT])>?([ACGT])"
_APART, _GAP = r"[\s,;:_.|/-]+", r"([ACGT.*_\s-])"
# Patterns with the groups of the preceding base, the base, its replacement and the following base,
# and of repeated bases.
_FORMS = (
    # A[C>A]A, A(C>A)A
    (re.compile(rf"{_BASE}[\[({{]([CT])>([ACGT])[\])}}]{_BASE}"), (1, 2, 3, 4), ()),
    # A_C>A_A, A.C>A.A
    (re.compile(rf"{_BASE}[\s_.-]([CT])>([ACGT])[\s_.-]{_BASE}"), (1, 2, 3, 4), ()),
    # ACA>AAA
    (re.compile(rf"{_BASE}([CT]){_BASE}>\1([ACGT])\3"), (1, 2, 4, 3), ()),
    # C>A,A-A; C>A A.A; C>A:ACA; CA A.A
    (re.compile(rf"{_CHANGE}{_APART}{_BASE}{_GAP}{_BASE}"), (3, 1, 2, 5), (4,)),
    # ACA_C>A; A.A C>A
    (re.compile(rf"{_BASE}{_GAP}{_BASE}{_APART}{_CHANGE}"), (1, 4, 5, 3), (2,)),
)
SPELLINGS = tuple(pattern for pattern, _, _ in _FORMS)


class Channel(NamedTuple):
    """A substitution, as "C>A", in its context, as "ACA"."""

    context: str
    substitution: str

    @property
    def name(self) -> str:
        """In COSMIC's spelling, as "A[C>A]A"."""
        return f"{self.context[0]}[{self.substitution}]{self.context[2]}"


# In the order of COSMIC's files; pictures have all C>A first (:func:`drawn_order`).
CHANNELS = tuple(
    Channel(before + change[0] + behind, change)
    for before in "ACGT"
    for change in SUBSTITUTIONS
    for behind in "ACGT"
)


def channel(name: str) -> Channel | None:
    """The channel of a name; None if the name is no channel.

    Upper and lower case are the same. Only changes of C and T are channels, as in COSMIC.

    Examples
    --------
    >>> from bnmf_core.data.channels import channel
    >>> channel("ACA>AAA").name, channel("c>a, a-a").name, channel("ACA_C>A").name
    ('A[C>A]A', 'A[C>A]A', 'A[C>A]A')
    >>> channel("TP53") is None
    True
    """
    text = name.strip().upper()
    for pattern, places, again in _FORMS:
        match = pattern.fullmatch(text)
        if match is None:
            continue
        before, base, becomes, behind = (match[place] for place in places)
        middle = [match[place] for place in again if match[place] in "ACGT"]
        if base != becomes and middle in ([], [base]):
            return Channel(before + base + behind, f"{base}>{becomes}")
    return None


@dataclass(frozen=True)
class Channels:
    """The channels of a list of names.

    Attributes
    ----------
    names : D names. found : the channel of each; None for no channel or a repeated one.
    """

    names: tuple[str, ...]
    found: tuple[Channel | None, ...]

    @cached_property
    def unmatched(self) -> tuple[str, ...]:
        """Names that are no channel, or repeat one."""
        pairs = zip(self.names, self.found, strict=True)
        return tuple(name for name, found in pairs if found is None)

    @cached_property
    def missing(self) -> tuple[str, ...]:
        """Channels that no name matches, in COSMIC's spelling."""
        held = set(self.found)
        return tuple(one.name for one in CHANNELS if one not in held)

    @property
    def matched(self) -> int:
        """Number of the 96 channels that were found."""
        return len(CHANNELS) - len(self.missing)

    @property
    def complete(self) -> bool:
        """Whether the names are exactly the 96 channels."""
        return not self.missing and not self.unmatched

    @property
    def drawn_order(self) -> list[int]:
        """Positions of the channels in a figure from left to right: C>A first, as in COSMIC's."""
        at = {found: d for d, found in enumerate(self.found) if found is not None}
        return [at[one] for one in _DRAWN if one in at]

    @property
    def file_order(self) -> list[int]:
        """Positions of the channels in the order of COSMIC's files."""
        at = {found: d for d, found in enumerate(self.found) if found is not None}
        return [at[one] for one in CHANNELS if one in at]

    @property
    def summary(self) -> str:
        """Sentences on how many of the 96 channels were found, and which are missing."""
        sentences = [f"{self.matched} of {len(CHANNELS)} channels were recognised."]
        if self.missing:
            sentences.append(f"Missing: {named(self.missing)}.")
        if self.unmatched:
            sentences.append(f"Not a channel, or a repeated one: {named(self.unmatched)}.")
        return " ".join(sentences)


_DRAWN = sorted(CHANNELS, key=lambda one: (one.substitution, one.context))


def channels(names: Sequence[str]) -> Channels:
    """Match names to the 96 channels, in any order and spelling.

    Examples
    --------
    >>> from bnmf_core.data.channels import channels
    >>> found = channels(["T>G A.C", "A[C>A]A", "TP53"])
    >>> found.matched, found.unmatched, found.drawn_order
    (2, ('TP53',), [1, 0])
    """
    taken: set[Channel] = set()
    found: list[Channel | None] = []
    for name in names:
        one = channel(name)
        found.append(None if one in taken else one)
        if one is not None:
            taken.add(one)
    return Channels(tuple(names), tuple(found))


def named(names: Sequence[str]) -> str:
    """A few names and the number of the others.

    >>> named(["a", "b"])
    'a and b'
    >>> named(list("abcdef"))
    'a, b, c, d and 2 more'
    """
    few = list(names[:MOST_LISTED])
    more = len(names) - len(few)
    return listed([*few, f"{more:,} more"] if more else few)
