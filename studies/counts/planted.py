"""Rank studies of counts whose number of components is known."""

import time
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.evidence.rank_study import RankStudy, rank_study
from bnmf_core.evidence.variation import variation
from bnmf_core.findings.ranks import CLEAR, LEANING, OPEN, Recommendation, recommend

# Model of planted counts → the other model.
NOISES = ("poisson", "negative_binomial")
RANKS = tuple(range(2, 9))
GRADES = (OPEN, LEANING, CLEAR)
# Rows and columns for each component, and the fewest.
ROWS, COLUMNS, FEWEST_ROWS, FEWEST_COLUMNS = 4, 3, 16, 12
# Probability that a row has another component, and least loading of its own one.
SHARED, OWN = 0.1, 0.5
# Shape of the gamma weights.
SHAPE = 0.7

Row = tuple[str, float, float]
# Random restarts of each rank.
RESTARTS = 20


@dataclass(frozen=True)
class Planted:
    """What decides the numbers of the planted part.

    Attributes
    ----------
    counts : of a column on average. ratio : mean ratio of variance to mean of the dispersed ones.
    around : number of ranks below and above the planted one.
    weighed : most modes of a rank in its evidence.
    compared : repetitions that also compute the evidence of the other noise.
    """

    counts: float
    ratio: float
    around: int
    weighed: int
    compared: int
    seed: int


def planted(rank: int, noise: str, plan: Planted, repetition: int) -> Dataset:
    """Counts X (4R, 3R) of R components, at least (16, 12).

    Each row belongs to one component in turn and holds each other one with probability 0.1.
    """
    rng = np.random.default_rng([plan.seed, rank, NOISES.index(noise), repetition])
    D, N = max(FEWEST_ROWS, ROWS * rank), max(FEWEST_COLUMNS, COLUMNS * rank)
    own = np.arange(D)[:, None] % rank == np.arange(rank)
    held = own | (rng.random((D, rank)) < SHARED)
    A = held * rng.standard_exponential((D, rank)) + OWN * own
    A /= A.sum(axis=0)
    Y = A @ rng.gamma(SHAPE, plan.counts / rank / SHAPE, (rank, N))
    if noise == "negative_binomial":
        k = Y.mean() / (plan.ratio - 1.0)
        Y *= rng.gamma(k, 1.0 / k, Y.shape)
    X = rng.poisson(Y).astype(float)
    return Dataset.from_array(X[X.any(axis=1)][:, X.any(axis=0)], name=f"{rank} components")


def measured(rank: int, noise: str, repetition: int, plan: Planted) -> dict[str, object]:
    """``rows``: quantity, rank (0: all), value; ``reason``: of the recommendation."""
    data = planted(rank, noise, plan, repetition)
    began = time.process_time()
    tried = range(max(1, rank - plan.around), rank + plan.around + 1)
    options = {"restarts": RESTARTS, "most_modes": plan.weighed}
    study = rank_study(data, tried, model=noise, rng=np.random.default_rng(plan.seed), **options)
    found = recommend(study)
    rows = [("seconds", 0, time.process_time() - began), *of_study(study, found)]
    rows.append(("variation", 0, variation(data).ratio))
    if repetition < plan.compared:
        other = NOISES[1 - NOISES.index(noise)]
        rng = np.random.default_rng(plan.seed)
        beside = rank_study(data, [found.rank], model=other, rng=rng, **options)
        ours = study.table.set_index("rank")["log_evidence"][found.rank]
        rows.append(("lead", 0, float(ours - beside.table["log_evidence"].iloc[0])))
    return {"rows": [list(row) for row in rows], "reason": found.reason}


def of_study(study: RankStudy, found: Recommendation) -> list[Row]:
    """Rows of a rank study: the table of ranks, the recommended rank and its grade."""
    table = study.table[["rank", "log_evidence", "error", "hidden_error", "modes"]]
    rows = [
        (name, int(one["rank"]), float(one[name]))
        for _, one in table.iterrows()
        for name in table.columns[1:]
    ]
    numbers = {"chosen": found.rank, "grade": GRADES.index(found.grade)}
    for key in ("evidence", "hidden"):
        chosen = study.criteria[key].chosen
        numbers[key] = np.nan if chosen is None else chosen
    return rows + [(name, 0, float(value)) for name, value in numbers.items()]
