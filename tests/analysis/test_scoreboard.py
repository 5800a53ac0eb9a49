"""The scoreboard: every number against its plain definition, and what is said of them."""

from contextlib import closing
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from bnmf_core import RunSpec, distances, laurberg
from bnmf_core.analysis import chains, criteria, evidence, scoreboard, structure
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.chains import Verdict, Verdicts
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.analysis.downstream import Scores
from bnmf_core.analysis.stage import Stage
from bnmf_core.analysis.stages import compute
from bnmf_core.findings.facts import say
from bnmf_core.findings.groups import groups_found
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store.run_store import RunStore
from pages.frame import declared

pytestmark = pytest.mark.slow

CHAIN = {"chains": 1, "warm_up": 20, "thinning": 1}


@pytest.fixture(scope="module")
def board(tmp_path_factory):
    """Restarts that find both answers of two, and three chains that find one each."""
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    specs = [RunSpec("random_restarts", 3, particles=16)]
    specs += [RunSpec("gibbs", 3, particles=24, seed=s, settings=CHAIN) for s in (0, 1, 2)]
    store = RunStore(tmp_path_factory.mktemp("board"))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, specs)
        runner.wait(run_ids)
    found = open_comparison(store, run_ids)
    read = [stage.key for stage in scoreboard.stages()]
    compute(found, lambda part, stage: None, lambda: False, read)
    return Board(found, "max_angle", structure.modes_at(found, "max_angle", 15.0), radius=1.0)


@pytest.fixture(scope="module")
def values(board):
    return scoreboard.scores(board).set_index(["criterion", "run"])["value"]


def test_every_criterion_has_a_page_and_says_what_it_is():
    pages = {page.key for page in declared.PAGES}
    for criterion in CRITERIA.values():
        assert criterion.page in pages and criterion.about.endswith(".")
        assert criterion.better in ("more", "less", "")
        assert criterion.favours in ("optimizers", "draws", "")


def test_numbers_are_those_of_the_runs(board, values):
    comparison = board.comparison
    for run_id, particles in zip(comparison.run_ids, comparison.particles, strict=True):
        apart = distances(particles, "max_angle")
        assert values["largest", run_id] == pytest.approx(apart.max())
        assert values["mean", run_id] == pytest.approx(apart.mean())
        assert values["best_error", run_id] == pytest.approx(particles.error.min())
        assert values["median_error", run_id] == pytest.approx(np.median(particles.error))
        assert values["seconds", run_id] == particles.info["run_seconds"]
        # The fewest balls of a radius far below what tells the two answers apart.
        answers = len({int(apart[0, i] > 10.0) for i in range(particles.M)})
        assert values["covering", run_id] >= answers == values["modes", run_id]


def test_chains_find_the_answer_they_are_in_and_restarts_both(board, values):
    restarts, *chains = board.comparison.run_ids
    assert values["modes", restarts] == 2
    assert [values["modes", run_id] for run_id in chains] == [1, 1, 1]
    assert values["mass", restarts] == pytest.approx(1.0)
    table = evidence.STAGE.of(board.comparison).tables[1.0]
    rows = list(evidence.STAGE.of(board.comparison).rows)
    for run_id in chains:
        mine = board.found(run_id)[board.modes.labels[rows]]
        assert values["mass", run_id] == pytest.approx(table["mass"][mine].sum())


def test_what_is_not_defined_has_no_number(board, values):
    restarts, chain, *_ = board.comparison.run_ids
    assert np.isnan(values["effective", restarts]) and values["effective", chain] > 0
    assert np.isnan(values["evidence", restarts]) and np.isnan(values["hidden", chain])
    assert np.isnan(values["auc", restarts])


def test_the_range_of_the_auc_is_the_widest_of_any_class(board, monkeypatch):
    restarts, chain, *_ = board.comparison.run_ids
    first, second = board.rows[restarts][:2], board.rows[chain][:2]
    rows = [(first[0], "a", 0.7), (first[1], "a", 0.9), (first[0], "b", 0.5), (first[1], "b", 0.6)]
    rows += [(second[0], "a", 0.8), (second[1], "a", 0.8)]
    table = pd.DataFrame(rows, columns=["member", "task", "auc"]).assign(label="side")
    monkeypatch.setattr(Stage, "perhaps", lambda stage, comparison: Scores(table, {}))
    assert board.auc_range(restarts) == pytest.approx(0.2)
    assert board.auc_range(chain) == 0.0


def test_repetitions_are_one_column_with_their_range(board, values):
    table = scoreboard.scoreboard(board)
    restarts, *chains = board.comparison.run_ids
    assert table["group"].unique().tolist() == [restarts, chains[0]]
    row = table[(table["criterion"] == "best_error") & (table["group"] == chains[0])].iloc[0]
    mine = [values["best_error", run_id] for run_id in chains]
    assert (row["median"], row["least"], row["most"]) == (np.median(mine), min(mine), max(mine))
    assert row["runs"] == 3 and not row["best"]
    best = table[table["best"]].set_index("criterion")["group"]
    assert best["modes"] == best["best_error"] == restarts
    assert "auc" not in best
    assert row["text"] == f"{np.median(mine):.4g} ({min(mine):.4g} to {max(mine):.4g})"


def test_ties_in_what_is_shown_have_no_winner(board, monkeypatch):
    same = criteria.Criterion(
        "same", "same", lambda _, run_id: 3.0 + 1e-9 * len(run_id), better="more", about="S."
    )
    monkeypatch.setitem(CRITERIA._entries, "same", same)
    table = scoreboard.scoreboard(board)
    assert not table.loc[table["criterion"] == "same", "best"].any()


def test_what_is_in_doubt_says_why_and_does_not_win(board, monkeypatch):
    restarts, chain, *_ = board.comparison.run_ids

    def winners(doubt):
        larger = criteria.Criterion(
            "larger", "l", lambda _, run_id: float(run_id != restarts), better="more", doubt=doubt
        )
        monkeypatch.setitem(CRITERIA._entries, "larger", larger)
        table = scoreboard.scoreboard(board)
        rows = table[table["criterion"] == "larger"].set_index("group")
        return rows["best"].to_dict(), rows.loc[chain, "text"]

    assert winners(None) == ({restarts: False, chain: True}, "1")
    doubted = winners(lambda _, run_ids: "in doubt" if chain in run_ids else "")
    assert doubted == ({restarts: False, chain: False}, "1; in doubt")


def test_effective_draws_of_chains_that_have_not_settled_cannot_be_the_best(board, monkeypatch):
    restarts, *runs = board.comparison.run_ids
    assert board.unmet([restarts]) == "no draws"
    for settled, groups, why in (
        (False, (0,), "chains have not settled"),
        (True, (0, 1), "chains in different modes"),
        (True, (0, 0), ""),
    ):
        of_runs = {run: Verdict(run, "Gibbs", 2, 9, settled, 1.0, 9, 9, groups, "") for run in runs}
        stage = SimpleNamespace(perhaps=lambda _, of_runs=of_runs: Verdicts(of_runs))
        monkeypatch.setattr(chains, "STAGE", stage)
        assert board.unmet(runs) == why
        table = scoreboard.scoreboard(board).set_index(["criterion", "group"])
        text = table.loc[("effective", runs[0]), "text"]
        assert text.endswith(f"; {why}") if why else ";" not in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (24268.3, "24,270"),
        (1388.4, "1,388"),
        (-33.928, "-33.93"),
        (3.2e9, "3.2e+09"),
        (0.0003875, "0.0003875"),
        (2.0, "2"),
    ],
)
def test_numbers_are_short(value, text):
    assert scoreboard.number(value) == text


def test_only_one_found_it(board):
    restarts, *chains = board.comparison.run_ids
    missed = scoreboard.only(board, [restarts], chains[:1])
    assert missed.tolist() == np.flatnonzero(~board.found(chains[0])).tolist()
    assert scoreboard.only(board, chains, [restarts]).size == 0
    names = {restarts: "Restarts", chains[0]: "Chains"}
    counts = [board.found(run_id).sum() for run_id in chains]
    together = int(np.any([board.found(run_id) for run_id in chains], axis=0).sum())
    middle = f" ({min(counts)} to {max(counts)} in single runs)" * int(min(counts) < together)
    assert say(groups_found(board, names)) == (
        f"Of 2 modes that any run found, Restarts found 2 and Chains found {together}{middle}."
    )


def test_a_board_without_stages_has_what_follows_from_the_runs(board, tmp_path):
    """Nothing but the structure is stored of two of the runs."""
    comparison = open_comparison(_store_of(board), board.comparison.run_ids[:2])
    compute(comparison, lambda part, stage: None, lambda: False, ("structure",))
    modes = structure.modes_at(comparison, "max_angle", 15.0)
    table = scoreboard.scoreboard(Board(comparison, "max_angle", modes, 1.0))
    assert {"modes", "covering", "largest", "best_error", "seconds"} <= set(table["criterion"])
    assert not {"mass", "interior", "effective"} & set(table["criterion"])
    assert isinstance(table, pd.DataFrame)


def _store_of(board):
    return RunStore(board.comparison.root)


def test_a_mass_that_errors_leave_open_or_more_steps_change_is_said_to_be_rough(board, monkeypatch):
    run_ids = board.comparison.run_ids[:1]
    assert board.rough(run_ids) == "no draws"  # optimizers have no posterior mass
    monkeypatch.setattr(Board, "unmet", lambda self, run_ids, apart=False: "")
    for settled, least, why in ((False, 0.9, "rough"), (True, 0.1, "open"), (True, 0.9, "")):
        found = SimpleNamespace(settled=settled)
        monkeypatch.setattr(Stage, "perhaps", lambda self, _, found=found: found)
        monkeypatch.setattr(Board, "reached", lambda self, run_id, least=least: (0.95, least, 1.0))
        assert board.rough(run_ids) == why
