"""Topics of documents under Poisson and under Gaussian noise: coherence, words and predictions."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy import sparse

from bnmf_core.compare.alignment import align
from bnmf_core.compare.coherence import coherence
from bnmf_core.compare.downstream import area_under_curve, predictions
from bnmf_core.compare.topics import top_indices
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.spec import RunSpec
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.split import holdout_columns
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs import engine
from bnmf_core.solvers.weights import weights_given
from studies.rrt import documents

LABEL, HOLDOUT = "category", 0.1
# Key of the model → its loss.
LOSSES = {"poisson": KULLBACK_LEIBLER, "gaussian": SQUARED_ERROR}
# Weight of the overall distribution of words in a prediction, so that no word has
# probability 0.
BACKGROUND = 0.01
# Fraction of longest documents whose part of all (squared) counts is reported.
LONGEST = 0.01


@dataclass(frozen=True)
class Topics:
    """What decides the numbers of topics.

    Attributes
    ----------
    terms : the most frequent ones. documents : a random sample of so many, where there are more.
    restarts : of each model. words : of a topic.
    few, few_rank : terms and documents, and components, of the data whose evidence is computed.
    """

    terms: int
    documents: int
    restarts: int
    words: int
    few: int
    few_rank: int
    seed: int


@dataclass(frozen=True)
class Corpus:
    """A collection of documents in the folder of public data sets.

    read : ``(folder, number of terms) → counts (D, N), terms (D,), labels (N,)``.
    """

    key: str
    label: str
    file: str
    read: Callable[[Path, int], tuple[sparse.sparray, np.ndarray, np.ndarray]]

    def present(self, data: Path | None) -> bool:
        """Whether it is available with this folder."""
        return data is not None and (data / self.file).is_file()

    def dataset(self, data: Path, plan: Topics) -> Dataset:
        """A random sample of documents by the most frequent terms, with their categories."""
        return _sampled(self.key, data, plan)


def _posts(data: Path, terms: int) -> tuple[sparse.sparray, np.ndarray, np.ndarray]:
    counts, words, groups = documents.counted_posts(data, terms)
    return counts, words, np.array([group.split(".")[0] for group in groups])


def _articles(data: Path, terms: int) -> tuple[sparse.sparray, np.ndarray, np.ndarray]:
    counts, _, topic = documents.counted_articles(data)
    words = np.array((data / "bbc/bbc.terms").read_text().split())
    frequent = np.sort(np.argsort(-counts.sum(axis=1), kind="stable")[:terms])
    head = (data / documents.TOPICS).read_text().split("%Clusters", 1)[1]
    names = np.array(head.splitlines()[0].split()[-1].split(","))
    return counts[frequent], words[frequent], names[topic]


CORPORA = {
    corpus.key: corpus
    for corpus in (
        Corpus("newsgroups", "Newsgroups", documents.POSTS, _posts),
        Corpus("bbc", "BBC articles", documents.ARTICLES, _articles),
    )
}


@lru_cache(maxsize=2)
def _sampled(key: str, data: Path, plan: Topics) -> Dataset:
    counts, words, labels = CORPORA[key].read(data, plan.terms)
    rng = np.random.default_rng(plan.seed)
    some = np.flatnonzero(counts.sum(axis=0) > 0)
    some = np.sort(rng.permutation(some)[: plan.documents])
    chosen = sparse.csc_array(counts[:, some], dtype=float)
    return Dataset.from_array(
        chosen, features=words, labels={LABEL: labels[some]}, name=key, unit="count"
    )


def measured(key: str, rank: int, data: Path, plan: Topics) -> dict[str, object]:
    """``rows``: model and quantity, factorization, value."""
    whole = CORPORA[key].dataset(data, plan)
    train, held_out = holdout_columns(whole.N, HOLDOUT, plan.seed, whole.labels[LABEL])
    seen, rows, found, top = whole.columns(train), [], {}, {}
    for model, loss in LOSSES.items():
        with one_blas_thread():
            spec = RunSpec("random_restarts", rank, model, plan.restarts, plan.seed)
            particles = engine.run(seen, spec)
            predicted = predictions(particles.A, whole, LABEL, held_out, loss=loss)
            nats = _nats_per_word(particles.A, seen, whole.columns(held_out), plan.seed)
        best = int(particles.error.argmin())
        found[model] = align(particles, best)
        top[model] = top_indices(found[model].A, plan.words)
        quantities = {
            "error": particles.error,
            "coherence": coherence(top[model], whole.X).mean(axis=1),
            "auc": [area_under_curve(p, predicted.members).mean() for p in predicted.probabilities],
            "nats": nats,
            "held": _share_held(top[model], whole.X),
            "single": (particles.W.max(axis=2) / particles.W.sum(axis=2)).mean(axis=1),
            "distinct": [np.unique(words).size / words.size for words in top[model]],
        }
        for name, values in quantities.items():
            rows += [(f"{model} {name}", m, float(value)) for m, value in enumerate(values)]
        rows += _shared(model, top[model], top[model][best], skip=best)
    rows += [(name, 0, part) for name, part in concentration(seen.X).items()]
    poisson, gaussian = (found[model] for model in LOSSES)
    reference = poisson.A[int(poisson.error.argmin())]
    beside = top_indices(align(gaussian, reference).A, plan.words)
    rows += _shared("across", beside, top_indices(reference, plan.words))
    return {"rows": [list(row) for row in rows]}


def _shared(
    name: str, top: np.ndarray, reference: np.ndarray, skip: int | None = None
) -> list[tuple[str, int, float]]:
    """Mean number of words that each topic shares with the reference's topic."""
    alike = (top[..., None] == reference[:, None]).sum(axis=(2, 3)).mean(axis=1)
    return [(f"{name} shared", m, float(some)) for m, some in enumerate(alike) if m != skip]


def _share_held(top: np.ndarray, X: sparse.sparray) -> np.ndarray:
    """Mean document frequency of top words, for each factorization (M, R, K)."""
    share = np.diff(sparse.csr_array(X).indptr) / X.shape[1]
    return share[top].mean(axis=(1, 2))


def _nats_per_word(A: np.ndarray, seen: Dataset, held_out: Dataset, seed: int) -> np.ndarray:
    """Minus mean log probability of the words in one half of each held-out document, (M,).

    Weights, those of maximum Poisson likelihood, come from the other half: each count falls into
    either at random (Wallach and others 2009).
    """
    counts = sparse.csc_array(held_out.X).astype(np.int64)
    first = counts.copy()
    first.data = np.random.default_rng(seed).binomial(counts.data, 0.5)
    second = counts - first
    both = (first.sum(axis=0) > 0) & (second.sum(axis=0) > 0)
    known, scored = sparse.csc_array(first[:, both]), sparse.coo_array(second[:, both])
    common = np.asarray(seen.X.sum(axis=1)).ravel()
    common = (common + 1.0) / (common + 1.0).sum()
    nats = []
    for basis in A:
        W = weights_given(Dataset.from_array(known.astype(float)), basis[None], KULLBACK_LEIBLER)[0]
        Y = basis @ W
        p = (1.0 - BACKGROUND) * Y / np.maximum(Y.sum(axis=0), 1e-300) + BACKGROUND * common[
            :, None
        ]
        d, n = scored.coords
        nats.append(-(scored.data * np.log(p[d, n])).sum() / scored.data.sum())
    return np.array(nats)


def concentration(X: sparse.sparray) -> dict[str, float]:
    """The part of all counts, and of all squared counts, in the 1 % of documents with the most."""
    sums = {"counts": X.sum(axis=0), "squares": X.multiply(X).sum(axis=0)}
    return {
        name: float(np.sort(of)[-max(1, round(LONGEST * of.size)) :].sum() / of.sum())
        for name, of in sums.items()
    }


def evidence(key: str, model: str, data: Path, plan: Topics) -> dict[str, object]:
    """``rows``: the log evidence of a rank and its error.

    Of some documents by their most frequent terms.
    """
    began = time.process_time()
    X = sparse.csr_array(CORPORA[key].dataset(data, plan).X)
    frequent = np.sort(np.argsort(-X.sum(axis=1), kind="stable")[: plan.few])
    some = X[frequent]
    some = some[:, np.flatnonzero(some.sum(axis=0) > 0)[: plan.few]].toarray()
    few = Dataset.from_array(some[some.any(axis=1)], name=key)
    rng = np.random.default_rng(plan.seed)
    study = rank_study(few, [plan.few_rank], model=model, restarts=5, most_modes=1, rng=rng)
    found = study.table[["log_evidence", "error"]].iloc[0].astype(float).to_dict()
    found |= {"seconds": time.process_time() - began, "documents": few.N, "terms": few.D}
    return {"rows": [[name, plan.few_rank, float(value)] for name, value in found.items()]}
