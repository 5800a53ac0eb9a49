"""The page Tree: what it shows, and what it says when there is nothing to show."""

import pytest

from bnmf_core import RunSpec, laurberg
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.core.names import percent
from bnmf_core.rrt.analysis import tree
from tests.pages.apps import page, words

CHAIN_SETTINGS = {"start": "known", "chains": 1, "warm_up": 2, "leapfrog_steps": 3}
EPSILON = {"epsilon": 0.05}
CHAIN = RunSpec("hmc", 3, "uniform", 8, 0, CHAIN_SETTINGS, EPSILON)
TREE = RunSpec("rrt", 3, "uniform", 60, 0, {"start": "known", "attempts": 60}, EPSILON)


@pytest.fixture
def grown(server):
    run_ids = server.start(laurberg("two", a=0.55), [TREE, CHAIN])
    server.wait_analysis(run_ids, "structure", "tree")
    return run_ids


def test_a_tree_is_shown_with_its_nodes_and_the_reason_of_its_end(server, grown):
    app = page("tree", runs=",".join(grown))
    assert not app.exception and not app.error
    shown = words(app)
    made = server.store.run(grown[0]).done
    assert f"ended with {made} of 60 nodes" in shown
    assert "The tree found no new node in 60 attempts" in shown
    assert "RRT (seed 0)" in shown and "HMC (seed 0)" in shown
    part = tree.STAGE.of(open_comparison(server.store, grown))
    assert f"preserves {percent(part.quality)} of the squared" in shown
    tables = [table.value for table in app.dataframe]
    (nodes,) = [
        t
        for t in tables
        if list(t.columns)[:4] == ["run", "number", "parent", "kind"]
        and "x" not in t
        and len(t) == made
    ][:1]
    assert list(nodes["kind"]) == ["start"] + ["node"] * (made - 1)
    assert (nodes["parent"].iloc[1:] < nodes["number"].iloc[1:]).all()


def test_without_a_tree_the_page_says_how_to_get_one(server):
    run_ids = server.start(laurberg("two", a=0.55), [CHAIN])
    server.wait_analysis(run_ids, "structure", "tree")
    app = page("tree", runs=",".join(run_ids))
    assert not app.exception
    assert "None of these runs is a tree" in words(app)


def test_an_empty_server_asks_for_runs(server):
    assert "nothing has been run yet" in words(page("tree")).lower()
