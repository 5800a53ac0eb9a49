"""One cell of the study of topics: words and predictions of an algorithm's factorizations."""

import time
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import stats

from bnmf_core.compare.alignment import align
from bnmf_core.compare.downstream import area_under_curve, predictions
from bnmf_core.compare.topics import key_term_counts, top_words
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.samples import load_sample
from bnmf_core.data.split import holdout_columns
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs import engine
from studies.runner import Cell
from studies.words import words

TABLES = words("topics", "plan")
COLUMNS: dict[str, dict] = TABLES["columns"]
TOPICS: dict[str, dict[str, str]] = TABLES["topics"]
LABEL, HOLDOUT = "category", 0.1
# Named in the caption of figure 5.
TERMS = ("card", "chip", "space", "nasa", "ftp", "server")
# The algorithm whose words are stored.
OURS = "q_transform"
# Factorizations whose words are compared.
SHOWN = 3
DIGITS = 5


@dataclass(frozen=True)
class TopicsPlan:
    """What decides the numbers.

    Attributes
    ----------
    particles : factorizations of each algorithm. iterations : of a descent. words : of a topic.
    """

    repetitions: int = 5
    particles: int = 20
    iterations: int = 1000
    rank: int = 16
    words: int = 15
    seed: int = 0


@lru_cache(maxsize=1)
def posts() -> Dataset:
    """The sample of newsgroup posts."""
    return load_sample("newsgroups")


def measured(column: str, repetition: int, plan: TopicsPlan) -> Cell:
    """``rows``: of what, factorization, quantity, value; ``words``: topic → words side by side."""
    whole, seed = posts(), plan.seed + repetition
    train, held_out = holdout_columns(whole.N, HOLDOUT, seed, whole.labels[LABEL])
    chosen = dict(COLUMNS[column]["settings"])
    if "solver_iterations" in chosen:
        chosen["iterations"] = plan.iterations
    spec = RunSpec(column, plan.rank, "gaussian", plan.particles, seed, chosen)
    with one_blas_thread():
        began = time.process_time()
        particles = engine.run(whole.columns(train), spec)
        took = time.process_time() - began
        found = predictions(particles.A, whole, LABEL, held_out)
    rows = [("all", m, "error", error) for m, error in enumerate(particles.error)]
    rows.append(("all", 0, "seconds", took))
    aucs = np.array([area_under_curve(p, found.members) for p in found.probabilities])
    halves = _halves(found.probabilities, found.members, seed)
    for k, task in enumerate(found.tasks):
        rows += [(task, m, "auc", auc) for m, auc in enumerate(aucs[:, k])]
        rows.append((task, 0, "halves", halves[k]))
    cell: Cell = {"rows": [], "words": {}}
    if column == OURS:
        word_rows, cell["words"] = _words(particles, whole.features, plan)
        rows += word_rows
    cell["rows"] = [[*row[:3], float(f"{row[3]:.{DIGITS}g}")] for row in rows]
    return cell


def _halves(probabilities: np.ndarray, members: np.ndarray, seed: int) -> np.ndarray:
    """Rank correlation over the factorizations of their AUC on two halves of the posts: (K,).

    Each half has half of every category. 0 where all factorizations are the same there.
    """
    rng, category = np.random.default_rng(seed), members.argmax(axis=1)
    first = np.zeros(len(members), dtype=bool)
    for k in range(members.shape[1]):
        of_category = rng.permutation(np.flatnonzero(category == k))
        first[of_category[: of_category.size // 2]] = True
    one, other = (
        np.array([area_under_curve(p[part], members[part]) for p in probabilities])
        for part in (first, ~first)
    )
    correlations = []
    for a, b in zip(one.T, other.T, strict=True):
        constant = np.ptp(a) == 0 or np.ptp(b) == 0
        correlations.append(0.0 if constant else float(stats.spearmanr(a, b).statistic))
    return np.array(correlations)


def _words(
    particles: Particles, features: tuple[str, ...], plan: TopicsPlan
) -> tuple[list[tuple], dict[str, list[list[str]]]]:
    """Rows on the words of aligned topics, and those of each named topic side by side."""
    aligned = align(particles).A
    named = top_words(aligned, features, plan.words)
    changed = np.array(
        [
            [plan.words - len({*top} & {*first}) for top, first in zip(f, named[0], strict=True)]
            for f in named
        ]
    )
    rows = [("topics", m, "changed", changed[m].mean()) for m in range(1, particles.M)]
    share = aligned[0] / aligned[0].sum(axis=0)
    shown = {}
    for key, topic in TOPICS.items():
        component = int(share[list(features).index(topic["word"])].argmax())
        rows += [(key, m, "changed", changed[m, component]) for m in range(1, particles.M)]
        shown[key] = [named[m, component].tolist() for m in _apart(aligned[:, :, component])]
    terms = [term for term in TERMS if term in features]
    for term, counts in zip(
        terms, key_term_counts(particles.A, features, terms, plan.words).T, strict=True
    ):
        rows += [(f"term {term}", m, "topics", count) for m, count in enumerate(counts)]
    return rows, shown


def _apart(columns: np.ndarray) -> list[int]:
    """Three of M rows (M, D): the first, then each farthest from the previous ones."""
    unit = columns / np.linalg.norm(columns, axis=1, keepdims=True)
    found, nearest = [0], unit @ unit[0]
    while len(found) < min(SHOWN, len(columns)):
        found.append(int(nearest.argmin()))
        nearest = np.maximum(nearest, unit @ unit[found[-1]])
    return found
