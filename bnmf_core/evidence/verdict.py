"""What the criteria of a rank study say together, in sentences."""

from collections.abc import Iterable, Mapping

from bnmf_core.evidence.criteria import Criterion
from bnmf_core.evidence.rank_evidence import THRESHOLD
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.nouns.names import listed

# In sentences, at their beginning and inside.
NAMES = {
    "evidence": "the evidence",
    "hidden": "the error on hidden entries",
    "stability": "the stability of components",
    "modes": "the number of modes",
}
# What two of the criteria say of a rank: how many X needs is for the others to say.
HOLDS = {"stability": "restarts find the same components", "modes": "all restarts are one mode"}


def sentences(study: RankStudy) -> list[str]:
    """What each criterion chooses, whether they agree, and what the evidence assumes."""
    return [choices(study), of_restarts(study), agreement(study), assumed(study)]


def choices(study: RankStudy) -> str:
    """What the evidence and the error on hidden entries choose."""
    parts = [_chosen(study, "evidence"), _chosen(study, "hidden")]
    return _sentence("; ".join(parts))


def of_restarts(study: RankStudy) -> str:
    """Where restarts agree on the components, and where they are one mode."""
    stable = _held(study.criteria["stability"])
    single = _held(study.criteria["modes"])
    made = int(study.table["restarts"].iloc[0])
    return (
        f"Restarts ({made} of their own at each rank) find the same components, within "
        f"{THRESHOLD:g}° on average, {stable}; all are one mode {single}."
    )


def agreement(study: RankStudy) -> str:
    """Whether the criteria that settle agree."""
    settled = settling(study)
    chosen = {criterion.chosen for criterion in settled.values()}
    if not settled:
        return (
            "None of the four settles, so these ranks leave the number of components open; compare "
            "others."
        )
    names = listed([NAMES[key] for key in settled])
    if len(settled) == 1:
        return _sentence(f"only {names} settles, so the number of components stays open")
    if len(chosen) == 1:
        rest = "" if len(settled) == len(NAMES) else "; the rest do not settle"
        return _sentence(f"{_agreed(settled)}{rest}")
    if common := possible(study):
        return _sentence(f"{names} choose differently; {listed(common, 'or')} is possible by all")
    return _sentence(f"{names} disagree, and no rank is possible by all")


def possible(study: RankStudy) -> list[int]:
    """The ranks that every criterion which settles chooses or cannot tell from its choice.

    As the first of these criteria has them, the best first; empty where none settles.
    """
    candidates = [
        [criterion.chosen, *criterion.runners_up] for criterion in settling(study).values()
    ]
    first = candidates[0] if candidates else []
    return [r for r in first if r is not None and all(r in others for others in candidates)]


def suggested(study: RankStudy) -> int:
    """A rank to begin with: one that is possible by all, else what the first criterion has."""
    found = [*settling(study).values(), *study.criteria.values()]
    chosen = [criterion.chosen for criterion in found if criterion.chosen is not None]
    return [*possible(study), *chosen, int(study.table["rank"].iloc[0])][0]


def settling(study: RankStudy) -> dict[str, Criterion]:
    """The criteria that have an answer."""
    return {key: criterion for key, criterion in study.criteria.items() if criterion.settles}


def assumed(study: RankStudy) -> str:
    """What the evidence takes for granted, and where it is not confirmed."""
    words = "The evidence takes the noise to be Gaussian and alike in all entries: "
    unsure = study.table.loc[~study.table["settled"].astype(bool), "rank"]
    doubt = f" Twice the steps have not confirmed it at {_ranks(unsure)}." if len(unsure) else ""
    return words + study.noise + doubt


def of_rank(study: RankStudy, rank: int) -> tuple[str, str]:
    """Whether a rank in use is settled, and what speaks for and against it."""
    settled = settling(study)
    chosen = {criterion.chosen for criterion in settled.values()}
    doubt = f"{choices(study)} {of_restarts(study)}"
    # Stability and number of modes say which components come again, not how many X needs.
    needed = settled.keys() - HOLDS
    if len(settled) < 2 or len(chosen) > 1 or not needed:
        said = f"Whether {rank} components are right is not settled. {agreement(study)}"
        return said, doubt
    if chosen == {rank}:
        return _sentence(_agreed(settled)), doubt
    return _sentence(f"{_agreed(settled)}; these have {rank} components"), doubt


def _agreed(settled: Mapping[str, Criterion]) -> str:
    """Criteria that all chose the same rank: what chooses it, and what holds there."""
    rank = {criterion.chosen for criterion in settled.values()}.pop()
    needed = [NAMES[key] for key in settled if key not in HOLDS]
    holds = listed([HOLDS[key] for key in settled if key in HOLDS] or [""])
    if not needed:
        return (
            f"the largest rank at which {holds} is {rank}, which does not say how many components "
            "X needs"
        )
    choose = f"{listed(needed)} choose{'s' * (len(needed) == 1)} {rank}"
    return f"{choose}, the largest rank at which {holds}" if holds else choose


def _chosen(study: RankStudy, key: str) -> str:
    criterion = study.criteria[key]
    if not criterion.settles or criterion.chosen is None:
        return f"{NAMES[key]} does not settle ({criterion.problem})"
    words = f"{NAMES[key]} chooses {listed([criterion.chosen, *criterion.runners_up], 'or')}"
    if key != "evidence":
        return words
    table = study.table.set_index("rank")["log_evidence"]
    others = table.drop([criterion.chosen, *criterion.runners_up]).dropna()
    if others.empty:
        return words
    behind = table[criterion.chosen] - others.max()
    return f"{words} ({others.idxmax()} is {behind:,.0f} nats behind)"


def _held(criterion: Criterion) -> str:
    if criterion.chosen is None:
        return "at no rank that was tried"
    held = _ranks(sorted((criterion.chosen, *criterion.runners_up)))
    return f"at {held}" + ("" if criterion.settles else ", the largest tried")


def _ranks(ranks: Iterable[int]) -> str:
    found = [str(rank) for rank in ranks]
    return f"rank{'s' * (len(found) > 1)} {listed(found)}"


def _sentence(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}."
