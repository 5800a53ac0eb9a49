"""Change the vocabulary of texts: stop words, document frequency and size."""

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.lazy import lazy
from bnmf_core.numerics.matrix import only_yes_and_no, stored

vectorizers = lazy("sklearn.feature_extraction.text")

COUNTS, TF_IDF, YES_NO = "counts", "tf-idf", "yes and no"


@dataclass(frozen=True)
class Rule:
    """A selection of words.

    Attributes
    ----------
    stop_words : left out, in lower case. fewest : minimum document frequency. largest : maximum
    document frequency as a part of the texts, above 0. most : vocabulary size.
    """

    stop_words: frozenset[str] = frozenset()
    fewest: int = 1
    largest: float = 1.0
    most: int = 5_000

    def __post_init__(self) -> None:
        if self.fewest < 1 or not 0.0 < self.largest <= 1.0 or self.most < 2:
            raise SettingsError(
                f"At least {self.fewest} texts, at most {self.largest:g} of them and {self.most} "
                "words were asked for; 1 text, a part above 0 and up to 1, and 2 words are needed."
            )


def document_counts(dataset: Dataset) -> Mapping[str, int]:
    """Document frequency of each word of the stored texts, else of X.

    Examples
    --------
    >>> from bnmf_core import Dataset
    >>> from bnmf_core.data.vocabulary import document_counts
    >>> texts = ["A red lamp.", "Red, red!"]
    >>> data = Dataset.from_array([[1, 2], [1, 0]], features=["red", "lamp"], texts=texts)
    >>> document_counts(data)
    {'red': 2, 'lamp': 1}
    """
    if dataset.texts is None:
        held = np.asarray((dataset.X > 0).sum(axis=1)).ravel()
        return dict(zip(dataset.features, held.tolist(), strict=True))
    return dataset.texts.documents()


def retained_words(documents: Mapping[str, int], N: int, rule: Rule) -> int:
    """Number of words that a rule retains, from their document frequencies in N texts."""
    largest = rule.largest * N
    passing = sum(
        rule.fewest <= count <= largest and word not in rule.stop_words
        for word, count in documents.items()
    )
    return min(passing, rule.most)


def recounted(dataset: Dataset, rule: Rule) -> Dataset:
    """Restrict the data to the words that a rule retains; the new name has their number.

    Stored texts are counted again with the weighting of X: counts, yes and no, or tf-idf. Without
    texts, rows of X are dropped.

    Raises
    ------
    SettingsError
        When fewer than two words remain.
    """
    stay = retained_words(document_counts(dataset), dataset.N, rule)
    if stay < 2:
        raise SettingsError(
            f"{'One word stays' if stay else 'No word stays'}, and at least 2 are needed; leave "
            "out fewer."
        )
    mask = None
    if dataset.texts is None:
        rows = _rows(dataset, rule)
        X, words = dataset.X[rows], [dataset.features[d] for d in rows]
        mask = None if dataset.mask is None else dataset.mask[rows]
    else:
        found, words = counted(dataset.texts, _weighting(dataset), rule)
        X = found.T
    made = Dataset.from_array(
        X,
        features=words,
        observations=dataset.observations,
        labels=dataset.labels,
        mask=mask,
        name=f"{dataset.name} ({len(words):,} words)",
        unit=dataset.unit,
        source=dataset.source,
        features_are=dataset.features_are,
    )
    return dataclasses.replace(made, texts=dataset.texts)


def counted(texts: Sequence[str], weighting: str, rule: Rule) -> tuple[Any, list[str]]:
    """A sparse matrix (N, words) of the words that a rule retains, and the words.

    weighting : "counts", "tf-idf" or "yes and no". ValueError when no word remains.
    """
    kind = vectorizers.TfidfVectorizer if weighting == TF_IDF else vectorizers.CountVectorizer
    vectorizer = kind(
        stop_words=sorted(rule.stop_words) or None,
        min_df=min(rule.fewest, len(texts)),
        max_df=float(rule.largest),
        max_features=rule.most,
        binary=weighting == YES_NO,
    )
    matrix = vectorizer.fit_transform(texts)
    return matrix.tocsc(), vectorizer.get_feature_names_out().tolist()


def english_stop_words() -> frozenset[str]:
    """The English stop words of scikit-learn."""
    return frozenset(vectorizers.ENGLISH_STOP_WORDS)


def _rows(dataset: Dataset, rule: Rule) -> np.ndarray:
    """The rows of X that a rule retains."""
    documents = document_counts(dataset)
    passing = np.array([retained_words({w: n}, dataset.N, rule) for w, n in documents.items()])
    total = np.where(passing, np.asarray(dataset.X.sum(axis=1)).ravel(), -1.0)
    return np.sort(np.argsort(-total, kind="stable")[: min(rule.most, int(passing.sum()))])


def _weighting(dataset: Dataset) -> str:
    if only_yes_and_no(stored(dataset.X)):
        return YES_NO
    return COUNTS if dataset.whole_numbers else TF_IDF
