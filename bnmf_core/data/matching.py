"""Names of one file found again in another: numbers of repeats taken off, spellings that agree."""

import re
from collections.abc import Sequence

from bnmf_core.core.names import clean_name
from bnmf_core.data.channels import channel

_REPEATED = re.compile(r" \(\d+\)$")
_VERSION = re.compile(r"(ens[a-z]*\d+)\.\d+")


def bare_names(names: Sequence[str]) -> tuple[str, ...]:
    """Names as they stood in the file: those that came again got a number when it was read.

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
    """The same for names that differ in upper and lower case only, or in an Ensembl version.

    Channels of substitutions are the same in every spelling.

    >>> spelling("ENSG00000141510.5"), spelling("Moon")
    ('ensg00000141510', 'moon')
    """
    found = channel(name)
    folded = clean_name(name).casefold()
    version = _VERSION.fullmatch(folded)
    return found.name if found else version[1] if version else folded


# How names are held beside each other, one after the other until they agree.
KEYS = (str, spelling)
