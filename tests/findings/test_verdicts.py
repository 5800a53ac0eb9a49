"""The four verdicts: each word follows from numbers that are counted here directly."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core.analysis.chains import Verdict, Verdicts
from bnmf_core.analysis.conclusions import Conclusions
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.posterior import ModeDraws, Posterior
from bnmf_core.findings import verdicts
from bnmf_core.findings.components import DETERMINED, ComponentFacts, _state

ALL = np.ones(3)


def weighed(settled=True, at_a_tenth=0, merged=False, blurred=(), repeated=()):
    """Masses at likelihood power 1, where mode 1 wins, and at 0.1."""
    return SimpleNamespace(
        problem="",
        settled=settled,
        powers=tuple(one for one in (1.0, 0.1) if one not in blurred),
        blurred=blurred,
        repeated=repeated,
        winner=lambda labels, power: 0 if power == 1 else at_a_tenth,
        merged=lambda labels, power, mode: merged,
    )


def answer(mass=(0.7, 0.3), low=(0.6, 0.2), high=(0.8, 0.4), **further):
    table = pd.DataFrame({"mode": [0, 1], "joined": [0, 1], "stays": [True, True]})
    table = table.assign(mass=mass, mass_low=low, mass_high=high, weighed=[1, 1])
    table["as_good_as_best"] = [True, False]
    found = {
        "table": table,
        "evidence": weighed(),
        "modes": SimpleNamespace(labels=np.array([0, 0, 0, 1]), threshold=15.0),
        "comparison": SimpleNamespace(
            optima=np.ones(4, bool),
            dataset=SimpleNamespace(labels={}),
            members=pd.DataFrame({"run": ["a"] * 4}),
        ),
        "verdicts": Verdicts({}),
        "posterior": None,
        "conclusions": None,
        "weighty": None,
        "islands": None,
        "one_family": False,
    }
    return SimpleNamespace(**(found | further))


def test_nothing_is_clear_before_lower_likelihood_powers_are_computed():
    early = verdicts.explanations(answer(evidence=weighed(repeated=None)))
    assert early.grade == verdicts.LIKELY and "not computed yet" in early.sentence


@pytest.mark.parametrize(("good", "word"), [(4, "clear"), (5, "open")])
def test_a_few_masses_say_nothing_of_many_modes_that_fit_as_well(good, word):
    """Two of five are weighed: three others fit as well, or two of them."""
    few = answer()
    others = few.table.iloc[[1] * 3].assign(mass=np.nan, mass_low=np.nan, mass_high=np.nan)
    few.table = pd.concat([few.table, others.assign(weighed=0)], ignore_index=True)
    few.table["as_good_as_best"] = np.arange(5) < good
    few.table["joined"] = few.table["mode"] = np.arange(5)
    found = verdicts.explanations(few)
    assert found.word == word
    assert ("masses of 3 others that fit as well are not known" in found.sentence) == (
        word == "open"
    )


def test_a_mode_that_outweighs_all_others_whatever_the_errors_is_clear():
    found = verdicts.explanations(answer())
    assert (found.word, found.grade) == ("clear", verdicts.CLEAR)
    assert "2 modes, mode 1 fits best. Mode 1 has 70 % (60 % to 80 %)" in found.sentence
    rough = answer(evidence=weighed(settled=False))
    assert verdicts.explanations(rough).grade == verdicts.LIKELY
    for other in (1, None):  # who trusts the noise model less comes to another answer
        found = verdicts.explanations(answer(evidence=weighed(at_a_tenth=other)))
        assert found.grade == verdicts.LIKELY
        assert "At likelihood power 0.1 it does not lead clearly." in found.sentence
    one_region = verdicts.explanations(answer(evidence=weighed(at_a_tenth=None, merged=True)))
    assert one_region.grade == verdicts.LIKELY
    assert "At likelihood power 0.1 the posterior does not separate it" in one_region.sentence
    nowhere = verdicts.explanations(answer(evidence=weighed(blurred=(0.1,))))
    assert nowhere.grade == verdicts.LIKELY and "does not separate it" in nowhere.sentence
    # Where entries hardly count, all modes are one.
    assert verdicts.explanations(answer(evidence=weighed(blurred=(0.01,)))).grade == verdicts.CLEAR
    joined = Islands("", rows=(0, 3), families=(0, 0))
    ridge = verdicts.explanations(answer(islands=joined))
    assert ridge.grade == verdicts.LIKELY and "A path of low error" in ridge.sentence
    apart = Islands("", rows=(0, 3), families=(0, 1))
    assert verdicts.explanations(answer(islands=apart)).grade == verdicts.CLEAR
    near = verdicts.explanations(answer(low=(0.35, 0.1), high=(0.9, 0.65)))
    assert near.grade == verdicts.UNCLEAR and "do not distinguish them" in near.sentence


def test_how_mass_is_split_among_pieces_of_one_family_is_not_told():
    """Another cut would split it otherwise; separate modes as good as the best have masses."""
    for one_family, word in ((True, "one family"), (False, "clear")):
        both = answer(one_family=one_family)
        both.table["as_good_as_best"] = True
        found = verdicts.explanations(both)
        assert found.word == word
        assert ("70 %" in found.sentence) == (word == "clear")
        assert ("not separate solutions" in found.sentence) == (word == "one family")


def test_nothing_is_called_clear_before_masses_are_known():
    assert verdicts.explanations(answer(evidence=None)).grade == verdicts.WAITING
    draws = SimpleNamespace(optima=np.zeros(4, bool))
    assert verdicts.explanations(answer(comparison=draws)).grade == verdicts.UNCLEAR


@pytest.mark.parametrize(
    ("again", "held", "turned", "grade", "said"),
    [
        (
            ALL,
            ALL,
            5 * ALL,
            verdicts.CLEAR,
            "Under the model all 3 stay within 15° (95 % of draws).",
        ),
        (0.4 * ALL, ALL, 5 * ALL, verdicts.CLEAR, "Restarts differ on 3 of 3."),
        (ALL, ALL, np.array([2, 27.0, 3]), verdicts.UNCLEAR, "Component 2 is not determined."),
        (ALL, ALL, np.nan * ALL, verdicts.LIKELY, "draws do not confirm it yet"),
        (np.array([1, 0.5, 1]), np.nan * ALL, np.nan * ALL, verdicts.UNCLEAR, "1 of 3"),
    ],
)
def test_components_are_judged_by_restarts_masses_and_draws(again, held, turned, grade, said):
    states = tuple(_state(*each) for each in zip(again, held, turned, strict=True))
    found = verdicts.components(ComponentFacts(again, held, turned, states, 0 * ALL))
    assert found.grade == grade and said in found.sentence
    known = not np.isnan(held).all()
    later = verdicts.components(ComponentFacts(again, held, turned, states, 0 * ALL), weighing=True)
    assert later.grade == (grade if known else verdicts.WAITING)


def test_components_say_how_far_the_same_fit_lets_them_turn():
    def said(free):
        facts = ComponentFacts(ALL, ALL, 5 * ALL, (DETERMINED,) * len(free), np.array(free))
        return verdicts.components(facts).sentence

    assert "same AW turn component 2 by 11°." in said([4.9, 11.1, 0.0])
    assert "same AW turn component 2 by 11° and component 1 by 6°." in said([6.0, 11.1, 0.0])
    assert "4 by 9°, component 3 by 8° and component 2 by 7°, and 1 more." in said(
        [6.0, 7.0, 8.0, 9.0]
    )
    assert "same AW" not in said([0.0, 4.0, 0.0])


def test_chains_within_modes_settle_only_where_those_of_a_run_see_several():
    bad = Verdict("a", "Gibbs", 4, 100, False, 1.9, 5.0, 4.0, (0,) * 4, "Worst: log joint.")
    good = Verdict("b", "Gibbs", 4, 100, True, 1.01, 300.0, 280.0, (0,) * 4, "")
    apart = Verdict("c", "Gibbs", 4, 100, True, 1.01, 300.0, 280.0, (0, 0, 1, 1), "")
    within = SimpleNamespace(modes=(1,), settled=True)
    for labels, grade in (([0, 0, 1, 1], verdicts.LIKELY), ([1, 1, 1, 1], verdicts.UNCLEAR)):
        told = {"modes": SimpleNamespace(labels=np.array(labels)), "verdicts": Verdicts({"a": bad})}
        found = verdicts.chains(answer(posterior=within, **told))
        assert found.grade == grade and "within the modes have settled" in found.sentence
    within.settled, within.reason = False, ""
    assert verdicts.chains(answer(posterior=within, **told)).word == "not settled"
    found = verdicts.chains(answer(verdicts=Verdicts({"b": good})))
    assert found.grade == verdicts.CLEAR and "R̂ ≤ 1.01, ESS ≥ 280" in found.sentence
    assert verdicts.chains(answer(verdicts=Verdicts({"c": apart}))).word == "within modes"
    none, never = verdicts.chains(answer()), verdicts.chains(answer(posterior=Posterior("long")))
    assert (none.word, none.grade) == ("none", verdicts.WAITING)
    assert (never.word, never.grade) == ("none", verdicts.UNCLEAR)


@pytest.mark.parametrize("settled", [True, False])
def test_without_chains_of_runs_those_within_the_modes_are_judged(settled):
    modes = (
        ModeDraws(0, 0.7, 0.6, 0.8, True, "", 1.01, 300.0, 0.0),
        ModeDraws(3, 0.3, 0.2, 0.4, settled, "Worst: log joint.", 1.03, 120.0, 0.0),
    )
    found = verdicts.chains(answer(posterior=Posterior("", modes)))
    if settled:
        assert (found.grade, found.word) == (verdicts.CLEAR, "within modes")
        assert found.sentence == "Within the modes: R̂ ≤ 1.03, ESS ≥ 120."
    else:
        assert (
            found.grade == verdicts.UNCLEAR
            and "have not settled. Worst: log joint" in found.sentence
        )


def test_a_class_that_changes_makes_the_choice_matter():
    labels = SimpleNamespace(optima=np.ones(4, bool), dataset=SimpleNamespace(labels={"kind": ()}))
    for verdict, grade in (("matters", "open"), ("open", "open"), ("does not matter", "clear")):
        table = pd.DataFrame({"verdict": ["does not matter", verdict]})
        found = answer(comparison=labels, conclusions=Conclusions("", (0, 1), table))
        assert verdicts.matters(found).grade == grade
    assert verdicts.matters(answer()) is None


def test_a_choice_that_matters_only_among_modes_without_mass_hardly_does():
    labels = SimpleNamespace(optima=np.ones(4, bool), dataset=SimpleNamespace(labels={"kind": ()}))
    table = pd.DataFrame({"areas": [[0.7, 0.9, 0.71]], "reach": 0.02, "verdict": "matters"})
    for weighty, word in (([True, False, True], "hardly"), ([True, True, False], "yes")):
        found = answer(
            comparison=labels,
            conclusions=Conclusions("", (0, 1, 2), table),
            weighty=np.array(weighty),
        )
        assert verdicts.matters(found).word == word
        assert "at least 1% of the posterior mass" in verdicts.matters(found).sentence
    undecided = Conclusions("", (0, 1, 2), table.assign(verdict="open"))
    few = answer(comparison=labels, conclusions=undecided)
    assert "too few to tell" in verdicts.matters(few).sentence
    few.weighty = np.array([True, False, False])
    assert (verdicts.matters(few).word, verdicts.matters(few).grade) == ("hardly", "clear")


def test_modes_with_mass_are_shown_first():
    assert verdicts.leading(answer(mass=(0.3, 0.7))) == [1, 0]
    assert verdicts.leading(answer(mass=(0.005, 0.003))) == [0, 1]
    assert verdicts.leading(answer(mass=(np.nan, 1.0))) == [1, 0]
