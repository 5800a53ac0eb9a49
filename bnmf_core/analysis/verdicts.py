"""The four verdicts of an analysis as facts: each a word, a short sentence, and what it rests on.

How many explanations there are, which components are determined, whether chains have settled, and
whether the choice matters. A picture reads the facts; nothing reads the sentences.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.analysis.answer import mass_in_words, within
from bnmf_core.analysis.conclusions import among_weighty
from bnmf_core.analysis.evidence import Evidence, clear_winner
from bnmf_core.analysis.findings import LITTLE, Answer, most_probable
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.conclusions import MATTERS, OPEN, SAME, judged
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.names import listed, percent

CLEAR, LIKELY, UNCLEAR, WAITING = "clear", "leaning", "open", "pending"
DETERMINED, PROVISIONAL, AMBIGUOUS = "determined", "provisional", "ambiguous"
# At this likelihood power and above, a clear winner is a mode of its own.
SEPARATE = 0.1
# Of the optima, or of the posterior mass, in which a component has to be found again.
AGREED = 0.95


@dataclass(frozen=True)
class Verdict:
    """One verdict: ``word`` for the badge, ``grade`` ("clear", "leaning", "open", "pending")."""

    word: str
    grade: str
    said: str


@dataclass(frozen=True, eq=False)
class ComponentFacts:
    """How far the components of a mode are determined; R of them, the largest first.

    Attributes
    ----------
    found_again : (R,) part of the optima with a partner within 15°; NaN without optima.
    held : (R,) part of the posterior mass in modes with a partner within 15°; NaN while unknown.
    turned : (R,) the angle within which 95 % of the draws in this mode lie, degrees; NaN while
        unknown.
    states : of each "determined", "provisional" or "ambiguous".
    """

    found_again: np.ndarray
    held: np.ndarray
    turned: np.ndarray
    states: tuple[str, ...]


def of(answer: Answer, facts: ComponentFacts | None = None) -> dict[str, Verdict]:
    """All of them by title; those that these data have nothing to say of are left out.

    ``facts`` : :func:`component_facts`, where they are known.
    """
    found = {
        "Explanations": explanations(answer),
        "Components": components(component_facts(answer) if facts is None else facts),
        "Chains": chains(answer),
        "Does the choice matter?": matters(answer),
    }
    return {title: verdict for title, verdict in found.items() if verdict is not None}


def leading(answer: Answer) -> list[int]:
    """The modes in the order in which they are shown: those with mass first, the largest ahead."""
    mass = np.nan_to_num(answer.table["mass"].to_numpy(dtype=float))
    heavy = [int(k) for k in np.argsort(-mass, kind="stable") if mass[k] >= LITTLE]
    return heavy + [k for k in range(mass.size) if k not in heavy]


def explanations(answer: Answer) -> Verdict:
    """How many modes there are, and whether one of them is the answer."""
    table, evidence = answer.table, answer.evidence
    if not answer.comparison.optima.any():
        return Verdict("unknown", UNCLEAR, "Draws alone do not tell how many modes there are.")
    count, good = len(table), int(table["as_good_as_best"].sum())
    if count == 1:
        apart = within(answer.comparison, answer.metric, answer.modes)
        return Verdict("one", CLEAR, f"All converged restarts are one mode: {apart}.")
    found = (
        f"{count} modes, {good} as good as the best."
        if good > 1
        else f"{count} modes, one fits best."
    )
    if evidence is None:
        return Verdict("weighing", WAITING, found)
    if evidence.problem or (table["weighed"] > 0).sum() < 2:
        return Verdict("not weighed", UNCLEAR, found)
    winner = clear_winner(table)
    if winner is None:
        return Verdict("open", UNCLEAR, f"{found} The posterior does not tell them apart.")
    weighed = int((table["weighed"] > 0).sum())
    share = f"Mode {winner + 1} has {mass_in_words(table.iloc[winner])} of the posterior mass"
    share += f" of the {weighed} modes weighed." if weighed < count else "."
    doubts = list(_doubts(answer, evidence, winner))
    grade = LIKELY if doubts or not evidence.settled else CLEAR
    return Verdict(grade, grade, " ".join([found, share, *doubts[:1]]))


def _doubts(answer: Answer, evidence: Evidence, winner: int) -> Iterator[str]:
    """Why the mode with the most mass is not a clear answer, the gravest first."""
    labels = answer.modes.labels
    if answer.islands is not None and answer.islands.connected(labels, winner):
        yield "A path without a barrier joins it to another mode."
    if evidence.repeated is None:
        yield "Lower likelihood powers are not computed yet."
    for power in sorted((*evidence.powers, *evidence.blurred), reverse=True):
        if power == 1 or (power in evidence.powers and evidence.winner(labels, power) == winner):
            continue
        if power not in evidence.blurred and not evidence.merged(labels, power, winner):
            yield f"At likelihood power {power:g} it does not lead clearly."
        elif power >= SEPARATE:  # where entries hardly count, all modes are one
            yield f"At likelihood power {power:g} the posterior does not separate it from others."


def component_facts(answer: Answer, row: int | None = None) -> ComponentFacts:
    """Of every component of a mode, how often it is found again, and how far draws turn it.

    ``row`` : the member that is compared with; None: that of the best mode. Components have the
    numbers that they have beside the first mode's.
    """
    comparison, table = answer.comparison, answer.table
    row = int(answer.modes.representative[most_probable(table)]) if row is None else row
    reference = comparison.aligned([int(answer.modes.representative[0]), row])[1]
    R = reference.shape[1]
    found_again = held = turned = np.full(R, np.nan)
    if comparison.optima.any():
        optima = comparison.bases(np.flatnonzero(comparison.optima))
        found_again = _partners(optima, reference).mean(axis=0)
    mass = np.nan_to_num(table["mass"].to_numpy(dtype=float))
    if mass.sum() > 0:
        heavy = np.flatnonzero(mass > 0)
        bases = comparison.bases(answer.modes.representative[heavy])
        held = mass[heavy] @ _partners(bases, reference) / mass.sum()
    posterior = answer.posterior
    k = None if posterior is None else posterior.within(answer.modes.labels, row)
    if posterior is not None and k is not None:
        order = matching(comparison.bases([posterior.modes[k].row]), reference)[0]
        turned = np.quantile(posterior.draws[k]["turned"], AGREED, axis=0)[order]
    states = tuple(map(_state, found_again, held, turned))
    return ComponentFacts(found_again, held, turned, states)


def _partners(A: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """(M, R) bool, whether bases (M, D, R) have a partner within 15° of the reference's."""
    return component_angles(A, reference, matching(A, reference)) <= SAME_MODE


def _state(found_again: float, held: float, turned: float) -> str:
    """Determined: by restarts or by the masses, and by draws. Provisional: draws do not say."""
    agreed = found_again >= AGREED or held >= AGREED
    if not agreed or turned > SAME_MODE:
        return AMBIGUOUS
    return PROVISIONAL if np.isnan(turned) else DETERMINED


def components(facts: ComponentFacts) -> Verdict:
    """Which components are determined, under the model and among restarts."""
    R = len(facts.states)
    least = float(np.nanmin(facts.found_again)) if np.isfinite(facts.found_again).any() else 0.0
    certain = facts.states.count(DETERMINED)
    doubted = [r for r, state in enumerate(facts.states) if state == AMBIGUOUS]
    lost = int((facts.found_again < AGREED).sum())
    if np.isnan(facts.held).all() and lost:
        said = f"Restarts differ on {lost} of {R}; the masses are not known."
        return Verdict(f"{R - lost} of {R}", WAITING, said)
    among = f" Restarts differ on {lost} of {R}." if lost > len(doubted) else ""
    if doubted:
        named = _numbers(doubted)
        said = f"{named} {'is' if len(doubted) == 1 else 'are'} not determined.{among}"
        return Verdict(f"{R - len(doubted)} of {R}", UNCLEAR, said)
    if certain < R:
        agree = "The most probable modes" if lost else f"At least {percent(least)} of restarts"
        said = f"{agree} agree on all {R}; draws do not tell yet.{among}"
        return Verdict(PROVISIONAL, LIKELY, said)
    return Verdict(
        DETERMINED, CLEAR, f"Under the model all {R} stay within 15° (95 % of draws).{among}"
    )


def _numbers(components: Sequence[int]) -> str:
    names = [str(r + 1) for r in components]
    if len(names) > 4:
        return f"{len(names)} components"
    return f"Component{'s' * (len(names) > 1)} {listed(names)}"


def chains(answer: Answer) -> Verdict:
    """Whether chains have settled: those of the runs, and those within the modes."""
    verdicts, posterior = answer.verdicts, answer.posterior
    if verdicts is None:
        return Verdict("checking", WAITING, "Chains are being checked.")
    if verdicts.settled is None and (posterior is None or not posterior.modes):
        return Verdict("none", WAITING, "These runs have no chains.")
    if verdicts.settled is False:
        worst = verdicts.unsettled[0]
        within = posterior is not None and posterior.settled
        said = "Chains within the modes have settled." if within else worst.reason
        return Verdict("not settled", UNCLEAR, f"{worst.label} has not settled. {said}")
    if verdicts.settled is None and posterior is not None and not posterior.settled:
        return Verdict("not settled", UNCLEAR, posterior.reason)
    many = [verdict for verdict in verdicts.by_run.values() if verdict.modes > 1]
    if many:
        said = f"Settled, in {many[0].modes} modes that they do not cross between."
        return Verdict("settled", LIKELY, said)
    where = "Chains agree" if verdicts.by_run else "Within the modes"
    judged = [(one.r_hat, min(one.ess_bulk, one.ess_tail)) for one in verdicts.by_run.values()]
    if posterior is not None:
        judged = judged or [(mode.r_hat, mode.ess) for mode in posterior.modes]
    r_hat, size = max(worst for worst, _ in judged), min(size for _, size in judged)
    return Verdict("settled", CLEAR, f"{where}: R̂ ≤ {r_hat:.2f}, ESS ≥ {size:.0f}.")


def matters(answer: Answer) -> Verdict | None:
    """Whether the choice changes what labels say; None for data without labels."""
    found = answer.conclusions
    if not answer.comparison.dataset.labels:
        return None
    if found is None:
        return Verdict("comparing", WAITING, "Labels are being predicted.")
    if found.table is None or found.table.empty:
        return None
    return _matters(found.table, answer.weighty)


def _matters(table: pd.DataFrame, weighty: np.ndarray | None) -> Verdict:
    """The verdict on classes, among all modes and among those with posterior mass."""
    verdicts, count = table["verdict"], len(table)
    changed, undecided = int((verdicts == MATTERS).sum()), int((verdicts == OPEN).sum())
    if not changed and not undecided:
        return Verdict("no", CLEAR, f"No AUC of {count} classes depends on the mode.")
    if weighty is not None and (judged(table, weighty)["verdict"] == SAME).all():
        differ = f"depends on it for {changed}" if changed else f"is open for {undecided}"
        said = "Among modes with posterior mass no AUC depends on the mode."
        return Verdict("hardly", CLEAR, f"{said} Among all it {differ} of {count} classes.")
    word, grade = ("yes", UNCLEAR) if changed else ("open", LIKELY)
    if changed:
        said = f"The AUC of {changed} of {count} classes depends on the mode."
        if weighty is not None:
            said = f"{said} {among_weighty(table, weighty)}"
            if not (judged(table, weighty)["verdict"] == MATTERS).any():
                word, grade = "hardly", LIKELY
    elif undecided < count:
        said = f"AUC depends on the mode for none of {count - undecided} classes; open for "
        said += f"{undecided}."
    else:
        said = "The observations are too few to tell whether AUC depends on the mode."
    return Verdict(word, grade, said)
