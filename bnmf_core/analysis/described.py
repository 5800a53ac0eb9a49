"""Plain facts of a dataset in words: its size, zeros, unit, labels and missing entries."""

from collections import Counter

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import listed, percent
from bnmf_core.numerics.matrix import is_sparse, stored

# Number of classes with individual counts.
MOST_CLASSES = 12
# A feature above this share of the sum of squares dominates, if there are at least so many; so do
# a few, at most this part of all, above the second share.
MOST_OF_ALL, NEARLY_ALL, FEW, A_FEW, PART = 0.5, 0.9, 3, 5, 0.25


def described(dataset: Dataset) -> list[str]:
    """Facts, each as short as it can be.

    >>> from bnmf_core import Dataset
    >>> described(Dataset.from_array([[1.0, 0.0], [0.0, 3.0]], labels=["a", "b"], unit="counts"))
    ['2 features × 2 observations', '50 % zeros', 'counts', 'label (2 classes)']
    """
    zeros = 1.0 - np.count_nonzero(stored(dataset.X)) / dataset.observed
    whole = dataset.whole
    facts = [
        f"{dataset.D:,} {dataset.feature_noun} × {dataset.all_N:,} observations",
        f"{percent(zeros)} zeros{' in the sample' if whole else ''}",
    ]
    if whole:
        facts.append(f"{whole.count:,} block{'s' * (whole.count != 1)}")
    if dataset.missing:
        known = int(dataset.hidden_entries()[1].sum())
        hidden = f", {known:,} of them masked on purpose" if known else ""
        part = percent(dataset.missing / (dataset.D * dataset.N))
        noun = "entry" if dataset.missing == 1 else "entries"
        facts.append(f"{dataset.missing:,} {noun} missing ({part}){hidden}")
    if dataset.unit:
        facts.append(dataset.unit)
    for key, values in dataset.labels.items():
        classes = len(set(values.tolist()) - {""})
        facts.append(f"{key} ({classes:,} class{'es' * (classes != 1)})")
    return facts


def describe_sample(dataset: Dataset) -> str:
    """What uses all observations, and what uses a sample of them; "" where X is in memory.

    >>> import tempfile
    >>> from bnmf_core import Dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.save(f"{folder}/X.npy", np.ones((1200, 4)))
    ...     print(describe_sample(Dataset.from_blocks(f"{folder}/X.npy", sample=200)))
    A, errors and modes are of all 1,200 observations; charts of observations show a random sample \
of 200.
    """
    if dataset.whole is None:
        return ""
    if dataset.N >= dataset.whole.N:
        return f"Runs read the {dataset.whole.N:,} observations in blocks; charts show all of them."
    return (
        f"A, errors and modes are of all {dataset.whole.N:,} observations; charts of observations "
        f"show a random sample of {dataset.N:,}."
    )


def of_a_sample(dataset: Dataset) -> str:
    """Sentence that observations shown are a sample; "" where all are shown."""
    if dataset.whole is None or dataset.N >= dataset.whole.N:
        return ""
    return f"Observations are a random sample of {dataset.N:,} of {dataset.whole.N:,}."


def describe_rank_sample(dataset: Dataset) -> str:
    """The observations that ranks are compared on, for X in blocks; "" for X in memory."""
    if dataset.whole is None:
        return ""
    return (
        f"Ranks are compared on a random sample of {dataset.N:,} of {dataset.whole.N:,} "
        "observations."
    )


def dominant_lines(dataset: Dataset) -> str:
    """Sentence that one or a few features, or else observations, dominate the sum of squares.

    "" where none do.

    >>> from bnmf_core import Dataset
    >>> dominant_lines(Dataset.from_array([[1.0, 2.0], [0.0, 1.0], [3.0, 9.0]])).split(":")[0]
    '“feature 3” makes 93.8 % of the sum of squares'
    """
    X = dataset.X
    if is_sparse(X):
        summed = [X.multiply(X).sum(axis=axis) for axis in (1, 0)]
    else:
        summed = [np.einsum(f"dn,dn->{axis}", X, X) for axis in "dn"]
    named = ("features", dataset.features), ("observations", dataset.observations)
    for sums, (lines, names) in zip(summed, named, strict=True):
        of_each = np.asarray(sums, dtype=float).ravel()
        if len(of_each) < FEW:
            continue
        order = np.argsort(-of_each, kind="stable")
        parts = np.cumsum(of_each[order]) / max(of_each.sum(), np.finfo(float).tiny)
        count = int((parts <= NEARLY_ALL).sum()) + 1
        if parts[0] > MOST_OF_ALL:
            makes = f"“{names[int(order[0])]}” makes {percent(parts[0])}"
            seen = "depends on it most" if count > 1 else f"hardly sees the other {lines}"
        elif count <= min(A_FEW, PART * len(of_each)):
            of = listed(f"“{names[n]}”" for n in order[:count])
            makes = f"{of} make {percent(parts[count - 1])}"
            seen = f"hardly sees the other {lines}"
        else:
            continue
        return (
            f"{makes} of the sum of squares: the fit {seen}. If {lines} matter alike, divide each "
            "by its largest value first."
        )
    return ""


def label_counts(dataset: Dataset) -> list[str]:
    """One sentence for each label: the number of observations in its largest classes."""
    sentences = []
    for key, values in dataset.labels.items():
        counts = Counter(values.tolist()).most_common()
        words = ", ".join(f"{name or '(none)'}: {n:,}" for name, n in counts[:MOST_CLASSES])
        more = f" and {len(counts) - MOST_CLASSES:,} more" if len(counts) > MOST_CLASSES else ""
        sentences.append(f"Label {key}: {words}{more}.")
    return sentences


def binary_facts(binary: Dataset) -> str:
    """How many entries of a binary matrix are 1, and which rows and columns say nothing."""
    ones = [np.asarray((binary.X > 0).sum(axis=axis)).ravel() for axis in (1, 0)]
    share = ones[0].sum() / binary.observed
    empty = [int((count == 0).sum()) for count in ones]
    full = int((ones[0] == binary.N).sum())
    text = f"{ones[0].sum():,} of {binary.observed:,} cells would be yes, {share:.0%}."
    if any(empty):
        text += f" {empty[0]:,} features and {empty[1]:,} observations would have none."
    if full:
        text += f" {full:,} features would be yes everywhere, and tell nothing."
    return text
