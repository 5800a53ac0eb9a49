"""Match names of different files: without numbers of repeats, in equivalent spellings."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name
from bnmf_core.data.channels import channel, named

_REPEATED = re.compile(r" \(\d+\)$")
_VERSION = re.compile(r"(ens[a-z]*\d+)\.\d+")


def bare_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as written in the file, without the numbers added to repeated ones.

    >>> bare_names(["TP53", "TP53 (2)", "lamp (2)"])
    ('TP53', 'TP53', 'lamp (2)')
    """
    names = [clean_name(name) for name in names]
    taken = set(names)
    return tuple(
        bare if (bare := _REPEATED.sub("", name)) != name and bare in taken else name
        for name in names
    )


def spelling(name: str) -> str:
    """Normalize case and remove an Ensembl version.

    Substitution channels are written in COSMIC's spelling.

    >>> spelling("ENSG00000141510.5"), spelling("Moon")
    ('ensg00000141510', 'moon')
    """
    found = channel(name)
    folded = clean_name(name).casefold()
    version = _VERSION.fullmatch(folded)
    return found.name if found else version[1] if version else folded


# Functions that normalize names, tried in turn until they match.
KEYS = (str, spelling)


@dataclass(frozen=True, eq=False)
class SharedFeatures:
    """Features that two datasets share.

    Attributes
    ----------
    first, second : (S,) places of the shared features in each, in the order of the first.
    only_first, only_second : names of the others, in order.
    summary : sentences on how many match and which do not.
    """

    first: np.ndarray
    second: np.ndarray
    only_first: list[str]
    only_second: list[str]
    summary: str


def shared_features(first: Dataset, second: Dataset) -> SharedFeatures:
    """Match the features of two datasets by name, or by position if neither has names.

    Names match exactly or in normalized spelling, whichever gives more. A spelling of several
    features of one dataset matches none.

    Raises
    ------
    DataError
        When no feature is shared.

    Examples
    --------
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.data.matching import shared_features
    >>> X = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    >>> one = Dataset.from_array(X, features=["TP53", "KRAS", "MYC"], name="one")
    >>> two = Dataset.from_array(X, features=["myc", "tp53", "SPI1"], name="two")
    >>> found = shared_features(one, two)
    >>> found.first, found.second, found.only_first
    (array([0, 2]), array([1, 0]), ['KRAS'])
    """
    if not (first.named or second.named or first.D == second.D):
        raise DataError(
            f"The features have no names, and {first.name!r} has {first.D:,} of them, "
            f"{second.name!r} {second.D:,}. Features without names are matched by place, so give "
            "data with as many, or name them."
        )
    pairs: list[tuple[int, int]] = []
    for key in KEYS:
        held = [[key(name) for name in data.features] for data in (first, second)]
        counts = [Counter(names) for names in held]
        at = {name: d for d, name in enumerate(held[1])}
        found = [
            (d, at[name])
            for d, name in enumerate(held[0])
            if all(count[name] == 1 for count in counts)
        ]
        pairs = max(pairs, found, key=len)
    mine, theirs = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    lacking = [first.features[d] for d in np.setdiff1d(np.arange(first.D), mine)]
    extra = [second.features[d] for d in np.setdiff1d(np.arange(second.D), theirs)]
    if not pairs:
        raise DataError(
            f"No feature of {first.name!r} is in {second.name!r}: {named(lacking)} against "
            f"{named(extra)}. Names have to agree, up to upper and lower case."
        )
    by = "name" if first.named else "place"
    summary = f"{len(pairs):,} of {first.D:,} features match by {by}."
    if lacking:
        summary += f" Missing in {second.name}: {named(lacking)}."
    if extra:
        summary += f" Ignored, not in {first.name}: {named(extra)}."
    return SharedFeatures(mine, theirs, lacking, extra, summary)
