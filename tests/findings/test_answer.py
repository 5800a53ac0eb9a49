"""Findings: each is said where it is true and only there, and its numbers are those of the data."""

import shutil
from contextlib import closing
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.linalg import block_diag

from bnmf_core import Dataset, RunSpec, laurberg
from bnmf_core.analysis import ranks, structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.conclusions import Conclusions
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.mode_table import largest_mass, mode_table
from bnmf_core.analysis.ranks import RankQuestion, RankWork
from bnmf_core.analysis.stages import compute
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.unseen import unseen_modes
from bnmf_core.core.names import in_digits
from bnmf_core.findings import answer as answering
from bnmf_core.findings import sources as of
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.components import shared
from bnmf_core.findings.facts import fact, say
from bnmf_core.findings.modes import mass_in_words
from bnmf_core.findings.ranks import of_rank
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from pages.frame import declared

KNOWN = ("found", "separate", "probable", "missing")


def compared(folder, dataset, *specs):
    store = RunStore(folder)
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(dataset, list(specs))
        runner.wait(run_ids)
    found = open_comparison(store, run_ids)
    compute(found, lambda part, stage: None, lambda: False, ("structure",))
    return found, structure.modes_at(found, "max_angle", 15.0)


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    restarts = RunSpec("random_restarts", rank=3, particles=20)
    return compared(tmp_path_factory.mktemp("two"), laurberg("two"), restarts)


def test_four_solutions_are_reported_as_four(tmp_path):
    """A component that spans both blocks would fill zeros: each block has its two solutions."""
    block = laurberg("two")
    data = Dataset.from_array(block_diag(block.X, block.X))
    comparison, modes = compared(tmp_path, data, RunSpec("random_restarts", rank=6, particles=60))
    table = mode_table(comparison, "max_angle", modes, None)
    assert table["as_good_as_best"].sum() == 4
    sentence = Answer(comparison, "max_angle", modes).findings[0].sentence
    assert "4 fit as well as the best" in sentence
    solutions = [truth.A for truth in block.truth]
    pairs = [block_diag(first, second) for first, second in product(solutions, solutions)]
    found = comparison.factors(modes.representative[table["as_good_as_best"]])[0]
    for A in pairs:
        apart = component_angles(found, A, matching(found, A)).max(axis=1)
        assert apart.min() < 0.1


def test_components_are_told_by_their_angles_to_mode_1(two):
    comparison, modes = two
    said, doubt = map(say, shared(comparison, modes))
    A = comparison.aligned(modes.representative)
    angles = component_angles(A[1:], A[0], matching(A[1:], A[0])).max(axis=0)
    assert (angles > 30).all()
    assert said == "No component of mode 1 has a partner within 15° in the other mode."
    assert f"component {angles.argmax() + 1} (up to {angles.max():.0f}°)" in doubt


@pytest.mark.parametrize(
    ("as_good", "worse"), [([True, True], False), ([True, False], True), ([False, True], False)]
)
def test_other_modes_that_fit_worse_are_called_so(two, as_good, worse):
    said = say(shared(*two, pd.DataFrame({"as_good_as_best": as_good}))[0])
    assert said.endswith(" in the other mode, which fits worse." if worse else " the other mode.")


def test_components_are_compared_with_those_of_the_most_probable_mode(two):
    comparison, modes = two
    table = pd.DataFrame({"mass": [np.nan, 0.9], "mass_low": [np.nan, 0.8]})
    table = table.assign(mass_high=[np.nan, 0.95], as_good_as_best=True)
    said, doubt = map(say, shared(comparison, modes, table))
    A = comparison.aligned(modes.representative)
    angles = component_angles(A[:1], A[1], matching(A[:1], A[1])).max(axis=0)
    assert said.startswith("No component of mode 2 has a partner within 15°")
    assert f"component {angles.argmax() + 1} (up to {angles.max():.0f}°)" in doubt
    assert "Compared with mode 2, which has the largest posterior mass" in doubt


def test_what_all_modes_share_is_named_by_its_words():
    A = np.zeros((2, 6, 3))
    A[:, :2, 0] = A[:, 2:4, 1] = [3.0, 2.0]
    A[0, 4, 2] = A[1, 5, 2] = 1.0
    words = ["sun", "moon", "ball", "goal", "law", "war"]
    data = Dataset.from_array(np.ones((6, 4)), features=words)
    made_up = SimpleNamespace(
        optima=np.ones(2, bool), aligned=lambda rows: A[list(rows)], dataset=data
    )
    modes = SimpleNamespace(representative=np.arange(2), labels=np.arange(2), count=2)
    said, doubt = map(say, shared(made_up, modes))
    assert said.startswith("2 of 3 components of mode 1 have a partner within 15°")
    assert "component 1 (sun, moon), component 2 (ball, goal)" in said
    assert "component 3 (law) (up to 90°)" in doubt


def test_one_mode_has_no_other_to_share_with(two):
    comparison, _ = two
    assert shared(comparison, structure.modes_at(comparison, "max_angle", 90.0)) == []


def test_errors_are_those_of_the_optima(two):
    comparison, _ = two
    said = say(of.fit(comparison)[0])
    errors = comparison.members["error"][comparison.optima]
    assert in_digits(errors.min(), "#.3g") in said
    assert in_digits(errors.max(), "#.3g") in said
    assert all("sum of squares" not in say(one) for one in of.fit(comparison))


def test_a_feature_that_squared_errors_see_alone_is_named(tmp_path):
    scale = np.array([30.0, 1, 1, 1])[:, None]
    X = scale * np.random.default_rng(0).gamma(2.0, size=(4, 12))
    data = Dataset.from_array(X, features=["proline", "hue", "ash", "malic acid"])
    spec = RunSpec("random_restarts", rank=2, particles=2)
    comparison, _ = compared(tmp_path, data, spec)
    told = [say(one) for one in of.fit(comparison)]
    assert any(one.startswith("“proline” makes 99.") for one in told)


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([0] * 10, None),
        ([0] * 7 + [1, 2, 3], "Run more restarts"),
        (list(range(10)), "Compare numbers of components next: at 3 the next restart finds"),
        (None, "Run Q-Transform or Random restarts"),
    ],
)
def test_what_to_do_next(two, labels, words):
    comparison, _ = two
    unseen = None if labels is None else unseen_modes(np.array(labels), np.ones(10, bool))
    counts = np.bincount([0] * 10 if labels is None else labels)
    table = pd.DataFrame({"found_by": counts / 10, "joined": np.arange(counts.size)})
    table = table.assign(weighed=1, stays=True, as_good_as_best=True, mass=np.nan, mass_high=np.nan)
    said = say(of.what_next(comparison, unseen, table))
    assert said.startswith(words) if words else not said
    if unseen is not None and words:  # where ranks have been compared
        again = say(of.what_next(comparison, unseen, table, SimpleNamespace()))
        assert again.startswith("Run more restarts")


@pytest.mark.parametrize(("good", "heavy", "asks"), [(0, 0, False), (3, 0, True), (0, 3, True)])
def test_more_restarts_are_advised_where_a_mode_found_once_matters(two, good, heavy, asks):
    """New modes are likely as those found once are: poorer ones without mass decide nothing."""
    unseen = unseen_modes(np.array([0] * 7 + [1, 2, 3]), np.ones(10, bool))
    table = pd.DataFrame({"found_by": [0.7, 0.1, 0.1, 0.1], "joined": range(4)})
    table = table.assign(as_good_as_best=table.index == good, weighed=1, stays=True)
    table = table.assign(mass=np.where(table.index == heavy, 0.995, 0.001), mass_high=np.nan)
    said = say(of.what_next(two[0], unseen, table))
    assert said.startswith("Run more restarts next: after 10") == asks


def test_fit_and_second_label_give_way_to_what_to_do_next(two, monkeypatch):
    monkeypatch.setattr(answering, "MOST", 6)
    comparison, modes = two
    table = pd.DataFrame(
        {"label": list("abcd"), "task": "one", "lowest": 0.5, "highest": 0.9, "difference": 0.4}
    ).assign(low=0.2, high=0.6, verdict="matters")
    about = {key: [fact("reason", said=one) for one in (f"{key}.", "And more.")] for key in KNOWN}
    unseen = unseen_modes(np.arange(10), np.ones(10, bool))
    answer = Answer(comparison, "max_angle", modes)
    vars(answer).update(facts=about, conclusions=Conclusions("", (0, 1), table), unseen=unseen)
    found = answer.findings
    assert {finding.page for finding in found} <= {page.key for page in declared.PAGES}
    keys = [finding.key for finding in found]
    assert keys == ["found", "probable", "missing", "components", "labels", "next"]
    assert found[0].doubt == "And more. separate. And more."


@pytest.mark.parametrize("one_family", [True, False])
def test_pieces_of_one_family_have_their_mass_together(two, one_family):
    comparison, modes = two
    answer = Answer(comparison, "max_angle", modes)
    rows = [int(np.flatnonzero(comparison.optima & (modes.labels == k))[0]) for k in range(2)]
    families = [0, 0] if one_family else [0, 1]
    vars(answer)["islands"] = Islands("", rows, families)
    assert answer.one_family == one_family
    apart = mode_table(comparison, "max_angle", modes, None)
    apart = apart.assign(mass=[0.3, 0.7], mass_low=[0.2, 0.6], mass_high=[0.4, 0.8], weighed=1)
    vars(answer)["_pieces"] = apart
    told = [mass_in_words(row) for _, row in answer.table.iterrows()]
    if not one_family:
        assert told == ["30 % (20 % to 40 %)", "70 % (60 % to 80 %)"]
        return
    assert told == ["one with mode 2", "> 99.9 %"]
    assert largest_mass(answer.table).tolist() == [1.0, 1.0]
    poorer = Answer(comparison, "max_angle", modes)
    vars(poorer).update(islands=answer.islands, _pieces=apart.assign(as_good_as_best=[True, False]))
    assert not poorer.one_family and poorer.table is poorer._pieces


def test_draws_alone_are_told_as_what_they_are(tmp_path):
    spec = RunSpec("gibbs", rank=3, particles=5, settings={"warm_up": 5})
    comparison, modes = compared(tmp_path, laurberg("two"), spec)
    assert shared(comparison, modes) == []
    assert of.fit(comparison) == []
    found = Answer(comparison, "max_angle", modes).findings
    assert [finding.key for finding in found] == ["next"]


def test_where_chains_leave_the_modes_the_rank_is_asked_next(two):
    comparison, _ = two
    unseen = unseen_modes(np.zeros(10, int), np.ones(10, bool))
    table = pd.DataFrame({"weighed": [1, 1, 1, 0], "stays": [True, False, False, True]})
    (asked,) = of.what_next(comparison, unseen, table)
    assert asked.key == "compare_ranks" and "samples leave most of the weighed modes" in say(asked)
    facing = SimpleNamespace(comparison=comparison, unseen=unseen, table=table)
    facing.passing, facing.rank_study = False, None
    assert list(of.FINDINGS["next"].find(facing)) == [("rank", [asked])]
    compared_already = of.what_next(comparison, unseen, table, SimpleNamespace())
    half = of.what_next(comparison, unseen, table.iloc[:2])
    assert asked not in (*compared_already, *half)


@pytest.mark.slow
def test_whether_the_rank_is_settled_is_said_only_where_ranks_were_compared(two):
    comparison, modes = two
    answer = Answer(comparison, "max_angle", modes)
    assert answer.rank_study is None
    assert "rank" not in {finding.key for finding in answer.findings}
    asked = RankQuestion(comparison.runs[0].dataset, (1, 2, 3), "same", sigma=0.05, restarts=4)
    work = RankWork(comparison.root, asked, comparison.dataset)
    try:
        work.make(lambda part, stage: None, lambda: False)
        answer = Answer(comparison, "max_angle", modes)
        (finding,) = [finding for finding in answer.findings if finding.key == "rank"]
        assert finding.facts == of_rank(ranks.read(work.folder), 3)
        assert finding.page == "rank"
    finally:
        shutil.rmtree(work.folder.parent)


def test_while_other_runs_are_being_made_nothing_is_to_be_done_next(two):
    comparison, modes = two
    unseen = unseen_modes(np.arange(10), np.ones(10, bool))
    for passing in (False, True):
        answer = Answer(comparison, "max_angle", modes, passing)
        vars(answer).update(unseen=unseen)
        assert ("next" in {finding.key for finding in answer.findings}) != passing


def test_a_ridge_is_told_beside_what_has_converged(two):
    comparison, _ = two
    members = comparison.members.copy()
    members.loc[:2, ["converged", "ridge", "movement"]] = [False, True, 7.25]
    ridged = SimpleNamespace(
        members=members, optima=members["converged"].to_numpy(), resolution=comparison.resolution
    )
    said = say(of.convergence(ridged))
    assert said.startswith("17 of 20 factorizations have converged")
    assert said.endswith(
        "3 of them lie on a ridge: less than 0.01 nats are left to gain there, yet components "
        "rotate by up to 7.2°."
    )
    assert len(of.convergence(comparison)) == 1
    members.loc[:2, "movement"] = comparison.resolution / 2
    assert "; 3 stopped before this was certain." in say(of.convergence(ridged))
