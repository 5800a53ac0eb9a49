"""One recommendation of the number of components, with a grade: clear, leaning or open.

Two criteria measure how many components X needs: the evidence, and the error on held-out entries.
Instability of components and number of modes measure at which ranks restarts agree; they are shown
with the recommendation but do not affect it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bnmf_core.analysis import ranks
from bnmf_core.core.errors import StoreError
from bnmf_core.core.model import Capability
from bnmf_core.evidence.criteria import STRONG, Criterion, no_evidence
from bnmf_core.evidence.rank_evidence import THRESHOLD
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.findings.facts import Fact, fact, say
from bnmf_core.likelihoods import MODELS

CLEAR, LEANING, OPEN = "clear", "leaning", "open"


@dataclass(frozen=True)
class Recommendation:
    """A recommended number of components with its grade.

    Attributes
    ----------
    rank : the recommended rank; for an open grade, the choice of the evidence.
    grade : "clear": evidence and held-out entries agree. "leaning": the evidence leads and the
        held-out entries do not contradict it, or X holds counts and the held-out entries name fewer
        components. "open": they disagree, or the evidence does not settle.
    alternatives : other ranks that a criterion names, the best first.
    statement, why : as facts.
    """

    rank: int
    grade: str
    alternatives: tuple[int, ...]
    statement: Fact
    why: tuple[Fact, ...] = ()

    @property
    def sentence(self) -> str:
        """The recommendation in words."""
        return say(self.statement)

    @property
    def reason(self) -> str:
        """The reasons in words."""
        return say(self.why)


def recommend(study: RankStudy) -> Recommendation:
    """Recommend a number of components from a study.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import low_rank, rank_study
    >>> from bnmf_core.findings.ranks import recommend
    >>> data = low_rank(10, 12, rank=2, noise=0.1, rng=np.random.default_rng(1))
    >>> study = rank_study(data, [1, 2, 3], sigma=0.1, restarts=5, rng=np.random.default_rng(0))
    >>> recommend(study).rank
    2
    """
    evidence, hidden = study.criteria["evidence"], study.criteria["hidden"]
    chosen = evidence.chosen
    if chosen is None:
        why = (fact("no_evidence", problem=evidence.problem),)
        rank = int(study.table["rank"].iloc[0]) if hidden.chosen is None else hidden.chosen
        others = tuple(r for r in hidden.runners_up if r != rank)
        suffix = "hidden_only" if hidden.settles else "hidden_open"
        statement = fact("rank.unknown" if hidden.chosen is None else f"rank.{suffix}", rank=rank)
        return Recommendation(rank, OPEN, () if hidden.chosen is None else others, statement, why)
    hinted = () if hidden.chosen is None else (hidden.chosen, *hidden.runners_up)
    named = dict.fromkeys((chosen, *evidence.runners_up, *hinted))
    fewest = min(hinted, default=chosen)
    uneven = study.counts or study.grows
    if uneven and hidden.settles and hidden.chosen == fewest < chosen:
        # Noise that grows with the mean looks like structure; held-out blocks do not share it.
        others = tuple(r for r in named if r != fewest)
        key = "noise_of_counts_chosen" if study.counts else "noise_that_grows_chosen"
        why = (fact(key, rank=chosen),)
        return Recommendation(fewest, LEANING, others, fact("rank.fewest", rank=fewest), why)
    others = tuple(r for r in named if r != chosen)
    best = study.table["log_evidence"].dropna().sort_values(ascending=False)
    lead = float(best.iloc[0] - best.iloc[1]) if len(best) > 1 else float("inf")  # in nats
    if doubt := _doubt(study, chosen, lead):
        highest = int(study.table["rank"][best.index[0]])
        statement = fact(f"rank.{'open' if chosen == highest else 'open_fewest'}", rank=chosen)
        return Recommendation(chosen, OPEN, others, statement, doubt)
    by = fact("lead.by_nats" if lead < float("inf") else "lead.alone", nats=lead)
    if hidden.settles and hidden.chosen == chosen:
        return Recommendation(chosen, CLEAR, (), fact("rank.clear", rank=chosen, lead=by))
    statement = fact("rank.leaning", rank=chosen, lead=by)
    return Recommendation(chosen, LEANING, others, statement, (_of_hidden(hidden, chosen),))


def _doubt(study: RankStudy, chosen: int, lead: float) -> tuple[Fact, ...]:
    """Why the choice of the evidence is open; empty if it is not."""
    evidence, hidden = study.criteria["evidence"], study.criteria["hidden"]
    if not evidence.settles:
        return (fact("evidence_open", problem=evidence.problem),)
    if hidden.settles and chosen not in (hidden.chosen, *hidden.runners_up):
        return (fact("disagree", evidence=chosen, hidden=hidden.chosen),)
    if evidence.runners_up:
        return (fact("not_told_from", rank=chosen, others=evidence.runners_up),)
    if lead < STRONG:
        return (fact("leads_little", rank=chosen, nats=STRONG),)
    if (study.counts or study.grows) and not (hidden.settles and hidden.chosen == chosen):
        key = "noise_of_counts" if study.counts else "noise_that_grows"
        return _of_hidden(hidden, chosen), fact(key)
    return ()


def _of_hidden(hidden: Criterion, chosen: int) -> Fact:
    if hidden.settles:
        return fact("hidden_allow", hidden=hidden.chosen, rank=chosen)
    return fact("hidden_open", problem=hidden.problem)


def of_restarts(study: RankStudy) -> list[Fact]:
    """Ranks at which restarts find the same components, and at which there is one mode."""
    statement = fact(
        "restarts",
        restarts=int(study.table["restarts"].iloc[0]),
        angle=THRESHOLD,
        stable=_held(study.criteria["stability"]),
        single=_held(study.criteria["modes"]),
    )
    few = study.table.loc[study.table["modes"].isna(), "rank"]
    return [statement, fact("few_converged", ranks=_ranks(few))] if len(few) else [statement]


def assumed(study: RankStudy) -> list[Fact]:
    """Assumptions of the evidence and ranks where it is unconfirmed; empty without evidence."""
    if no_evidence(study.criteria):
        return []
    own = study.table["sigma"].isna().all()
    statement = fact("noise_of_model" if own else "noise_assumed", noise=study.noise)
    unsure = study.table.loc[~study.table["settled"].astype(bool), "rank"]
    return [statement, fact("not_confirmed", ranks=_ranks(unsure))] if len(unsure) else [statement]


def of_rank(study: RankStudy, rank: int) -> list[Fact]:
    """The recommendation compared with a rank in use, its reasons, and facts on restarts."""
    found = recommend(study)
    statement = found.statement
    if rank != found.rank:
        statement = fact("rank_in_use", recommended=statement, rank=rank)
    return [statement, *found.why, *of_restarts(study)]


def of_counts(study: RankStudy) -> list[Fact]:
    """Which noise of counts the evidence prefers at the chosen rank; empty if unknown.

    A lead must exceed e³ to one and twice its standard error.
    """
    known = {model: one for model, one in study.of_noise.items() if model in MODELS}
    if len(known) < 2 or np.isnan([one.log_evidence for one in known.values()]).any():
        return []
    first, second, *_ = sorted(known, key=lambda model: -known[model].log_evidence)
    lead = known[first].log_evidence - known[second].log_evidence
    spread = np.hypot(known[first].error, known[second].error)
    values = {
        "rank": study.criteria["evidence"].chosen,
        "first": MODELS[first].label,
        "second": MODELS[second].label,
    }
    if lead < max(STRONG, 2 * spread):
        return [fact("counts_alike", **values)]
    return [fact("counts_differ", nats=lead, **values)]


def beside(study: RankStudy, model: str, root: Path, dataset_id: str) -> list[Fact]:
    """Recommendations under Gaussian noise and noise of counts, if they differ.

    study : of the data with this id, under ``model``. root : the folder of the store.
    """
    other = ranks.other_noise(root, dataset_id, model)
    if other is None:
        return []
    try:
        theirs = recommend(ranks.read(root / ranks.FOLDER / dataset_id / other.key))
    except StoreError:  # removed at this moment
        return []
    ours = recommend(study)
    if ours.rank == theirs.rank or OPEN in (ours.grade, theirs.grade):
        return []
    both = [(MODELS[model].label, ours.rank), (MODELS[other.model].label, theirs.rank)]
    if Capability.GAUSSIAN_NOISE in MODELS[model].capabilities:
        both.reverse()
    (counts, right), (gaussian, wrong) = both
    return [fact("other_noise", counts=counts, right=right, gaussian=gaussian, wrong=wrong)]


def _held(criterion: Criterion) -> Fact:
    if criterion.chosen is None:
        return fact("held.never")
    ranks = tuple(sorted((criterion.chosen, *criterion.runners_up)))
    return fact("held.within" if criterion.settles else "held.to_the_last", ranks=ranks)


def _ranks(ranks: Iterable[int]) -> tuple[int, ...]:
    return tuple(int(rank) for rank in ranks)
