"""Gene sets from a user's GMT file, matched to the features of a dataset."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data.channels import named
from bnmf_core.data.isolation import ReaderProcess, brought
from bnmf_core.data.limits import unpacked
from bnmf_core.data.matching import KEYS, bare_names
from bnmf_core.data.text import find_encoding

# Smallest number of genes of a set in the data.
FEWEST = 5


@dataclass(frozen=True, eq=False)
class GeneSets:
    """``sets`` : the genes of each set by its name. ``name`` : of the file."""

    name: str
    sets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, eq=False)
class MatchedSets:
    """Gene sets over the G distinct genes of the D features of a dataset.

    Attributes
    ----------
    names : S names of sets. members : (S, G) bool, genes of each set. gene_of : (D,) gene of each
        feature, 0 to G − 1; several features may be one gene.
    summary : how many genes and sets were found in the data, and which were not.
    """

    names: tuple[str, ...]
    members: np.ndarray
    gene_of: np.ndarray
    summary: str


def sets_of(content: bytes, limit_bytes: int) -> dict[str, list[str]]:
    """Parse a GMT file: each line has the name, description and genes of a set, between tabs.

    DataError when the file is no GMT file.
    """
    content = unpacked(content, limit_bytes)
    lines = content.decode(find_encoding(content)[0]).splitlines() if content else []
    rows = [(at, line.split("\t")) for at, line in enumerate(lines, start=1) if line.strip()]
    for at, row in rows:
        if len(row) < 3:
            raise DataError(
                f"Row {at} has {len(row)} cell{'s' * (len(row) != 1)} between tabs; each row of a "
                "GMT file has the name of a set, its description and at least one gene."
            )
    if not rows:
        raise DataError("The file is empty; a GMT file has a set of genes in each row.")
    names = clean_names((row[0] for _, row in rows), "set")
    genes = ([clean_name(cell) for cell in row[2:] if cell.strip()] for _, row in rows)
    return {name: list(dict.fromkeys(some)) for name, some in zip(names, genes, strict=True)}


def read_gene_sets(source: bytes | Path, filename: str = "") -> GeneSets:
    """Read a GMT file, as MSigDB and Enrichr offer them; also as ``.gz``.

    Raises
    ------
    DataError, NotFoundError
        When the file cannot be read; the message names the fault.

    Examples
    --------
    >>> from bnmf_core.data.gene_sets import read_gene_sets
    >>> found = read_gene_sets(b"CYCLE\\thttp:\\tCDK1\\tCCNB1\\nIMMUNE\\t\\tCD79A\\n", "some.gmt")
    >>> found.name, dict(found.sets)
    ('some.gmt', {'CYCLE': ('CDK1', 'CCNB1'), 'IMMUNE': ('CD79A',)})
    """
    filename, shown = brought(source, filename, "gene sets")
    try:
        with ReaderProcess(source, filename, "sets") as reader:
            found = reader.sets()
    except DataError as error:
        raise DataError(f"The gene sets {shown!r} cannot be read. {error}") from error
    return GeneSets(shown, {name: tuple(genes) for name, genes in found.items()})


def match_sets(sets: GeneSets, dataset: Dataset, fewest: int = FEWEST) -> MatchedSets:
    """Match the genes of sets to the features of the data by name.

    Names and each description of features are searched, first exactly, then ignoring case and
    Ensembl versions; the list with most matches is used. Features with the same name are one gene.
    Sets with fewer than ``fewest`` genes in the data are left out.

    Raises
    ------
    DataError
        When no gene or no set is found; the message has examples of both.
    """
    unique = dict.fromkeys(gene for genes in sets.sets.values() for gene in genes)
    namings = {naming: bare_names(words) for naming, words in dataset.namings.items()}
    found = {
        (key, naming): len({key(gene) for gene in unique} & {key(word) for word in words})
        for key in KEYS
        for naming, words in namings.items()
    }
    key, naming = max(found, key=lambda way: found[way])  # the first of equal ones
    examples = f"the file has {_examples([*unique])}, the data {_examples(dataset.features)}"
    if not found[key, naming]:
        raise DataError(
            f"None of the {len(unique):,} genes of {sets.name!r} is in the data: {examples}. Take "
            "sets with the identifiers of the data, or join a file with both names to the data."
        )
    words = [word or name for word, name in zip(namings[naming], dataset.features, strict=True)]
    number = {gene: g for g, gene in enumerate(dict.fromkeys(map(key, words)))}
    places = {
        name: {number[key(gene)] for gene in genes if key(gene) in number}
        for name, genes in sets.sets.items()
    }
    retained = [name for name, some in places.items() if len(some) >= fewest]
    matched = sum(key(gene) in number for gene in unique)
    summary = (
        f"{matched:,} of {len(unique):,} genes in {sets.name!r} are among the {len(number):,} of "
        f"the data{f', by their {naming!r}' if naming else ''}"
        f"{', in any case' if key is not str else ''}."
    )
    if matched < len(unique):
        summary += f" Not in the data: {named([g for g in unique if key(g) not in number])}."
    if not retained:
        raise DataError(f"{summary} No set has {fewest} genes in the data.")
    if few := [name for name in places if name not in retained]:
        summary += f" {len(few):,} of {len(places):,} sets have fewer than {fewest}: {named(few)}."
    members = np.zeros((len(retained), len(number)), dtype=bool)
    for row, name in enumerate(retained):
        members[row, list(places[name])] = True
    return MatchedSets(
        tuple(retained), members, np.array([number[key(word)] for word in words]), summary
    )


def _examples(names: list[str] | tuple[str, ...]) -> str:
    return f"names such as {' and '.join(map(repr, names[:2]))}"
