"""The four verdicts of an analysis, each with a word, a grade and its facts.

They cover the number of modes, determined components, settled chains, and whether the choice
matters. Figures use the numbers, not the sentences.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.analysis.chains import Verdict as ChainVerdict
from bnmf_core.analysis.evidence import Evidence, clear_winner
from bnmf_core.analysis.mode_table import LITTLE, good_left
from bnmf_core.compare.conclusions import MATTERS, OPEN, SAME, judged
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.names import no_more
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.components import (
    AGREED,
    AMBIGUOUS,
    DETERMINED,
    PROVISIONAL,
    ComponentFacts,
    component_facts,
)
from bnmf_core.findings.facts import Fact, fact, say
from bnmf_core.findings.labels import among_weighty
from bnmf_core.findings.modes import apart, mass_of, together

CLEAR, LIKELY, UNCLEAR, WAITING = "clear", "leaning", "open", "pending"
# Least likelihood power at which modes are expected to be separate.
SEPARATE = 0.1


@dataclass(frozen=True)
class Verdict:
    """One verdict.

    word : for the badge. grade : "clear", "leaning", "open" or "pending". facts : its basis.
    """

    word: str
    grade: str
    facts: tuple[Fact, ...]

    @property
    def sentence(self) -> str:
        """The facts in sentences."""
        return say(self.facts)


# Least rotation in degrees that is reported, and largest number of components named.
FREE, MOST_TURNING = 5.0, 3


def verdict(word: str, grade: str, *facts: Fact) -> Verdict:
    """A verdict with these facts."""
    return Verdict(word, grade, facts)


def of(answer: Answer, facts: ComponentFacts | None = None) -> dict[str, Verdict]:
    """All verdicts by title, without those that do not apply to the data.

    ``facts`` : :func:`component_facts`, if computed before.
    """
    found = {
        "Explanations": explanations(answer),
        "Components": components(
            component_facts(answer) if facts is None else facts, answer.evidence is None
        ),
        "Chains": chains(answer),
        "Does the choice matter?": matters(answer),
    }
    return {title: one for title, one in found.items() if one is not None}


def leading(answer: Answer) -> list[int]:
    """The modes in the order of display: by mass, then the others."""
    mass = np.nan_to_num(answer.table["mass"].to_numpy(dtype=float))
    heavy = [int(k) for k in np.argsort(-mass, kind="stable") if mass[k] >= LITTLE]
    return heavy + [k for k in range(mass.size) if k not in heavy]


def explanations(answer: Answer) -> Verdict:
    """Number of modes, and whether one of them is the answer."""
    table, evidence = answer.table, answer.evidence
    if not answer.comparison.optima.any():
        return verdict("unknown", UNCLEAR, fact("draws_only"))
    count, good = len(table), int(table["as_good_as_best"].sum())
    if count == 1:
        within = apart(answer.comparison, answer.metric, answer.modes)
        return verdict("one", CLEAR, fact("all_one", apart=within))
    kind = "several" if good > 1 else "one_best"
    kind = "one_family" if answer.one_family else kind
    best = int(table["as_good_as_best"].to_numpy().argmax()) + 1
    found = fact(f"counted.{kind}", modes=count, good=good, best=best)
    if kind == "one_family":
        return verdict("one family", LIKELY, found, fact("pieces"))
    if evidence is None:
        return verdict("weighing", WAITING, found)
    return _heaviest(answer, evidence, found)


def _heaviest(answer: Answer, evidence: Evidence, found: Fact) -> Verdict:
    """Whether the mass makes one of several modes the answer; ``found`` : their number."""
    table = answer.table
    weighed = int((table["weighed"] > 0).sum())
    if evidence.problem or weighed < 2:
        return verdict("not weighed", UNCLEAR, found)
    winner = clear_winner(table)
    if winner is None:
        return verdict("open", UNCLEAR, found, fact("not_told_apart"))
    key = "lighter.part" if weighed < len(table) else "lighter.all"
    doubts = list(_doubts(answer, evidence, winner))
    grade = LIKELY if doubts or not evidence.settled else CLEAR
    leads = fact(
        key, modes=together(table, winner), mass=mass_of(table.iloc[winner]), weighed=weighed
    )
    if left := good_left(table):
        return verdict("open", UNCLEAR, found, leads, fact("good_left", left=left))
    return verdict(grade, grade, found, leads, *doubts[:1])


def _doubts(answer: Answer, evidence: Evidence, winner: int) -> Iterator[Fact]:
    """Why the mode with the most mass is not a clear answer, the strongest reason first."""
    labels = answer.modes.labels
    if answer.islands is not None and answer.islands.connected(labels, winner):
        yield fact("no_barrier")
    if evidence.repeated is None:
        yield fact("powers_missing")
    for power in sorted((*evidence.powers, *evidence.blurred), reverse=True):
        if power == 1 or (power in evidence.powers and evidence.winner(labels, power) == winner):
            continue
        if power not in evidence.blurred and not evidence.merged(labels, power, winner):
            yield fact("no_clear_lead", power=power)
        elif power >= SEPARATE:  # where entries hardly count, all modes are one
            yield fact("not_apart", power=power)


def components(facts: ComponentFacts, weighing: bool = False) -> Verdict:
    """Which components are determined, under the model and among restarts.

    ``weighing`` : whether the masses of modes are not computed yet.
    """
    R = len(facts.states)
    doubted = tuple(r + 1 for r, state in enumerate(facts.states) if state == AMBIGUOUS)
    lost = int((facts.found_again < AGREED).sum())
    if np.isnan(facts.held).all() and lost:
        grade = WAITING if weighing else UNCLEAR
        return verdict(
            f"{R - lost} of {R}", grade, fact("restarts_differ", lost=lost, components=R)
        )
    among = [fact("restarts_differ_too", lost=lost, components=R)] * (lost > len(doubted))
    turning = [r for r in np.argsort(-facts.free, kind="stable").tolist() if facts.free[r] >= FREE]
    if turning:
        farthest = tuple(
            f"component {r + 1} by {facts.free[r]:.0f}°" for r in turning[:MOST_TURNING]
        )
        more = len(turning) - len(farthest)
        key = "rotation.many" if more else "rotation.few"
        among.append(fact(key, components=farthest, more=more))
    if doubted:
        key = "not_determined.few" if len(doubted) <= 4 else "not_determined.many"
        statement = fact(key, components=doubted)
        return verdict(f"{R - len(doubted)} of {R}", UNCLEAR, statement, *among)
    if PROVISIONAL in facts.states:
        known = np.isfinite(facts.found_again).any()
        least = float(np.nanmin(facts.found_again)) if known else 0.0
        key = "agreed.by_mass" if lost else "agreed.by_all" if least == 1 else "agreed.by_restarts"
        return verdict(PROVISIONAL, LIKELY, fact(key, components=R, least=least), *among)
    return verdict(DETERMINED, CLEAR, fact("all_stay", components=R, angle=SAME_MODE), *among)


def chains(answer: Answer) -> Verdict:
    """Whether the chains of the runs, and those within the modes, have settled."""
    verdicts, posterior = answer.verdicts, answer.posterior
    if verdicts is None:
        return verdict("checking", WAITING, fact("checking_chains"))
    if verdicts.settled is None and (posterior is None or not posterior.modes):
        # Chains within modes may follow, unless they would take too long.
        return verdict("none", WAITING if posterior is None else UNCLEAR, fact("no_chains"))
    if verdicts.settled is False:
        return _not_settled(answer, verdicts.unsettled)
    if verdicts.settled is None and posterior is not None and not posterior.settled:
        return verdict("not settled", UNCLEAR, fact("reason", said=posterior.reason))
    many = [one for one in verdicts.by_run.values() if one.modes > 1]
    if many:
        return verdict("within modes", LIKELY, fact("several_modes", modes=many[0].modes))
    judged = [(one.r_hat, min(one.ess_bulk, one.ess_tail)) for one in verdicts.by_run.values()]
    if posterior is not None:
        judged = judged or [(mode.r_hat, mode.ess) for mode in posterior.modes]
    r_hat, size = max(worst for worst, _ in judged), min(size for _, size in judged)
    key = "settled_chains.runs" if verdicts.by_run else "settled_chains.modes"
    bound, least = no_more(r_hat, size)
    word = "settled" if verdicts.by_run else "within modes"
    return verdict(word, CLEAR, fact(key, r_hat=bound, ess=least))


def _not_settled(answer: Answer, unsettled: list[ChainVerdict]) -> Verdict:
    """The verdict for unsettled chains of runs; chains within modes may have settled."""
    worst, within = unsettled[0], answer.posterior is not None and answer.posterior.settled
    if within and all(_several(answer, one.run) for one in unsettled):
        crosses = fact("hardly_crosses", label=worst.label)
        return verdict("within modes", LIKELY, crosses, fact("settled_within"))
    why = fact("settled_within") if within else fact("reason", said=worst.reason)
    return verdict("not settled", UNCLEAR, fact("run_not_settled", label=worst.label), why)


def _several(answer: Answer, run: str) -> bool:
    """Whether the draws of a run lie in several modes."""
    drawn = (answer.comparison.members["run"] == run).to_numpy()
    return bool(np.ptp(answer.modes.labels[drawn]))


def matters(answer: Answer) -> Verdict | None:
    """Whether the choice changes conclusions from labels; None for data without labels."""
    found = answer.conclusions
    if not answer.comparison.dataset.labels:
        return None
    if found is None:
        return verdict("comparing", WAITING, fact("predicting"))
    if found.table is None or found.table.empty:
        return None
    return _matters(found.table, answer.weighty)


def _matters(table: pd.DataFrame, weighty: np.ndarray | None) -> Verdict:
    """The verdict on classes, among all modes and among those with posterior mass."""
    verdicts, classes = table["verdict"], len(table)
    changed, undecided = int((verdicts == MATTERS).sum()), int((verdicts == OPEN).sum())
    counts = {"classes": classes, "changed": changed, "undecided": undecided}
    if not changed and not undecided:
        return verdict("no", CLEAR, fact("none_depends", classes=classes))
    heavy = [] if weighty is None else list(judged(table, weighty)["verdict"])
    if heavy and set(heavy) == {SAME}:
        key = "none_with_mass.differ" if changed else "none_with_mass.undecided"
        return verdict("hardly", CLEAR, fact(key, **counts))
    if changed:
        statement = fact("some_depend", **counts)
        if weighty is None:
            return verdict("yes", UNCLEAR, statement)
        word, grade = ("yes", UNCLEAR) if MATTERS in heavy else ("hardly", LIKELY)
        return verdict(word, grade, statement, among_weighty(table, weighty))
    if undecided < classes:
        decided = classes - undecided
        return verdict("open", UNCLEAR, fact("none_of_decided", decided=decided, **counts))
    return verdict("open", UNCLEAR, fact("too_few"))
