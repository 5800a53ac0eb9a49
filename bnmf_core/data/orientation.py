"""Detect the axis of a matrix with the observations, and an axis with the pixels of an image.

Names, header and labels of a table determine the first; size and neighbouring values the second.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isqrt

import numpy as np

from bnmf_core.data.channels import SPELLINGS
from bnmf_core.data.reading import AXES, other_axis

# Patterns of common names of features, tried in order.
_FEATURES = (
    ("mutation types", re.compile(r"[ACGT]\[[ACGT]{1,2}>[ACGT]{1,2}\][ACGT]")),
    *(("mutation types", spelling) for spelling in SPELLINGS),
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
            r"documents?|posts?|users?|mouse|tumou?rs?|sites?|plots?|stations?|quadrats?|"
            r"transects?)[ _.-]?\d+\w*",
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
# Observations in tables of traits, features in tables of counts at sites.
_EITHER_HEADS = frozenset({"species", "genus", "genera"})
_OBSERVATION_HEADS = frozenset(_OBSERVATION_WORDS.split())
SHARE = 0.8
UNSAID = "nothing in the file says otherwise, and most tables have one observation a row"
UNSAID_DOUBT = (
    "Nothing in the file says whether its rows or its columns are the observations: rows are taken."
)
# The time of a pattern grows with the square of a name's length.
MOST_NAMES, LONGEST_NAME = 2_000, 200
# Names of the height and the width of an image in files.
_HEIGHTS = frozenset({"nrow", "nrows", "row", "rows", "line", "lines", "height", "h", "ny"})
_WIDTHS = frozenset({"ncol", "ncols", "col", "cols", "columns", "samples", "width", "w", "nx"})
SMALLEST_SIDE = 8
MOST_SAMPLED = 400
# Limits of half the mean squared difference of neighbours over the variance (1 if unrelated).
ROUGHEST_IMAGE = 0.35
ROUGHEST_SPECTRUM = 0.1


@dataclass(frozen=True)
class Side:
    """The axis of the observations, the reason, and an optional doubt."""

    observations: str
    reason: str
    doubt: str = ""


def word_of(cell: str) -> str:
    """Normalize a header cell: "Gene ID" is gene_id."""
    return re.sub(r"[\s.-]+", "_", cell.strip().lower())


def find_side(
    row_names: Sequence[str], column_names: Sequence[str], corner: str, labelled: str
) -> Side:
    """Find the axis of the observations.

    Names decide before ``corner``, the header of the names, and that before ``labelled``, a column
    of classes.
    """
    corner_word = word_of(corner)
    votes: list[tuple[str, str]] = []
    for axis, names in zip(AXES, (row_names, column_names), strict=True):
        if found := _known(names):
            what, count, of_features = found
            reason = f"{count:,} {axis} are named like {what}"
            votes.append((other_axis(axis) if of_features else axis, reason))
    for axis, heads in (("columns", _FEATURE_HEADS), ("rows", _OBSERVATION_HEADS)):
        if corner_word in heads:
            votes.append((axis, f"the first column is headed {corner.strip()!r}"))
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
    others = [reason for voted, reason in votes if voted != axis]
    meant = "observations" if axis == "rows" else "features"
    if others:
        return Side(axis, why, f"{_capital(why)}, but {others[0]}: rows are taken as {meant}.")
    doubt = f"{_capital(why)}: rows are {meant}." if axis == "columns" else ""
    return Side(axis, why, doubt)


def kind_of(words: Sequence[str], names: Sequence[str]) -> tuple[str, bool] | None:
    """Describe a list of names and whether these are features; None if unknown.

    ``words`` : from its header or file name; ``names`` decide first.
    """
    if found := _known(names):
        return f"names like {found[0]}", found[2]
    for word in map(word_of, words):
        if word in _FEATURE_HEADS | _OBSERVATION_HEADS:
            return f"the names of {word}", word in _FEATURE_HEADS
    return None


def _known(names: Sequence[str]) -> tuple[str, int, bool] | None:
    """Kind of most of the names, their number, and whether these are features."""
    sample = [name.strip()[:LONGEST_NAME] for name in names[:MOST_NAMES]]
    for known, of_features in ((_FEATURES, True), (_OBSERVATIONS, False)):
        for what, pattern in known:
            count = sum(bool(pattern.fullmatch(name)) for name in sample)
            if len(sample) > 1 and count >= SHARE * len(sample):
                return what, round(count / len(sample) * len(names)), of_features
    return None


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@dataclass(frozen=True)
class Picture:
    """An image: its shape (height, width), column-major, and the axis of the observations."""

    shape: tuple[int, int]
    side: Side


def find_picture(matrix: np.ndarray, numbers: Mapping[str, float]) -> Picture | None:
    """Find an image whose pixels are the rows or the columns of a matrix; None without one.

    If the values of a pixel are smooth as in a spectrum, pixels are observations; else they are
    features, and every observation is an image.

    Parameters
    ----------
    matrix : (rows, columns) as in its file.
    numbers : scalars in the file by name; "lines" and "cols" are a size.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.data.orientation import find_picture
    >>> bright = np.add.outer(np.arange(9.0), np.arange(9.0)).ravel()
    >>> cube = np.outer(np.sin(np.linspace(0, 3, 40)), bright)
    >>> find_picture(cube, {}).shape, find_picture(cube, {}).side.observations
    ((9, 9), 'columns')
    """
    height, height_name = _number(numbers, _HEIGHTS)
    width, width_name = _number(numbers, _WIDTHS)
    for axis, count in sorted(zip(AXES, matrix.shape, strict=True), key=lambda one: -one[1]):
        square = isqrt(count)
        if height * width == count and min(height, width) > 1:
            description = f"{height_name!r} × {width_name!r} in the file, {height}×{width}"
            return _picture(matrix, axis, (height, width), description)
        fits = square**2 == count and square >= SMALLEST_SIDE
        if fits and _rough_image(matrix, axis, (square, square)) < ROUGHEST_IMAGE:
            description = f"{square}×{square}, in which neighbours are alike"
            return _picture(matrix, axis, (square, square), description)
    return None


def unfolded(cube: np.ndarray) -> tuple[np.ndarray, Picture]:
    """Reshape a cube (height, width, values of a pixel) to a matrix with a row for each pixel."""
    height, width, _ = cube.shape
    matrix = cube.reshape((height * width, -1), order="F")
    return matrix, _picture(matrix, "rows", (height, width), f"{height}×{width} in a cube")


def _picture(matrix: np.ndarray, axis: str, shape: tuple[int, int], description: str) -> Picture:
    count, values = matrix.shape if axis == "rows" else matrix.shape[::-1]
    why = f"the {count:,} {axis} are the pixels of an image ({description})"
    # Roughness of the successive values of a pixel.
    pixels = matrix if axis == "rows" else matrix.T
    some = pixels[_some(len(pixels))].astype(float)
    if _rough(some - some.mean(), 1) < ROUGHEST_SPECTRUM:
        why += f", whose {values:,} values go over into each other like a spectrum"
        meant, observations = "every pixel is an observation", axis
    else:
        meant = "pixels are features, and every image is an observation"
        observations = other_axis(axis)
    return Picture(shape, Side(observations, why, f"{_capital(why)}: {meant}."))


def _number(numbers: Mapping[str, float], words: frozenset[str]) -> tuple[int, str]:
    """The integer with one of these names, and its name; 0 without one."""
    for name, value in numbers.items():
        if word_of(name) in words and value >= 1 and value % 1 == 0:
            return int(value), name
    return 0, ""


def _some(count: int) -> np.ndarray:
    """Evenly spaced indices below ``count``, at most MOST_SAMPLED."""
    return np.unique(np.linspace(0, count - 1, min(MOST_SAMPLED, count)).astype(int))


def _rough_image(matrix: np.ndarray, axis: str, shape: tuple[int, int]) -> float:
    """The larger roughness of vertical and horizontal neighbours."""
    pixels = matrix if axis == "rows" else matrix.T
    some = pixels[:, _some(pixels.shape[1])[:: MOST_SAMPLED // 20]].astype(float)
    images = (some - some.mean(axis=0)).reshape((*shape, -1), order="F")
    return max(_rough(images, 0), _rough(images, 1))


def _rough(values: np.ndarray, axis: int) -> float:
    """½⟨(difference of neighbours)²⟩ over ⟨value²⟩; infinite if all values are 0."""
    variance = float(np.mean(values**2))
    return float(np.mean(np.diff(values, axis=axis) ** 2)) / 2 / variance if variance else np.inf
