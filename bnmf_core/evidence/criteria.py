"""What each criterion says of the number of components: a rule, a choice, and whether it settles.

Every criterion has a best rank, and ranks that cannot be told from it. It settles where the best
rank lies inside the range that was tried: at the end of the range nobody knows what comes next.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

# Evidences so near, in nats, are not worth more than a bare mention (Kass & Raftery 1995).
BARE_MENTION = 1.0
# Standard errors of a difference within which two ranks cannot be told apart.
STANDARD_ERRORS = 2.0


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


def by_evidence(
    ranks: np.ndarray, evidence: np.ndarray, error: np.ndarray, assumed: str
) -> Criterion:
    """The rank of the largest log evidence; ``assumed`` : the sentence on the noise."""
    known = np.isfinite(evidence)
    best = int(np.where(known, evidence, -np.inf).argmax())
    allowed = np.maximum(STANDARD_ERRORS * np.hypot(error, error[best]), BARE_MENTION)
    near = known & (evidence[best] - evidence <= allowed)
    rule = (
        "The rank of the largest log evidence; others are as good when they are within "
        f"{STANDARD_ERRORS:g} standard errors of the difference, or within a nat."
    )
    return _extreme("Log evidence", rule, ranks, -evidence, known, near, best, "grows", assumed)


def by_hidden(ranks: np.ndarray, squared: np.ndarray) -> Criterion:
    """The rank of the smallest error on hidden blocks, squared (ranks, blocks); NaN: not known."""
    total = squared.sum(axis=1)
    known = np.isfinite(total)
    rule = (
        "The rank of the smallest error on blocks that were left out; others are as good when "
        f"the difference, summed over the blocks, is within {STANDARD_ERRORS:g} of its standard "
        "errors."
    )
    label = "Error on hidden entries"
    if not known.any():
        problem = "what is left of the matrix is too little for every rank tried"
        return Criterion(label, rule, None, (), False, f"It says nothing: {problem}.", problem)
    best = int(np.where(known, total, np.inf).argmin())
    worse = squared - squared[best]
    count = squared.shape[1]
    deviation = np.std(worse, axis=1, ddof=1) * np.sqrt(count)
    near = known & (worse.sum(axis=1) <= STANDARD_ERRORS * deviation)
    near[best] = True
    return _extreme(label, rule, ranks, total, known, near, best, "falls", "")


def by_stability(ranks: np.ndarray, angles: np.ndarray, threshold: float) -> Criterion:
    """The largest rank whose components are the same in all restarts."""
    rule = (
        "The largest rank at which components of converged restarts are within "
        f"{threshold:g}° of the best one's on average."
    )
    return _largest("Stability of components", rule, ranks, angles <= threshold)


def by_modes(ranks: np.ndarray, modes: np.ndarray, threshold: float) -> Criterion:
    """The largest rank that has one mode."""
    rule = f"The largest rank at which all converged restarts are one mode at {threshold:g}°."
    return _largest("Number of modes", rule, ranks, modes == 1)


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
) -> Criterion:
    """A criterion that chooses the smallest loss among known ranks, which are ascending."""
    chosen, tried = int(ranks[best]), ranks[known]
    order = np.argsort(loss, kind="stable")
    runners_up = tuple(int(ranks[i]) for i in order if near[i] and i != best)
    candidates = (chosen, *runners_up)
    if tried.size == 1:
        problem = f"rank {chosen} is the only one that it could judge"
    elif chosen == tried[-1]:
        problem = f"it still {goes_on} at rank {chosen}, the largest that it could judge"
    elif chosen == tried[0] and chosen > 1:
        problem = f"it is best at rank {chosen}, the smallest tried; smaller ones may be better"
    elif tried[-1] in candidates:
        problem = f"rank {tried[-1]}, the largest tried, is as good as the best, rank {chosen}"
    else:
        problem = ""
    if problem:
        said = " ".join(filter(None, [f"It does not settle: {problem}.", assumed]))
        return Criterion(label, rule, chosen, runners_up, False, said, problem)
    as_good = f", and cannot tell {_listed(runners_up)} from it" if runners_up else ""
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
        said = f"It does not settle: {problem}."
        return Criterion(label, rule, chosen, runners_up, False, said, problem)
    also = f"; it also holds at {_listed(runners_up)}" if runners_up else ""
    return Criterion(label, rule, chosen, runners_up, True, f"It chooses rank {chosen}{also}.")


def _listed(ranks: Sequence[int]) -> str:
    words = [str(rank) for rank in ranks]
    ending = f" and {words[-1]}" if len(words) > 1 else ""
    return f"rank{'s' * (len(words) > 1)} {', '.join(words[:-1] or words)}{ending}"
