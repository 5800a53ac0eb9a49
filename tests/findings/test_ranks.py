"""One recommendation with one grade: a rank is named only as firmly as two criteria allow."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from bnmf_core.analysis import ranks as stored
from bnmf_core.analysis.ranks import RankQuestion
from bnmf_core.evidence import criteria
from bnmf_core.evidence.rank_evidence import RankEvidence
from bnmf_core.evidence.rank_study import RankStudy
from bnmf_core.evidence.restarts import Restarts
from bnmf_core.findings import ranks
from bnmf_core.findings.facts import say

RANKS = np.arange(2, 7)
PEAK = np.array([-900.0, -400.0, -161.0, 0.0, -30.5])  # rank 5
GROWS = np.array([-900.0, -400.0, -161.0, -30.0, 0.0])
AT_FIVE, AT_THREE = [5, 4, 3, 1, 2], [5, 1, 3, 4, 6]


def study(
    evidence, hidden, stable=(1, 1, 1, 1, 30), modes=(1, 1, 1, 1, 9), settled=True, counts=False
):
    """``hidden`` : (ranks,) with a scatter that tells 0.1 apart; ``stable`` : degrees."""
    rng = np.random.default_rng(0)
    squared = np.asarray(hidden)[:, None] + 0.01 * rng.standard_normal((5, 8))
    noise = "σ is 0.1 at every rank, as given."
    known = {"log_evidence": evidence, "settled": settled, "sigma": 0.1}
    table = pd.DataFrame({"rank": RANKS, **known})
    table["restarts"], table["modes"] = 20, np.asarray(modes, dtype=float)
    found = {
        "evidence": criteria.by_evidence(RANKS, evidence, np.full(5, 0.1), noise),
        "hidden": criteria.by_hidden(RANKS, squared, 4),
        "stability": criteria.by_stability(RANKS, np.asarray(stable), 10.0),
        "modes": criteria.by_modes(RANKS, np.asarray(modes), 10.0),
    }
    return RankStudy(table, found, noise, "", {}, counts)


def test_two_criteria_that_agree_make_a_clear_recommendation():
    found = ranks.recommend(study(PEAK, AT_FIVE))
    assert (found.rank, found.grade, found.alternatives) == (5, "clear", ())
    assert found.sentence == "5 components: the evidence leads by 30 nats, held-out entries agree."


@pytest.mark.parametrize(
    ("evidence", "hidden", "reason", "others"),
    [
        (PEAK, AT_THREE, "The evidence chooses 5; the error on held-out entries chooses 3.", 3),
        (GROWS, AT_FIVE, "The evidence does not settle: it still grows at rank 6", 5),
        (PEAK - np.array([0, 0, -159, 0, 0]), [5, 4, 1, 1, 2], "leads by less than 3 nats", 4),
    ],
)
def test_criteria_that_disagree_or_do_not_settle_leave_the_rank_open(
    evidence, hidden, reason, others
):
    found = ranks.recommend(study(evidence, hidden))
    assert found.grade == "open"
    assert reason in found.reason
    assert others in found.alternatives
    assert found.rank == RANKS[np.argmax(evidence)]
    assert f"{found.rank} has the highest evidence" in found.sentence


def test_of_ranks_with_like_evidence_the_fewest_stay_open():
    found = ranks.recommend(study(PEAK - np.array([0, 0, -160.5, 0, 0]), [5, 4, 1, 1, 2]))
    assert (found.rank, found.grade, found.alternatives) == (4, "open", (5,))
    assert "4 is the fewest whose evidence is the highest" in found.sentence
    assert found.reason == "The evidence does not distinguish 4 from 5."


def test_hidden_entries_that_say_nothing_leave_a_leaning():
    found = ranks.recommend(study(PEAK, [5, 4, 3, 2, 1]))  # still falls at the largest
    assert (found.rank, found.grade) == (5, "leaning")
    assert "does not settle" in found.reason


def test_hidden_entries_lead_where_noise_of_counts_can_pass_for_components():
    found = ranks.recommend(study(PEAK, AT_THREE, counts=True))
    assert (found.rank, found.grade) == (3, "leaning")
    assert found.alternatives[0] == 5
    assert "The evidence chooses 5" in found.reason
    assert ranks.recommend(study(PEAK, AT_FIVE, counts=True)).grade == "clear"
    silent = ranks.recommend(study(PEAK, [5, 4, 3, 2, 1], counts=True))
    assert (silent.rank, silent.grade) == (5, "open")
    more = ranks.recommend(study(PEAK, [5, 4, 3, 2, 1.5], counts=True))
    assert more.grade == "open"


def test_gaussian_noise_and_noise_of_counts_stand_in_one_sentence(monkeypatch):
    gaussian, counts = study(PEAK, AT_FIVE, counts=True), study(np.roll(PEAK, -1), [5, 3, 1, 2, 4])
    assert [ranks.recommend(one).rank for one in (gaussian, counts)] == [5, 4]
    root, both = Path("none"), {"gaussian": gaussian, "poisson": counts}
    asked = {model: RankQuestion("data", tuple(RANKS.tolist()), model=model) for model in both}
    monkeypatch.setattr(stored, "answered", lambda root, dataset_id: list(asked.values()))
    by_key = {asked[model].key: one for model, one in both.items()}
    monkeypatch.setattr(stored, "read", lambda folder: by_key[folder.name])
    for model, one in both.items():
        said = say(ranks.beside(one, model, root, "data"))
        assert said.startswith("“Counts: Poisson noise, gamma priors” recommends 4 components and")
        assert "“Gaussian noise, exponential priors” 5: only the first allows" in said
    monkeypatch.setattr(stored, "read", lambda folder: gaussian)
    assert not ranks.beside(gaussian, "gaussian", root, "data")


def test_stability_and_number_of_modes_have_no_vote():
    one = ranks.recommend(study(PEAK, AT_FIVE))
    other = ranks.recommend(study(PEAK, AT_FIVE, stable=[30] * 5, modes=[9] * 5))
    assert one == other
    said = say(ranks.of_restarts(study(PEAK, AT_FIVE)))
    assert said.startswith("Converged restarts, of 20 per rank, find components")
    assert "at ranks 2, 3, 4 and 5" in said


def test_the_rank_in_use_stands_beside_the_recommendation():
    found = study(PEAK, AT_FIVE)
    assert ranks.of_rank(found, 5)[0] == ranks.recommend(found).statement
    assert say(ranks.of_rank(found, 4)[0]).endswith("This analysis has 4 components.")


def test_evidence_that_more_steps_have_not_confirmed_is_doubted():
    found = study(PEAK, AT_FIVE, settled=[True, True, False, True, False])
    assert "not confirmed it at ranks 4 and 6" in say(ranks.assumed(found))
    assert "Gaussian" in say(ranks.assumed(found))


def test_restarts_of_which_few_have_converged_are_not_counted_as_modes():
    rng = np.random.default_rng(0)
    A, W = rng.random((1, 6, 2)), rng.random((1, 2, 5))
    one = Restarts(A, W, np.ones(1), converged=1, made=20)
    assert np.isnan(one.mode_count(10.0)) and np.isnan(one.stability())
    many = Restarts(np.repeat(A, 10, 0), np.repeat(W, 10, 0), np.ones(10), converged=10, made=20)
    assert many.mode_count(10.0) == 1 and many.stability() == pytest.approx(0.0, abs=1e-5)
    few = study(PEAK, AT_FIVE, (1, 1, np.nan, np.nan, 30), (1, 1, np.nan, np.nan, 9))
    said = say(ranks.of_restarts(few))
    few = f"Fewer than half of them converged at ranks {RANKS[2]} and {RANKS[3]}."
    assert few in said and f"one mode at ranks {RANKS[0]} and {RANKS[1]}" in said


@pytest.mark.parametrize(
    ("lead", "error", "said"),
    [
        (2000.0, 1.0, "of “Counts: negative binomial noise, gamma priors” is 2,000 nats above"),
        (-40.0, 1.0, "of “Counts: Poisson noise, gamma priors” is 40 nats above"),
        (2.9, 0.1, "are about the same."),
        (10.0, 4.0, "are about the same."),
        (np.nan, 1.0, ""),
    ],
)
def test_which_noise_of_counts_leads_is_told_when_it_leads_by_enough(lead, error, said, tmp_path):
    of_noise = {
        "poisson": RankEvidence(-5000.0, error, 1, True),
        "negative_binomial": RankEvidence(-5000.0 + lead, error, 1, True),
    }
    best = {int(rank): (np.ones((6, rank)), np.ones((rank, 6))) for rank in RANKS}
    found = replace(study(PEAK, AT_FIVE), best=best, of_noise=of_noise)
    told = say(ranks.of_counts(found))
    assert said in told and bool(said) == bool(told)
    assert not told or told.startswith("With 5 components, the evidence ")
    stored.write(tmp_path / "one", RankQuestion("data", (2, 3, 4, 5, 6)), found)
    assert say(ranks.of_counts(stored.read(tmp_path / "one"))) == told


def test_of_one_noise_nothing_is_told():
    assert not ranks.of_counts(study(PEAK, AT_FIVE))
