"""One recommendation of the number of components, with a grade: clear, leaning or open.

Two criteria measure how many components X needs: the evidence, and the error on hidden entries.
Instability of components and number of modes say at which ranks restarts agree; they stand beside
the recommendation and have no vote in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from bnmf_core.core.names import listed
from bnmf_core.evidence.criteria import Criterion
from bnmf_core.evidence.rank_evidence import THRESHOLD
from bnmf_core.evidence.rank_study import RankStudy

CLEAR, LEANING, OPEN = "clear", "leaning", "open"
# Nats by which the evidence of a rank has to lead: e³, 20 to 1, is strong (Kass & Raftery 1995).
STRONG = 3.0


@dataclass(frozen=True)
class Recommendation:
    """How many components, and how sure that is.

    Attributes
    ----------
    rank : the rank recommended; where the grade is open, that of the highest evidence.
    grade : "clear": evidence and hidden entries agree. "leaning": the evidence leads and the
        hidden entries do not contradict it, or X holds counts and the hidden entries name fewer
        components. "open": they disagree, or the evidence does not settle.
    alternatives : other ranks that a criterion names, the best first.
    sentence, reason : for the screen.
    """

    rank: int
    grade: str
    alternatives: tuple[int, ...]
    sentence: str
    reason: str


def recommend(study: RankStudy) -> Recommendation:
    """The recommendation of a study.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import low_rank, rank_study
    >>> from bnmf_core.evidence.verdict import recommend
    >>> data = low_rank(10, 12, rank=2, noise=0.1, rng=np.random.default_rng(1))
    >>> study = rank_study(data, [1, 2, 3], sigma=0.1, restarts=5, rng=np.random.default_rng(0))
    >>> recommend(study).rank
    2
    """
    evidence, hidden = study.criteria["evidence"], study.criteria["hidden"]
    chosen = evidence.chosen
    if chosen is None:
        reason = f"The evidence does not settle: {evidence.problem}."
        if hidden.chosen is None:
            rank = int(study.table["rank"].iloc[0])
            return Recommendation(rank, OPEN, (), "The number of components is open.", reason)
        others = tuple(r for r in hidden.runners_up if r != hidden.chosen)
        said = f"The number of components is open: hidden entries choose {hidden.chosen}."
        return Recommendation(hidden.chosen, OPEN, others, said, reason)
    hinted = () if hidden.chosen is None else (hidden.chosen, *hidden.runners_up)
    named = dict.fromkeys((chosen, *evidence.runners_up, *hinted))
    fewest = min(hinted, default=chosen)
    if study.counts and hidden.settles and hidden.chosen == fewest < chosen:
        # Noise that grows with the mean looks like structure; hidden blocks do not share it.
        reason = (
            f"The evidence chooses {chosen}, but it can take the noise of counts for components."
        )
        said = f"{_components(fewest)}: the fewest with the least error on hidden entries."
        return Recommendation(fewest, LEANING, tuple(r for r in named if r != fewest), said, reason)
    alternatives = tuple(r for r in named if r != chosen)
    lead = _lead(study)
    if doubt := _doubt(study, chosen, lead):
        return _open(chosen, alternatives, doubt)
    by = f"evidence by {lead:,.0f} nats" if lead < float("inf") else "evidence"
    if hidden.settles and hidden.chosen == chosen:
        said = f"{_components(chosen)}: {by}, hidden entries agree."
        return Recommendation(chosen, CLEAR, (), said, "")
    said = f"{_components(chosen)}: {by}, hidden entries do not contradict it."
    return Recommendation(chosen, LEANING, alternatives, said, _of_hidden(hidden, chosen))


def _doubt(study: RankStudy, chosen: int, lead: float) -> str:
    """Why the rank that the evidence chooses stays open; "" where it does not."""
    evidence, hidden = study.criteria["evidence"], study.criteria["hidden"]
    if not evidence.settles:
        return f"The evidence does not settle: {evidence.problem}."
    if hidden.settles and chosen not in (hidden.chosen, *hidden.runners_up):
        return (
            f"The evidence chooses {chosen}; the error on hidden entries chooses {hidden.chosen}."
        )
    if lead < STRONG:
        return f"The evidence of {chosen} leads by less than {STRONG:g} nats."
    if study.counts and not (hidden.settles and hidden.chosen == chosen):
        return f"{_of_hidden(hidden, chosen)} The noise of counts can pass for components."
    return ""


def _of_hidden(hidden: Criterion, chosen: int) -> str:
    if hidden.settles:
        return f"The hidden entries choose {hidden.chosen} and do not rule {chosen} out."
    return f"The error on hidden entries does not settle: {hidden.problem}."


def _open(rank: int, alternatives: tuple[int, ...], reason: str) -> Recommendation:
    said = f"The number of components is open: {rank} has the highest evidence."
    return Recommendation(rank, OPEN, alternatives, said, reason)


def _components(rank: int) -> str:
    return f"{rank} component{'s' * (rank != 1)}"


def _lead(study: RankStudy) -> float:
    """Nats from the best evidence to the second; ∞ where there is no second."""
    evidence = study.table["log_evidence"].dropna().sort_values(ascending=False)
    return float(evidence.iloc[0] - evidence.iloc[1]) if len(evidence) > 1 else float("inf")


def of_restarts(study: RankStudy) -> str:
    """At which ranks restarts find the same components, and at which they are one mode."""
    made = int(study.table["restarts"].iloc[0])
    few = study.table.loc[study.table["modes"].isna(), "rank"]
    unknown = f" Fewer than half of them converged at {_ranks(few)}." if len(few) else ""
    return (
        f"Of {made} restarts of each rank those that have converged find components that are on "
        f"average within {THRESHOLD:g}° of the best one's "
        f"{_held(study.criteria['stability'])}. They are one mode "
        f"{_held(study.criteria['modes'])}.{unknown}"
    )


def assumed(study: RankStudy) -> str:
    """What the evidence takes for granted, and where it is not confirmed."""
    words = "The evidence takes the noise to be Gaussian and alike in all entries: "
    unsure = study.table.loc[~study.table["settled"].astype(bool), "rank"]
    doubt = f" Twice the steps have not confirmed it at {_ranks(unsure)}." if len(unsure) else ""
    return words + study.noise + doubt


def of_rank(study: RankStudy, rank: int) -> tuple[str, str]:
    """The recommendation beside a rank in use, and its reason with what restarts say."""
    found = recommend(study)
    used = f" This analysis has {_components(rank)}." if rank != found.rank else ""
    return f"{found.sentence}{used}", " ".join(filter(None, [found.reason, of_restarts(study)]))


def _held(criterion: Criterion) -> str:
    if criterion.chosen is None:
        return "at no rank that was tried"
    held = _ranks(sorted((criterion.chosen, *criterion.runners_up)))
    return f"at {held}" + ("" if criterion.settles else ", the largest tried")


def _ranks(ranks: Iterable[int]) -> str:
    found = [str(rank) for rank in ranks]
    return f"rank{'s' * (len(found) > 1)} {listed(found)}"
