"""Well-known data sets that scikit-learn downloads once and then keeps on this computer."""

import http.client
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from bnmf_core.core.dataset import Dataset, Parts, Words
from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.data.samples import Sample
from bnmf_core.lazy import lazy

if TYPE_CHECKING:
    from sklearn.utils import Bunch

datasets = lazy("sklearn.datasets")
text = lazy("sklearn.feature_extraction.text")

TIMEOUT_SECONDS = 10.0
TERMS = 1_000
GROUPS = (
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
)
RCV1_CATEGORIES = ("CCAT", "ECAT", "GCAT", "MCAT")


@contextmanager
def _impatience(seconds: float) -> Iterator[None]:
    """Give up on servers that do not answer; the fetchers take no timeout of their own."""
    previous = socket.getdefaulttimeout()
    socket.setdefaulttimeout(seconds)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Retry downloading")
            yield
    finally:
        socket.setdefaulttimeout(previous)


def _fetch(label: str, fetcher: str, **arguments: object) -> "Bunch":
    """Call one of scikit-learn's fetchers; a failure on the way becomes one sentence."""
    try:
        with _impatience(TIMEOUT_SECONDS):
            # One retry is the least that the fetchers accept.
            return getattr(datasets, fetcher)(n_retries=1, delay=0.1, **arguments)
    except (OSError, http.client.HTTPException, EOFError) as error:
        raise DataError(
            f"{label} must be downloaded and could not be reached; use a sample or upload a file."
        ) from error


def _newsgroups() -> Dataset:
    label = REMOTE["newsgroups"].label
    posts = _fetch(
        label,
        "fetch_20newsgroups",
        subset="train",
        categories=GROUPS,
        remove=("headers", "footers", "quotes"),
    )
    vectorizer = text.CountVectorizer(
        stop_words="english", token_pattern=r"(?u)\b[a-zA-Z]{3,}\b", max_features=TERMS
    )
    counts = vectorizer.fit_transform(posts.data)
    kept = np.flatnonzero(counts.sum(axis=1))
    groups = np.array(posts.target_names)[np.asarray(posts.target)[kept]]
    return Dataset.from_array(
        counts[kept].T,
        features=vectorizer.get_feature_names_out(),
        observations=[f"post {n + 1}" for n in kept],
        labels={"category": [group.split(".")[0] for group in groups], "group": groups},
        name=label,
        unit="counts",
        source="20 Newsgroups (Lang, 1995), training posts of 16 groups without headers, "
        "footers and quotes, through scikit-learn.",
    )


def _olivetti() -> Dataset:
    label = REMOTE["olivetti"].label
    faces = _fetch(label, "fetch_olivetti_faces")
    return Dataset.from_array(
        **_pictures(faces.images, [f"person {number + 1}" for number in faces.target]),
        name=label,
        unit="grey level",
        source="Olivetti faces, AT&T Laboratories Cambridge (Samaria and Harter, 1994), through "
        "scikit-learn.",
    )


def _lfw() -> Dataset:
    label = REMOTE["lfw"].label
    faces = _fetch(label, "fetch_lfw_people", min_faces_per_person=70, resize=0.4)
    return Dataset.from_array(
        **_pictures(faces.images, np.array(faces.target_names)[np.asarray(faces.target)]),
        name=label,
        unit="grey level",
        source="Labeled Faces in the Wild (Huang and others, 2007), people with at least 70 "
        "pictures, through scikit-learn.",
    )


def _rcv1() -> Dataset:
    label = REMOTE["rcv1"].label
    stories = _fetch(label, "fetch_rcv1", subset="train")
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
        name=label,
        unit="log TF-IDF weight",
        source="Reuters Corpus Volume 1 (Lewis and others, 2004), training stories, through "
        "scikit-learn.",
    )


def _pictures(images: np.ndarray, persons: Words) -> Parts:
    """Pictures (N, height, width) of persons as columns, unfolded column by column."""
    images = np.asarray(images)
    count, height, width = images.shape
    return {
        "X": images.transpose(0, 2, 1).reshape(count, -1).T,
        "features": [f"row {y + 1}, column {x + 1}" for x in range(width) for y in range(height)],
        "observations": [f"picture {n + 1}" for n in range(count)],
        "labels": {"person": persons},
        "image_shape": (height, width),
    }


REMOTE: dict[str, Sample] = {
    sample.key: sample
    for sample in (
        Sample(
            "newsgroups",
            "20 Newsgroups",
            "Counts of 1,000 terms in about 9,000 posts of 16 groups (about 14 MB download).",
            _newsgroups,
            16,
        ),
        Sample(
            "olivetti",
            "Olivetti faces",
            "400 pictures of 40 people on 64×64 pixels (about 1 MB download).",
            _olivetti,
            10,
        ),
        Sample(
            "lfw",
            "Labeled Faces in the Wild",
            "1,288 press pictures of 7 people on 50×37 pixels (about 230 MB download).",
            _lfw,
            10,
        ),
        Sample(
            "rcv1",
            "Reuters Corpus Volume 1",
            "Weights of up to 47,236 terms in 23,149 news stories (about 650 MB download).",
            _rcv1,
            10,
        ),
    )
}


def load_remote(name: str) -> Dataset:
    """The well-known set of that name, downloaded by scikit-learn where it is not yet here.

    Raises
    ------
    NotFoundError
        Listing the names that exist.
    DataError
        If the set is not on this computer and cannot be downloaded.
    """
    if name not in REMOTE:
        raise NotFoundError(
            f"There is no download called {name!r}; the downloads are {', '.join(REMOTE)}."
        )
    return REMOTE[name].load()
