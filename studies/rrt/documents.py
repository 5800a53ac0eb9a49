"""Two public collections of documents as matrices of term weights, in the sizes of paper 2.

The paper states the numbers of terms and documents, but not which ones, nor their weights. Its
ELBOs fit unit columns of TF-IDF weights (see ``published/rrt.json``), which this module makes.
"""

import gzip
from collections.abc import Collection
from pathlib import Path

import numpy as np
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.data.load import load_file

# The four groups whose training posts number 2,034, as in the paper.
GROUPS = ("alt.atheism", "comp.graphics", "sci.space", "talk.religion.misc")
POSTS = "20newsgroups/20newsgroups-train.tab.gz"
ARTICLES = "bbc/bbc.mtx"
TOPICS = "bbc/bbc.classes"
POST_TERMS = 813
ARTICLE_TERMS, ARTICLE_COUNT, ARTICLE_TOPICS = 6045, 1162, 4
# Lines above the first post, and above the first article's class.
POST_HEADER, CLASS_HEADER = 3, 4


def posts(data: Path) -> Dataset:
    """The posts of ``GROUPS`` by the 813 most frequent terms that are no stop words."""
    return _weighted(*counted_posts(data, POST_TERMS, GROUPS), "20 Newsgroups")


def counted_posts(
    data: Path, terms: int, groups: Collection[str] = ()
) -> tuple[sparse.sparray, np.ndarray, np.ndarray]:
    """Counts (D, N) of the most frequent terms that are no stop words, the terms, and the groups.

    groups : whose posts; none: all.
    """
    from sklearn.feature_extraction.text import CountVectorizer  # noqa: PLC0415  (slow to import)

    with gzip.open(data / POSTS, "rt", encoding="utf-8", newline="\n") as file:
        lines = file.read().split("\n")[POST_HEADER:]
    parts = [line.partition("\t") for line in lines]
    chosen = [(group, text) for group, _, text in parts if group in (groups or [group]) and text]
    vectorizer = CountVectorizer(stop_words="english", max_features=terms)
    counts = sparse.csr_array(vectorizer.fit_transform([text for _, text in chosen]).T)
    labels = np.array([group for group, _ in chosen])
    return counts, vectorizer.get_feature_names_out(), labels


def counted_articles(data: Path) -> tuple[sparse.sparray, np.ndarray, np.ndarray]:
    """Counts (D, N) of all terms in all articles, the terms, and the topic of each article."""
    whole = load_file(data / ARTICLES, observations="columns")
    lines = (data / TOPICS).read_text().splitlines()[CLASS_HEADER:]
    topic = np.array([int(line.split()[1]) for line in lines])
    return sparse.csr_array(whole.X), np.array(whole.features), topic


def articles(data: Path) -> Dataset:
    """1,162 articles of the four largest topics, by the 6,045 terms that most of them hold.

    Which articles is drawn with a fixed seed.
    """
    every, names, topic = counted_articles(data)
    largest = np.argsort(-np.bincount(topic), kind="stable")[:ARTICLE_TOPICS]
    of_these = np.flatnonzero(np.isin(topic, largest))
    chosen = np.sort(np.random.default_rng(0).permutation(of_these)[:ARTICLE_COUNT])
    counts = sparse.csr_array(every[:, chosen])
    common = np.sort(np.argsort(-np.diff(counts.indptr), kind="stable")[:ARTICLE_TERMS])
    return _weighted(counts[common], names[common], topic[chosen].astype(str), "BBC articles")


def _weighted(counts: sparse.sparray, terms: np.ndarray, labels: np.ndarray, name: str) -> Dataset:
    """TF-IDF weights of counts (D, N), columns of length 1, or 0 for a document without a term."""
    from sklearn.feature_extraction.text import TfidfTransformer  # noqa: PLC0415

    weights = sparse.csc_array(TfidfTransformer().fit_transform(counts.T).T)
    return Dataset.from_array(
        weights, features=terms, labels={"topic": labels}, name=name, unit="TF-IDF weight"
    )
