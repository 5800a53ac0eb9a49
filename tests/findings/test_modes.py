"""The answer that is said of modes: every number against one computed directly."""

from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core import RunSpec, distances, laurberg, mode_evidence
from bnmf_core.analysis import evidence, islands, likelihood_power, structure
from bnmf_core.analysis.chains import Verdict, Verdicts
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.mode_table import mode_table, unseen
from bnmf_core.analysis.stages import compute
from bnmf_core.core.names import percent
from bnmf_core.findings import modes as of
from bnmf_core.findings.facts import fact, say
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore

pytestmark = pytest.mark.slow

MODEL = {"sigma": 0.01, "rate": 1.0}
STAY = {"settled": True, "stays": [1.0, 1.0], "ends_in": [0, 1], "joined": [0, 1], "keeps": True}
STAGES = ("structure", "chains", "islands", "belief")
SETTLED = Verdicts({"a": Verdict("a", "Gibbs", 1, 100, True, 1.01, 90.0, 80.0, (0,), "")})
UNSETTLED = Verdicts({"a": Verdict("a", "Gibbs", 1, 100, False, 1.9, 5.0, 4.0, (0,), "Log joint.")})


def sentences_of(*given):
    """The facts of modes in sentences, by what they are about."""
    return {about: list(map(say, facts)) for about, facts in of.facts(*given).items()}


def never() -> bool:
    return False


def nobody(fraction: float, stage: str) -> None:
    """Nobody is told."""


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A comparison of restarts and a chain on the matrix with two noisy solutions."""
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    specs = [
        RunSpec("random_restarts", rank=3, particles=30, model_settings=MODEL),
        RunSpec("gibbs", rank=3, particles=20, model_settings=MODEL),
    ]
    store = RunStore(tmp_path_factory.mktemp("two"))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, specs)
        runner.wait(run_ids)
    comparison = open_comparison(store, run_ids)
    compute(comparison, nobody, never, STAGES)
    return comparison


@pytest.fixture(scope="module")
def told(two):
    """Its modes, their table and the sentences."""
    modes = structure.modes_at(two, "max_angle", 15.0)
    found = likelihood_power.STAGE.of(two)
    table = mode_table(two, "max_angle", modes, found)
    sentences = sentences_of(
        two,
        "max_angle",
        table,
        modes,
        found,
        islands.STAGE.of(two),
        unseen(modes.labels, two.optima),
        SETTLED,
    )
    return modes, table, [one for some in sentences.values() for one in some]


def test_modes_are_groups_of_optima_and_draws_count_to_the_nearest(two, told):
    modes, table, _ = told
    assert modes.count == 2
    A, W = two.factors(np.arange(len(two.members)))
    matrix = distances(SimpleNamespace(A=A, W=W))
    draws = np.flatnonzero(~two.optima)
    assert draws.size == 20
    nearest = matrix[np.ix_(draws, two.grouped)].argmin(axis=1)
    np.testing.assert_array_equal(modes.labels[draws], modes.labels[two.grouped[nearest]])
    assert set(modes.representative) <= set(two.grouped)
    assert table["draws"].sum() == pytest.approx(1.0)


def test_basin_height_and_mass_are_three_columns(two, told):
    modes, table, _ = told
    optima = modes.labels[two.optima]
    np.testing.assert_allclose(table["found_by"], [(optima == 0).mean(), (optima == 1).mean()])
    height = [two.members["log_joint"][modes.labels == k].max() for k in range(2)]
    np.testing.assert_allclose(table["below_best"], max(height) - np.array(height))
    # The stage weighs the best of each mode, as one would by hand.
    best = [
        int(
            np.argmax(np.where((modes.labels == k) & two.optima, two.members["log_joint"], -np.inf))
        )
        for k in range(2)
    ]
    A, W = two.factors(best)
    starts = replace(two.particles[0].subset(np.zeros(2, int)), A=A, W=W)
    by_hand = mode_evidence(two.dataset, starts, rng=np.random.default_rng(1))
    np.testing.assert_allclose(table["mass"], by_hand["mass"], atol=0.02)


def test_the_sentences_say_what_the_table_holds(two, told):
    modes, table, sentences = told
    whole = " ".join(sentences)
    heavy = int(table["mass"].argmax())
    A, W = two.factors(np.flatnonzero(two.optima))
    apart = distances(SimpleNamespace(A=A, W=W))
    labels = modes.labels[two.optima]
    assert max(apart[np.ix_(labels == k, labels == k)].max() for k in range(2)) < 15
    assert apart[np.ix_(labels == 0, labels == 1)].min() > 15
    # Both explain all but the noise: half a squared error over σ² is within 3 nats.
    squared = two.members["error"].to_numpy()[two.optima] ** 2 * two.dataset.squared_norm
    below = (squared - squared.min()) / (2 * MODEL["sigma"] ** 2)
    good = [bool((below[labels == k] <= 3.0).any()) for k in range(2)]
    assert table["as_good_as_best"].tolist() == good
    words = "2 fit as well as the best."
    if not all(good):
        words = f"mode {good.index(True) + 1} fits best, 1 is a poorer local optimum."
    assert f"30 converged restarts found 2 modes (threshold 15°): {words}" in whole
    assert f"Mode {heavy + 1} has {of.mass_in_words(table.loc[heavy])} of the post" in whole
    assert "2 modes, no two of them joined by a path that was found" in whole
    assert "σ = 0.01, λ = 1" in whole
    assert "next restart" in whole
    assert "likelihood power" in whole
    assert "Gibbs draws lie" in whole


def _weighed(two, power_errors):
    """An Evidence of both modes with an error, in nats, for every power: mode 1 is 5 nats up."""
    found = evidence.STAGE.of(two)
    tables = {
        power: pd.DataFrame({"log_evidence": [5.0, 0.0], "error": [error] * 2, **STAY})
        for power, error in power_errors.items()
    }
    return replace(found, tables=tables, repeated=tables, blurred=(), left_out=0)


@pytest.mark.parametrize(
    ("power_errors", "told", "not_told"),
    [
        ({1.0: 0.1, 0.1: 0.1}, "still wins at likelihood power 0.1", "leave open"),
        ({1.0: 0.1, 0.1: 50.0}, "At likelihood power 0.1 errors and repeats leave open", "still"),
        ({1.0: 50.0, 0.1: 0.1}, "leave open which of 2 modes is the most probable", "still"),
    ],
)
@pytest.mark.parametrize("agree", [True, False])
def test_a_winner_within_its_error_or_in_one_repeat_only_is_none(
    two, told, power_errors, not_told, agree
):
    modes = structure.modes_at(two, "max_angle", 15.0)
    found = _weighed(two, power_errors)
    if not agree:
        other = {
            power: table.iloc[::-1].reset_index(drop=True).assign(**STAY)
            for power, table in found.tables.items()
        }
        found = replace(found, repeated=other)
        told = told.replace("still wins at likelihood power 0.1", "repeats leave open which mode")
        not_told = "still"
    table = mode_table(two, "max_angle", modes, found)
    told_of = sentences_of(two, "max_angle", table, modes, found, None, None)
    whole = " ".join(told_of["probable"])
    assert told in whole
    assert not_told not in whole


@pytest.mark.parametrize(
    ("mass", "words"),
    [
        ((1.0, 1.0, 1.0), "> 99.9 %"),
        ((0.0, 0.0, 1e-7), "< 0.1 %"),
        ((0.62, 0.4, 0.8), "62 % (40 % to 80 %)"),
        ((1.0, 0.5, 1.0), "100 % (50 % to 100 %)"),
        ((np.nan,) * 3, "not computed"),
    ],
)
def test_a_mass_is_said_with_what_its_error_allows(mass, words):
    row = pd.Series(dict(zip(["mass", "mass_low", "mass_high"], mass, strict=True)))
    assert of.mass_in_words(row) == words


def test_draws_are_not_compared_with_optima_without_a_word(two):
    assert of.draws_beside_optima(two, UNSETTLED) == of.draws_beside_optima(two, None) == []
    error, drawn = two.members["error"].to_numpy(), ~two.optima
    words = say(of.draws_beside_optima(two, SETTLED))
    assert f"Draws have a relative error of {np.median(error[drawn]):.3g}" in words
    assert f"optima of {np.median(error[~drawn]):.3g}" in words


def test_masses_of_sites_add_up_whatever_the_modes_are(two):
    found = evidence.STAGE.of(two)
    together = found.of_modes(np.zeros(len(two.members), int))
    assert together["mass"].tolist() == [pytest.approx(1.0)]
    assert together["weighed"].tolist() == [2]
    apart = found.of_modes(np.arange(len(two.members)))
    assert apart["mass"].notna().sum() == 2
    assert apart["mass"].sum() == pytest.approx(1.0)


def test_without_an_optimum_nothing_is_weighed_and_it_says_why(two, tmp_path):
    data = laurberg("two")
    store = RunStore(tmp_path)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, [RunSpec("gibbs", rank=3, particles=10)])
        runner.wait(run_ids)
    comparison = open_comparison(store, run_ids)
    compute(comparison, nobody, never, STAGES)
    modes = structure.modes_at(comparison, "max_angle", 15.0)
    found = evidence.STAGE.of(comparison)
    assert "Random restarts" in found.problem
    table = mode_table(comparison, "max_angle", modes, found)
    sentences = sentences_of(
        comparison, "max_angle", table, modes, found, islands.STAGE.of(comparison), None, SETTLED
    )
    assert table["mass"].isna().all()
    assert sentences["probable"][0].startswith("Posterior mass: not computed.")
    assert "Draws alone do not show modes" in sentences["draws"][0]
    assert not list(of._where_draws_lie(comparison, table, "°", UNSETTLED))


def test_a_flat_prior_is_no_reason_to_fail(tmp_path):
    data = laurberg("two")
    spec = RunSpec(
        "random_restarts", rank=3, particles=4, model_settings={"rate": 0.0, "sigma": 0.1}
    )
    store = RunStore(tmp_path)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, [spec])
        runner.wait(run_ids)
    comparison = open_comparison(store, run_ids)
    compute(comparison, nobody, never, STAGES)
    assert "flat prior" in evidence.STAGE.of(comparison).problem


@pytest.mark.parametrize(
    ("share", "words"),
    [
        (1.0, "100 %"),
        (0.0, "0 %"),
        (0.99951, "> 99.9 %"),
        (0.0002, "< 0.1 %"),
        (0.512, "51 %"),
        (0.034, "3.4 %"),
        (0.987, "98.7 %"),
        (np.nan, "not computed"),
    ],
)
def test_shares_are_told_with_as_many_digits_as_they_need(share, words):
    assert percent(share) == words


def test_nothing_is_said_of_masses_while_they_are_computed(two, told):
    modes, _, _ = told
    table = mode_table(two, "max_angle", modes, None)
    assert table["mass"].isna().all()
    sentences = sentences_of(two, "max_angle", table, modes, None, None, None)
    assert sentences["found"]
    assert sentences["probable"] == []
    assert Evidence("no").of_modes(modes.labels)["mass"].isna().all()


@pytest.mark.parametrize(("left_out", "words"), [(0, "another mode"), (3, "share is not known")])
def test_one_that_was_weighed_alone_has_no_share(two, left_out, words):
    found = replace(
        evidence.STAGE.of(two),
        rows=evidence.STAGE.of(two).rows[:1],
        left_out=left_out,
        tables={
            1.0: pd.DataFrame(
                {"log_evidence": [0.0], "error": 0.1, "settled": True, "stays": 1.0, "ends_in": 0}
            ).assign(joined=0, keeps=True)
        },
    )
    modes = structure.modes_at(two, "max_angle", 90.0)
    table = mode_table(two, "max_angle", modes, found)
    assert table["mass"].isna().all() == (left_out > 0)
    told_of = sentences_of(two, "max_angle", table, modes, found, None, None)
    assert words in told_of["probable"][0]


def test_modes_that_chains_leave_are_said_to_be_none_of_the_posterior(two):
    modes = structure.modes_at(two, "max_angle", 15.0)
    table = pd.DataFrame(
        {"log_evidence": [-5.0, -np.inf], "error": [0.1, np.nan], "settled": True}
    ).assign(stays=[1.0, 0.0], ends_in=[0, 0], joined=[0, 1], keeps=[True, False])
    found = replace(evidence.STAGE.of(two), tables={1.0: table}, blurred=(), left_out=0)
    rows = mode_table(two, "max_angle", modes, found)
    left = int(modes.labels[found.rows[1]])
    assert rows["stays"].tolist() == [k != left for k in range(2)]
    assert of.mass_in_words(rows.loc[left]) == "none: samples leave it"
    told_of = " ".join(sentences_of(two, "max_angle", rows, modes, found, None, None)["probable"])
    assert f"Mode {left + 1} has no mass: samples that start there end in other" in told_of


def test_two_starts_that_end_in_each_other_are_one_mode(two):
    modes = structure.modes_at(two, "max_angle", 15.0)
    found = _weighed(two, {1.0: 0.1})
    table = found.tables[1.0].assign(joined=[0, 0], stays=[0.4, 0.4])
    found = replace(found, tables={1.0: table})
    rows = mode_table(two, "max_angle", modes, found)
    assert rows["joined"].tolist() == [0, 0]
    assert rows["mass"].iloc[0] == pytest.approx(1.0) and np.isnan(rows["mass"].iloc[1])
    assert of.mass_in_words(rows.iloc[1]) == "one with mode 1"
    said = sentences_of(two, "max_angle", rows, modes, found, None, None)["probable"]
    assert said[0].startswith("Modes 1 and 2 together have > 99.9 % of the posterior mass")
    assert "The posterior does not separate modes 1 and 2" in said[1]


def test_draws_and_masses_that_do_not_agree_are_told(two):
    modes = structure.modes_at(two, "max_angle", 15.0)
    table = mode_table(two, "max_angle", modes, _weighed(two, {1.0: 0.1}))
    light = int(table["mass"].argmin())
    drawn = table.assign(draws=[float(k == light) for k in range(2)])
    told_of = list(map(say, of._draws_elsewhere(drawn, SETTLED)))
    assert told_of == [
        f"100 % of the draws lie in mode {light + 1}, which has "
        f"{of.mass_in_words(table.loc[light])}: chains stay in the mode where they start."
    ]
    assert not list(of._draws_elsewhere(drawn, UNSETTLED))
    assert not list(of._draws_elsewhere(table.assign(draws=table["mass"]), SETTLED))
    unweighed = table.assign(weighed=[0, 1], mass_high=[np.nan, 1.0], draws=[0.4, 0.6])
    assert "40 % of the draws lie in modes that were not weighed." in list(
        map(say, of._draws_elsewhere(unweighed, SETTLED))
    )


@pytest.mark.parametrize("mixed", [False, True])
def test_which_starts_are_counted_is_said_where_there_are_several_kinds(two, told, mixed):
    modes, _, _ = told
    members = two.members.copy()
    if mixed:
        members.loc[np.flatnonzero(two.optima)[:10], "algorithm"] = "q_transform"
    made = SimpleNamespace(members=members, optima=two.optima)
    said = list(map(say, of._missing(unseen(modes.labels, two.optima), made)))
    assert len(said) == 1 + mixed  # both modes were found many times
    assert said[0].startswith("Every mode was found more than once")
    assert not mixed or "10 by Q-Transform, 20 by Random restarts" in said[-1]


@pytest.mark.parametrize(
    ("value", "shown"), [(10.395, "10.4"), (0.00351001, "0.00352"), (9.0, "9")]
)
def test_a_largest_distance_is_never_rounded_down(value, shown, monkeypatch):
    monkeypatch.setattr(of.mode_table, "widest", lambda *given: value)
    found = of.apart(None, "max_angle", None)
    assert say(found) == f"any two are at most {shown}° apart"
    assert found.values["widest"] >= value


def test_a_sentence_calls_a_mode_by_its_name_once():
    names = ["mode 1 (early)", "mode 2", "mode 3 (late)"]
    mass = fact("share.joined", joined=3)
    stay = fact("draws_stay", share=0.5, mode=3, mass=mass)
    assert say(stay, names).startswith("50 % of the draws lie in mode 3 (late), which has one with")
    only = fact("only_one.unknown", mode=1)
    assert say(only, names).startswith("Mode 1 (early) is the only one")
    assert say([only, only], names).count("early") == 2
    assert "modes 1 and 3:" in say(fact("not_separated", modes=(1, 3)), names)
    many = fact("not_separated", modes=tuple(range(1, 10)))
    assert "modes 1, 2, 3, 4, 5, 6 and 3 more:" in say(many)


def test_a_family_is_not_counted_as_modes(two):
    """Equally good fits that paths join are told as what they are, and draws in any piece count."""
    modes = structure.modes_at(two, "max_angle", 15.0)
    table = mode_table(two, "max_angle", modes, evidence.STAGE.of(two))
    rows = evidence.STAGE.of(two).rows
    for families, words in (((0, 0), "found one connected family"), ((0, 1), "found 2 modes")):
        joined = islands.Islands("", rows, families)
        good = table.assign(as_good_as_best=True)
        known = of.facts(two, "max_angle", good, modes, None, joined, None)
        assert words in say(known["found"][0])
        weighed = evidence.STAGE.of(two)
        told = of.facts(two, "max_angle", good, modes, weighed, joined, None)["probable"]
        assert ("depends on the cut" in say(told)) == (families == (0, 0))
        assert (" % " in say(told[0])) == (families == (0, 1))
        unweighed = table.assign(weighed=[1, 0], mass_high=[1.0, np.nan], draws=[0.4, 0.6])
        told = list(of._draws_elsewhere(unweighed, SETTLED, joined, modes.labels))
        assert len(told) == len(set(families)) - 1
