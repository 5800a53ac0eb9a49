"""What criteria say together is said only where it holds."""

import numpy as np
import pandas as pd
import pytest

from bnmf_core.evidence import criteria, verdict
from bnmf_core.evidence.rank_study import RankStudy

RANKS = np.arange(2, 7)
CLEAR = np.array([-900.0, -400.0, -161.0, 0.0, -30.5])  # rank 5
GROWS = np.array([-900.0, -400.0, -161.0, -30.0, 0.0])


def study(evidence, hidden, stable, modes, settled=True):
    """``hidden`` : (ranks,) with a scatter that tells 0.1 apart; ``stable`` : degrees."""
    rng = np.random.default_rng(0)
    squared = np.asarray(hidden)[:, None] + 0.01 * rng.standard_normal((5, 8))
    noise = "σ is 0.1 at every rank, as given."
    table = pd.DataFrame({"rank": RANKS, "log_evidence": evidence, "settled": settled})
    table["restarts"] = 20
    found = {
        "evidence": criteria.by_evidence(RANKS, evidence, np.full(5, 0.1), noise),
        "hidden": criteria.by_hidden(RANKS, squared, 4),
        "stability": criteria.by_stability(RANKS, np.asarray(stable), 10.0),
        "modes": criteria.by_modes(RANKS, np.asarray(modes), 10.0),
    }
    return RankStudy(table, found, noise, "", {})


AGREED = (CLEAR, [5, 4, 3, 1, 2], [1, 1, 1, 1, 30], [1, 1, 1, 1, 9])


def test_agreement_is_said_where_all_choose_the_same():
    found = study(*AGREED)
    said = verdict.sentences(found)
    assert said[0] == (
        "The evidence chooses 5 (6 is 30 nats behind); the error on hidden entries chooses 5."
    )
    assert "at ranks 2, 3, 4 and 5; all are one mode at ranks 2, 3, 4 and 5" in said[1]
    assert said[2] == (
        "The evidence and the error on hidden entries choose 5, the largest rank at which restarts "
        "find the same components and all restarts are one mode."
    )
    assert "(20 of their own at each rank)" in said[1]
    assert "Gaussian" in said[3] and "σ is 0.1 at every rank" in said[3]
    assert "not confirmed" not in said[3]
    assert verdict.of_rank(found, 5)[0] == said[2]
    assert verdict.of_rank(found, 4)[0].endswith("one mode; these have 4 components.")


def test_a_criterion_that_does_not_settle_is_said_to_and_counts_for_nothing():
    found = study(GROWS, [5, 4, 3, 1, 2], [1, 1, 1, 1, 30], [1, 1, 1, 1, 9])
    said = verdict.sentences(found)
    assert said[0].startswith("The evidence does not settle (it still grows at rank 6, the largest")
    assert "the evidence" not in said[2].lower()
    assert said[2].startswith("The error on hidden entries chooses 5, the largest rank at which")
    assert said[2].endswith("; the rest do not settle.")


def test_runners_up_are_named_and_are_not_behind():
    near = np.array([-900.0, -400.0, -0.1, 0.0, -30.5])
    said = verdict.choices(study(near, *AGREED[1:]))
    assert said.startswith("The evidence chooses 5 or 4 (6 is 30 nats behind);")


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ((CLEAR, [5, 1, 3, 4, 6], [1, 1, 30, 30, 30], [1, 1, 9, 9, 9]), "disagree, and no rank"),
        ((CLEAR, AGREED[1], [1, 1, 1, 1, 30], [1, 1, 1, 9, 9]), "disagree, and no rank"),
        ((GROWS, [5, 4, 3, 2, 1], [30] * 5, [9] * 5), "None of the four settles"),
        ((GROWS, [5, 4, 3, 2, 1], [1, 30, 30, 30, 30], [9] * 5), "Only the stability of comp"),
    ],
)
def test_disagreement_is_said_as_disagreement(parts, words):
    found = study(*parts)
    assert words in verdict.agreement(found)
    for rank in RANKS:
        said = verdict.of_rank(found, int(rank))[0]
        assert said.startswith(f"Whether {rank} components are right is not settled.")


def test_a_rank_that_all_leave_possible_is_named():
    """The hidden entries choose 4 and cannot tell 5 from it; the evidence chooses 5."""
    scatter = np.array([5, 4, 1.0, 1.004, 3])
    found = study(CLEAR, scatter, [30] * 5, [9] * 5)
    hidden = found.criteria["hidden"]
    assert {hidden.chosen, *hidden.runners_up} == {4, 5}
    expected = (
        "hidden entries choose 5;"
        if hidden.chosen == 5
        else "choose differently; 5 is possible by all"
    )
    assert expected in verdict.agreement(found)
    assert verdict.suggested(found) == 5


def test_reproducible_components_alone_do_not_settle_how_many_are_needed():
    found = study(GROWS, [5, 4, 3, 2, 1], [1, 1, 1, 30, 30], [1, 1, 1, 9, 9])
    assert verdict.agreement(found) == (
        "The largest rank at which restarts find the same components and all restarts are one "
        "mode is 4, which does not say how many components X needs; the rest do not settle."
    )
    assert verdict.of_rank(found, 4)[0].startswith("Whether 4 components are right is not settled.")


def test_evidence_that_more_steps_have_not_confirmed_is_doubted():
    found = study(*AGREED, settled=[True, True, False, True, False])
    assert "not confirmed it at ranks 4 and 6" in verdict.assumed(found)
