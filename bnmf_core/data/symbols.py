"""Replace accession numbers by gene symbols from a description."""

import re
from dataclasses import replace

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import clean_names

# Of Affymetrix, Illumina and Agilent; of Ensembl, RefSeq and Entrez.
_ACCESSION = re.compile(
    r"\S+_at|ILMN_\d+|A_\d+_P\d+|ENS[A-Z]*[EGPT]\d{6,}(?:\.\d+)?|[NX][CGMPR]_\d+(?:\.\d+)?|\d+"
)
_SYMBOL = re.compile(r"[A-Za-z][A-Za-z0-9.@_/-]{0,19}")
# Least parts of the features with accession numbers or symbols, and with distinct symbols.
MOST_OF, MOST_DIFFER = 0.5, 0.3


def named_by_symbols(dataset: Dataset) -> tuple[Dataset, str]:
    """Rename features by the symbols of a description; return the data and a sentence.

    Applies if most names are accession numbers, such as "ENSG00000141510" or "L07633_at", and a
    description has symbols. A feature without a symbol keeps its name, repeated symbols get a
    number, and accession numbers become a description. Otherwise returns the data unchanged and
    "".

    Examples
    --------
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.data.symbols import named_by_symbols
    >>> symbols = {"symbol": ["TP53", "MYC", ""]}
    >>> data = Dataset.from_array(
    ...     [[1.0, 2.0]] * 3, features=["1939_at", "1973_s_at", "AFFX_at"], descriptions=symbols
    ... )
    >>> found, sentence = named_by_symbols(data)
    >>> found.features, found.described(0)
    (('TP53', 'MYC', 'AFFX_at'), '1939_at')
    """
    accessions = sum(bool(_ACCESSION.fullmatch(name)) for name in dataset.features)
    if accessions < MOST_OF * dataset.D:
        return dataset, ""
    for key, words in dataset.descriptions.items():
        symbols = [
            word if _SYMBOL.fullmatch(word) and not _ACCESSION.fullmatch(word) else ""
            for word in words.tolist()
        ]
        count = sum(map(bool, symbols))
        if count < MOST_OF * dataset.D or len({*symbols}) < MOST_DIFFER * dataset.D:
            continue
        names = [symbol or name for symbol, name in zip(symbols, dataset.features, strict=True)]
        numbers = np.array(dataset.features)
        numbers.flags.writeable = False
        place = clean_names([*dataset.descriptions, "accession"], "accession")[-1]
        # A description that only repeats the new names is removed.
        remaining = {
            other: values
            for other, values in dataset.descriptions.items()
            if other != key
            or any(
                word not in ("", symbol)
                for word, symbol in zip(words.tolist(), symbols, strict=True)
            )
        }
        sentence = (
            f"Features have the names of {key!r}; their accession numbers, such as "
            f"{dataset.features[0]!r}, are kept beside them."
        )
        return replace(
            dataset,
            features=tuple(clean_names(names, "feature")),
            descriptions={**remaining, place: numbers},
        ), sentence
    return dataset, ""
