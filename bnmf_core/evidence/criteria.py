"""Criteria for the number of components: a rule, a choice, and whether the choice settles.

Every criterion has a best rank, and ranks that are not significantly worse. It settles where the
best rank lies inside the tried range: at its end, larger or smaller ranks may be better.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.core.names import listed

# Evidences so near, in nats, are not worth more than a bare mention (Kass & Raftery 1995).
BARE_MENTION = 1.0
# Log Bayes factor (nats) of strong evidence: 20 to 1 (the same).
STRONG = 3.0
# Two ranks within so many standard errors of their difference do not differ significantly.
STANDARD_ERRORS = 2.0
LABELS = {
    "evidence": "Log evidence",
    "hidden": "Error on held-out entries",
    "stability": "Instability of components",
    "modes": "Number of modes",
}


@dataclass(frozen=True)
class Criterion:
    """One way to choose the rank.

    Attributes
    ----------
    label : its name on screen. rule : how it chooses, in words.
    chosen : the rank that it chooses; None where it chooses none.
    runners_up : other ranks that it cannot tell from it, the best first.
    settles : whether it has an answer. said : the answer, or why there is none, in a sentence.
    problem : why there is none, "" where there is.
    """

    label: str
    rule: str
    chosen: int | None
    runners_up: tuple[int, ...]
    settles: bool
    said: str
    problem: str = ""


def no_evidence(criteria: Mapping[str, Criterion]) -> str:
    """Why the model has no evidence at all, in a sentence; "" where it has one."""
    evidence = criteria["evidence"]
    return evidence.problem if evidence.chosen is None else ""


def by_evidence(
    ranks: np.ndarray, evidence: np.ndarray, error: np.ndarray, assumed: str, problem: str = ""
) -> Criterion:
    """The rank of the largest log evidence, the fewest components where it does not tell.

    assumed : the sentence on the noise. problem : why there is no evidence, "" where there is.
    """
    known = np.isfinite(evidence)
    best = int(np.where(known, evidence, -np.inf).argmax())
    allowed = np.maximum(STANDARD_ERRORS * np.hypot(error, error[best]), BARE_MENTION)
    behind = evidence[best] - evidence
    near = known & (behind <= allowed)
    rule = (
        "The rank of the largest log evidence; others are as good when they are within "
        f"{STANDARD_ERRORS:g} standard errors of the difference, or within a nat. Of those within "
        f"{STRONG:g} nats the smallest is chosen."
    )
    best = int((near & (behind <= STRONG)).argmax()) if known.any() else best
    if problem:
        return Criterion(LABELS["evidence"], rule, None, (), False, problem, problem)
    return _extreme(LABELS["evidence"], rule, ranks, -evidence, known, near, best, "grows", assumed)


def by_hidden(ranks: np.ndarray, squared: np.ndarray, a_cut: int) -> Criterion:
    """The fewest components whose error on held-out blocks is within a standard error of the least.

    Parameters
    ----------
    squared : (ranks, blocks) squared errors; NaN: not known. a_cut : blocks of one cut.
    """
    total = squared.sum(axis=1)
    known = np.isfinite(total)
    rule = (
        "The smallest rank whose error on blocks that were left out is within a standard error of "
        "the least, both of the difference, summed over the blocks; ranks within "
        f"{STANDARD_ERRORS:g} cannot be told apart."
    )
    label = LABELS["hidden"]
    if not known.any():
        problem = "what is left of the matrix is too little for every rank tried"
        return Criterion(label, rule, None, (), False, f"It says nothing: {problem}.", problem)
    least = int(np.where(known, total, np.inf).argmin())
    worse = squared - squared[least]
    apart, spread = worse.sum(axis=1), spread_of_sum(worse, a_cut)
    best = int((known & (apart <= spread)).argmax())
    near = known & (apart <= STANDARD_ERRORS * spread)
    return _extreme(label, rule, ranks, total, known, near, best, "falls", "", sparing=True)


def spread_of_sum(values: np.ndarray, a_cut: int) -> np.ndarray:
    """Standard error of the sum of values (ranks, blocks) over blocks of several cuts; (ranks,).

    Blocks of different cuts hold the same entries, and what is solved for one block uses most of
    the others, so that their errors go together: the variance of the mean is s²(1/n + ρ/(1 − ρ)),
    ρ the part that a block leaves out (Nadeau & Bengio 2003, section 3; Bouckaert & Frank 2004).
    """
    count = values.shape[1]
    together = 1.0 / (a_cut - 1.0)
    scatter: np.ndarray = np.std(values, axis=1, ddof=1)
    return scatter * count * np.sqrt(1.0 / count + together)


def by_stability(ranks: np.ndarray, angles: np.ndarray, threshold: float) -> Criterion:
    """The largest rank whose components are the same in all restarts."""
    rule = (
        "The largest rank at which components of converged restarts are within "
        f"{threshold:g}° of the best one's on average."
    )
    return _largest(LABELS["stability"], rule, ranks, angles <= threshold)


def by_modes(ranks: np.ndarray, modes: np.ndarray, threshold: float) -> Criterion:
    """The largest rank that has one mode."""
    rule = f"The largest rank at which all converged restarts are one mode at {threshold:g}°."
    return _largest(LABELS["modes"], rule, ranks, modes == 1)


def _extreme(
    label: str,
    rule: str,
    ranks: np.ndarray,
    loss: np.ndarray,
    known: np.ndarray,
    near: np.ndarray,
    best: int,
    goes_on: str,
    assumed: str,
    sparing: bool = False,
) -> Criterion:
    """A criterion that chooses among known ranks, which are ascending, those ``near`` the least.

    ``sparing`` : more components that do as well are no reason to go on, unless all do as well.
    """
    chosen, tried = int(ranks[best]), ranks[known]
    order = np.arange(ranks.size) if sparing else np.argsort(loss, kind="stable")
    runners_up = tuple(int(ranks[i]) for i in order if near[i] and i != best)
    candidates = (chosen, *runners_up)
    if tried.size == 1:
        problem = f"rank {chosen} is the only one that it could judge"
    elif sparing and near[known].all():
        problem = "none of the ranks tried can be told from that of the least error"
    elif chosen == tried[-1]:
        problem = f"it still {goes_on} at rank {chosen}, the largest that it could judge"
    elif chosen == tried[0] and chosen > 1:
        problem = f"it is best at rank {chosen}, the smallest tried; smaller ones may be better"
    elif tried[-1] in candidates and not sparing:
        problem = f"rank {tried[-1]}, the largest tried, is as good as the best, rank {chosen}"
    else:
        problem = ""
    if problem:
        sentence = " ".join(filter(None, [f"It does not settle: {problem}.", assumed]))
        return Criterion(label, rule, chosen, runners_up, False, sentence, problem)
    as_good = f", and cannot tell {_ranks(runners_up)} from it" if runners_up else ""
    return Criterion(label, rule, chosen, runners_up, True, f"It chooses rank {chosen}{as_good}.")


def _largest(label: str, rule: str, ranks: np.ndarray, holds: np.ndarray) -> Criterion:
    """A criterion that chooses the largest rank for which something holds."""
    held = [int(rank) for rank in ranks[holds]]
    if not held:
        problem = "it holds at no rank that was tried"
        return Criterion(
            label, rule, None, (), False, "It holds at no rank that was tried.", problem
        )
    chosen, runners_up = held[-1], tuple(reversed(held[:-1]))
    if chosen == ranks[-1]:
        problem = f"it still holds at rank {chosen}, the largest tried"
        sentence = f"It does not settle: {problem}."
        return Criterion(label, rule, chosen, runners_up, False, sentence, problem)
    also = f"; it also holds at {_ranks(runners_up)}" if runners_up else ""
    return Criterion(label, rule, chosen, runners_up, True, f"It chooses rank {chosen}{also}.")


def _ranks(ranks: Sequence[int]) -> str:
    return f"rank{'s' * (len(ranks) > 1)} {listed(ranks)}"
