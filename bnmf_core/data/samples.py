"""Datasets by name: samples that come with the program, and well-known downloads.

Origins and licences of the samples are in ``sample_data/SOURCES.md``. The well-known sets are
downloaded once by scikit-learn and cached on this computer.
"""

import dataclasses
import http.client
import socket
import tomllib
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.checked import Words
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.core.limits import Limits
from bnmf_core.lazy import lazy

contents = lazy("bnmf_core.data.contents")
load = lazy("bnmf_core.data.load")
datasets = lazy("sklearn.datasets")
text = lazy("sklearn.feature_extraction.text")

# Next to the package in a checkout, inside it when installed.
_PLACES = [Path(__file__).resolve().parents[2], Path(__file__).resolve().parent]
FOLDER = next(
    (place / "sample_data" for place in _PLACES if (place / "sample_data").is_dir()), _PLACES[1]
)
# Prefix of the source of all generated data.
GENERATED = "Generated: "
# Threshold of the handwritten digits' 0 to 16.
HALF_GREY = 8
TIMEOUT_SECONDS = 10.0
TERMS = 1_000
GROUPS = [
    "comp.graphics",
    "comp.sys.ibm.pc.hardware",
    "comp.sys.mac.hardware",
    "comp.windows.x",
    "rec.autos",
    "rec.motorcycles",
    "rec.sport.baseball",
    "rec.sport.hockey",
    "sci.crypt",
    "sci.electronics",
    "sci.med",
    "sci.space",
    "talk.politics.guns",
    "talk.politics.mideast",
    "talk.politics.misc",
    "talk.religion.misc",
]
RCV1_CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")


@dataclass(frozen=True)
class Sample:
    """A dataset that is available by name.

    Attributes
    ----------
    key, label : registry key and shown name. summary : one sentence for the form.
    load : no arguments → Dataset.
    suggested_rank : number of components to begin with.
    """

    key: str
    label: str
    summary: str
    load: Callable[[], Dataset]
    suggested_rank: int


def sample_names() -> list[str]:
    """Names for ``load_sample``.

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


def sample_of(dataset: Dataset) -> str:
    """The name of the sample with these data, "" for others."""
    # The hash covers the name: no other sample has to be loaded.
    named = (name for name, sample in SAMPLES.items() if sample.label == dataset.name)
    return next((name for name in named if _hash_of(name) == dataset.hash), "")


def is_public(dataset: Dataset) -> bool:
    """Whether the data are a sample or generated, hence public."""
    return dataset.source.startswith(GENERATED) or bool(sample_of(dataset))


@cache
def _hash_of(name: str) -> str:
    return SAMPLES[name].load().hash


def load_remote(name: str) -> Dataset:
    """Load a well-known dataset; scikit-learn downloads it on first use.

    Raises
    ------
    NotFoundError
        Listing the names that exist.
    DataError
        If it is neither cached nor can be downloaded.
    """
    if name not in REMOTE:
        raise NotFoundError(
            f"There is no download called {name!r}; the downloads are {', '.join(REMOTE)}."
        )
    return REMOTE[name].load()


def _shipped(file: str) -> Dataset:
    # A trusted file needs no isolated process.
    content, most = (FOLDER / file).read_bytes(), Limits().reading_bytes
    reading = contents.inspect_content(content, file, {"observations": "columns"}, most)
    parts = contents.content_parts(content, file, reading, most)
    dataset: Dataset = load.dataset_of(parts, file, reading)
    return dataset


def _pictures(images: np.ndarray, label: str, classes: Words) -> Dataset:
    """Images (N, height, width) as columns, unfolded column-major."""
    count, height, width = images.shape
    return Dataset.from_array(
        images.transpose(0, 2, 1).reshape(count, -1).T,
        features=[f"row {y + 1}, column {x + 1}" for x in range(width) for y in range(height)],
        observations=[f"picture {n + 1}" for n in range(count)],
        labels={label: classes},
        image_shape=(height, width),
    )


def _digits() -> Dataset:
    images, target = datasets.load_digits(return_X_y=True)
    return _pictures(images.reshape(-1, 8, 8), "digit", np.char.mod("%d", target))


def _ink() -> Dataset:
    grey = _digits()
    return dataclasses.replace(grey, X=(grey.X >= HALF_GREY).astype(np.float64))


@contextmanager
def _impatience(seconds: float) -> Iterator[None]:
    """Set a socket timeout, because the fetchers have none."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Retry downloading")
            yield
    finally:
        socket.setdefaulttimeout(previous)


def _fetch(key: str, fetcher: str, **arguments: object) -> Any:
    """Call one of scikit-learn's fetchers; a failed download raises a DataError."""
    try:
        with _impatience(TIMEOUT_SECONDS):
            # One retry is the least that the fetchers accept.
            return getattr(datasets, fetcher)(n_retries=1, delay=0.1, **arguments)
    except (OSError, http.client.HTTPException, EOFError) as error:
        raise DataError(
            f"{REMOTE[key].label} must be downloaded and could not be reached; use a sample or "
            "upload a file."
        ) from error


def _posts() -> Dataset:
    hidden = ("headers", "footers", "quotes")
    posts = _fetch(
        "newsgroups", "fetch_20newsgroups", subset="train", categories=GROUPS, remove=hidden
    )
    vectorizer = text.CountVectorizer(
        stop_words="english", token_pattern=r"(?u)\b[a-zA-Z]{3,}\b", max_features=TERMS
    )
    counts = vectorizer.fit_transform(posts.data)
    nonempty = np.flatnonzero(counts.sum(axis=1))
    groups = np.array(posts.target_names)[np.asarray(posts.target)[nonempty]]
    return Dataset.from_array(
        counts[nonempty].T,
        features=vectorizer.get_feature_names_out(),
        observations=[f"post {n + 1}" for n in nonempty],
        labels={"category": [group.split(".")[0] for group in groups], "group": groups},
    )


def _olivetti() -> Dataset:
    faces = _fetch("olivetti", "fetch_olivetti_faces")
    persons = [f"person {number + 1}" for number in faces.target]
    return _pictures(faces.images, "person", persons)


def _lfw() -> Dataset:
    faces = _fetch("lfw", "fetch_lfw_people", min_faces_per_person=70, resize=0.4)
    persons = np.array(faces.target_names)[np.asarray(faces.target)]
    return _pictures(faces.images, "person", persons)


def _rcv1() -> Dataset:
    stories = _fetch("rcv1", "fetch_rcv1", subset="train")
    weights = stories.data.tocsc()
    used = np.flatnonzero(np.diff(weights.indptr))
    places = [list(stories.target_names).index(name) for name in RCV1_CATEGORIES]
    member = stories.target.tocsc()[:, places].toarray() > 0
    return Dataset.from_array(
        weights[:, used].T,
        features=[f"term {d + 1}" for d in used],
        observations=[f"story {number}" for number in stories.sample_id],
        # A story may be in several categories.
        labels={"category": ["+".join(np.array(RCV1_CATEGORIES)[row]) for row in member]},
    )


def _table(name: str, makers: Mapping[str, Callable[[], Dataset]]) -> dict[str, Sample]:
    """The samples of a table in samples.toml, each from its file or its function."""

    def sample(key: str, entry: dict[str, Any]) -> Sample:
        make = partial(_shipped, entry["file"]) if "file" in entry else makers[key]
        about = {word: entry.get(word, "") for word in ("unit", "source", "features_are")}

        def dataset() -> Dataset:
            return dataclasses.replace(make(), name=entry["label"], **about)

        return Sample(key, entry["label"], entry["summary"], dataset, entry["suggested_rank"])

    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return {key: sample(key, entry) for key, entry in tables[name].items()}


SAMPLES = _table("samples", {"digits": _digits, "ink": _ink})
REMOTE = _table(
    "downloads", {"newsgroups": _posts, "olivetti": _olivetti, "lfw": _lfw, "rcv1": _rcv1}
)
