"""Are the rows of a table observations or features? What names, header and labels say."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

# Names that whole families of tables give to features. Patterns are tried in order.
_FEATURES = (
    ("mutation types", re.compile(r"[ACGT]\[[ACGT]{1,2}>[ACGT]{1,2}\][ACGT]")),
    ("mutation types", re.compile(r"[ACGT]{2,3}>[ACGT]{2,3}|\d:(?:Del|Ins):\w:\d")),
    ("genes of Ensembl", re.compile(r"ENS[A-Z]*[GTP]\d{6,}(?:\.\d+)?")),
    ("probes of a chip", re.compile(r"(?:AFFX|\w+)[\w/.-]*_at|cg\d{7,8}|ILMN_\d+")),
    ("variants", re.compile(r"rs\d{2,}")),
)
_OBSERVATIONS = (
    (
        "samples of an archive",
        re.compile(r"GS[ME]\d{3,}|[SED]RR\d{4,}|TCGA-\w\w-\w+(?:-\w+)*|SAMN\d+"),
    ),
    ("cells", re.compile(r"[ACGT]{12,}(?:-\d+)?")),
    (
        "observations",
        re.compile(
            r"(?:samples?|patients?|subjects?|donors?|cells?|obs(?:ervation)?s?|images?|docs?|"
            r"documents?|posts?|users?|mouse|tumou?rs?)[ _.-]?\d+\w*",
            re.IGNORECASE,
        ),
    ),
)
_FEATURE_WORDS = """
gene genes gene_id geneid gene_name gene_symbol symbol hgnc_symbol ensembl_id probe probes probeset
probe_id id_ref feature features mutation mutation_type mutationtype mutation_types type_of_mutation
term terms word words token tokens wavelength wavelengths band bands channel channels frequency
frequencies m/z mz otu otu_id otuid taxon taxa pixel pixels
"""
_OBSERVATION_WORDS = """
sample samples sample_id sampleid patient patients patient_id subject subject_id donor cell cells
cell_id barcode barcodes observation observations document documents doc doc_id post image images
user user_id customer customer_id country city station student respondent time date day month year
timestamp docs
"""
_FEATURE_HEADS = frozenset(_FEATURE_WORDS.split())
# Observations where their traits are given, features where they are counted at sites.
_EITHER_HEADS = frozenset({"species", "genus", "genera"})
_OBSERVATION_HEADS = frozenset(_OBSERVATION_WORDS.split())
SHARE = 0.8
UNSAID = "nothing in the file says otherwise, and most tables have one observation a row"
UNSAID_DOUBT = (
    "Nothing in the file says whether its rows or its columns are the observations: rows are taken."
)
MOST_NAMES = 2_000


@dataclass(frozen=True)
class Side:
    """Where the observations are taken to be, why, and a doubt if there is one."""

    observations: str
    reason: str
    doubt: str = ""


def word_of(cell: str) -> str:
    """A header cell in one spelling: "Gene ID" is gene_id."""
    return re.sub(r"[\s.-]+", "_", cell.strip().lower())


def find_side(
    row_names: Sequence[str], column_names: Sequence[str], corner: str, labelled: str
) -> Side:
    """What the names say; ``corner`` heads the names, ``labelled`` is a column of classes if any.

    Names of either side decide before the header of the first column, and that before labels.
    """
    rows, columns = _known(row_names), _known(column_names)
    corner_word = word_of(corner)
    votes: list[tuple[str, str]] = []
    if rows:
        what, count, of_features = rows
        axis = "columns" if of_features else "rows"
        votes.append((axis, f"{count:,} rows are named like {what}"))
    if columns:
        what, count, of_features = columns
        axis = "rows" if of_features else "columns"
        votes.append((axis, f"{count:,} columns are named like {what}"))
    if corner_word in _FEATURE_HEADS:
        votes.append(("columns", f"the first column is headed {corner.strip()!r}"))
    if corner_word in _OBSERVATION_HEADS:
        votes.append(("rows", f"the first column is headed {corner.strip()!r}"))
    if labelled:
        votes.append(("rows", f"column {labelled} holds a class for each row"))
    if not votes and corner_word in _EITHER_HEADS:
        word = corner.strip()
        doubt = (
            f"The first column is headed {word!r}: rows are taken as observations. "
            f"Choose columns if the {word} were counted at sites and are features."
        )
        return Side("rows", UNSAID, doubt)
    if not votes:
        return Side("rows", UNSAID, UNSAID_DOUBT)
    axis, why = votes[0]
    others = [said for voted, said in votes if voted != axis]
    meant = "observations" if axis == "rows" else "features"
    if others:
        return Side(axis, why, f"{_capital(why)}, but {others[0]}: rows are taken as {meant}.")
    doubt = f"{_capital(why)}: rows are {meant}." if axis == "columns" else ""
    return Side(axis, why, doubt)


def kind_of(words: Sequence[str], names: Sequence[str]) -> tuple[str, bool] | None:
    """What a list of names is of, in words, and whether these are features; None where unknown.

    ``words`` are what the list is called, its own header or its file; ``names`` decide first.
    """
    if found := _known(names):
        return f"names like {found[0]}", found[2]
    for word in map(word_of, words):
        if word in _FEATURE_HEADS | _OBSERVATION_HEADS:
            return f"the names of {word}", word in _FEATURE_HEADS
    return None


def _known(names: Sequence[str]) -> tuple[str, int, bool] | None:
    """What most of the names look like, how many do, and whether these are features."""
    sample = [name.strip() for name in names[:MOST_NAMES]]
    for known, of_features in ((_FEATURES, True), (_OBSERVATIONS, False)):
        for what, pattern in known:
            count = sum(bool(pattern.fullmatch(name)) for name in sample)
            if len(sample) > 1 and count >= SHARE * len(sample):
                return what, round(count / len(sample) * len(names)), of_features
    return None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
