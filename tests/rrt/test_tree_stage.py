"""The map of trees: which nodes it keeps, where they lie, what is told of them, how it is drawn."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.spatial.distance import cdist

from bnmf_core.analysis import stages
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import pairwise
from bnmf_core.compare.projection import place, project, simplex_projection
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.figures.style import run_styles
from bnmf_core.rrt.analysis import tree as tree_stage
from bnmf_core.rrt.figures import tree as pictures

pytestmark = pytest.mark.slow

EPSILON = {"epsilon": 0.05}
TREE = RunSpec("rrt", 3, "uniform", 40, 0, {"start": "known", "attempts": 200}, EPSILON)
CHAIN_SETTINGS = {"start": "known", "chains": 1, "warm_up": 2, "leapfrog_steps": 3}
CHAIN = RunSpec("hmc", 3, "uniform", 12, 0, CHAIN_SETTINGS, EPSILON)
EVIL = "<img src=x onerror=alert(1)> $x$"


@pytest.fixture
def both(runner):
    """A tree and a chain of the continuum, and this part of their analysis."""
    return analysed(runner, [TREE, CHAIN])


def analysed(runner, specs):
    run_ids = runner.start(laurberg("two", a=0.55), specs)
    runner.wait(run_ids)
    found = open_comparison(runner.store, run_ids)
    stages.compute(found, lambda part, stage: None, lambda: False, ["tree"])
    assert tree_stage.STAGE.ready(found)
    return found


def styles(found):
    return run_styles([(run.id, run.spec.algorithm, EVIL) for run in found.runs])


@given(some.integers(1, 60), some.integers(1, 80), some.integers(0, 2**32 - 1))
def test_what_is_kept_of_a_tree_keeps_its_ancestors(count, most, seed):
    rng = np.random.default_rng(seed)
    parent = np.array([rng.integers(-1, node) if node else -1 for node in range(count)])
    kept = tree_stage.with_ancestors(parent, most)
    assert 1 <= kept.size <= most
    assert (np.diff(kept) > 0).all()
    assert set(parent[kept]) - {-1} <= set(kept)
    if most >= count:
        assert kept.size == count


def test_landmarks_keep_euclidean_positions_and_place_others_among_them():
    positions = np.random.default_rng(0).normal(size=(60, 2)) * [3, 1]
    apart = cdist(positions, positions)
    np.testing.assert_allclose(place(apart, apart), project(apart), atol=1e-9)
    few = np.arange(0, 60, 7)
    placed = place(apart[:, few], apart[np.ix_(few, few)])
    np.testing.assert_allclose(cdist(placed, placed), apart, atol=1e-9)
    assert not place(np.zeros((3, 2)), np.zeros((2, 2))).any()


def test_the_map_holds_nodes_particles_and_known_factorizations(both):
    part = tree_stage.STAGE.of(both)
    nodes, chain = both.particles
    table = part.table
    assert list(table["run"]) == [*[both.runs[0].id] * nodes.M, *[both.runs[1].id] * 12, "", ""]
    assert part.nodes == nodes.M == table["tree"].sum()
    assert list(table["name"])[-2:] == ["A, W", "A Q, Q W"]
    mine = table[table["tree"]]
    np.testing.assert_array_equal(mine["parent"], nodes.diagnostics["parent"])
    np.testing.assert_array_equal(mine["parent_row"], nodes.diagnostics["parent"])
    np.testing.assert_array_equal(mine["log_joint"], nodes.log_joint)
    np.testing.assert_array_equal(table["log_joint"][nodes.M : nodes.M + 12], chain.log_joint)
    of_members = both.members.iloc[table["member"][: nodes.M + 12]]
    np.testing.assert_array_equal(of_members["log_joint"], table["log_joint"][: nodes.M + 12])
    assert (table["member"][-2:] == -1).all()


def test_distances_to_parents_positions_and_triangles_are_the_direct_ones(both):
    part = tree_stage.STAGE.of(both)
    known = both.dataset.truth
    A, W = (
        np.concatenate(
            [*(getattr(p, name) for p in both.particles), *(getattr(k, name)[None] for k in known)]
        )
        for name in "AW"
    )
    apart = pairwise(A, W, DISTANCES["max_angle"])
    parent = part.table["parent_row"].to_numpy()
    grown = parent >= 0
    np.testing.assert_allclose(
        part.table["to_parent"][grown], apart[np.flatnonzero(grown), parent[grown]], rtol=1e-9
    )
    assert part.table["to_parent"][~grown].isna().all()
    np.testing.assert_allclose(part.table[["x", "y"]], project(apart), atol=1e-6)
    assert part.between_known == pytest.approx(apart[-1, -2])
    data, bases = simplex_projection(both.dataset.X, A)
    np.testing.assert_allclose(part.data, data)
    np.testing.assert_allclose(part.bases, bases)


def test_of_many_nodes_a_part_is_shown_that_hangs_together(both, tmp_path, monkeypatch):
    whole = tree_stage.STAGE.of(both)
    monkeypatch.setattr(tree_stage, "MOST_NODES", 12)
    monkeypatch.setattr(tree_stage, "LANDMARKS", 10)
    tree_stage.compute(both, tmp_path, lambda part: None, lambda: False)
    part = tree_stage.read(both, tmp_path)
    mine = part.table[part.table["tree"]]
    assert 1 < len(mine) <= 12 < part.nodes == whole.nodes
    grown = mine[mine["parent"] >= 0]
    np.testing.assert_array_equal(mine["ids"].to_numpy()[grown["parent_row"]], grown["parent"])
    same = whole.table[whole.table["tree"]].set_index("ids").loc[grown["ids"], "to_parent"]
    np.testing.assert_allclose(grown["to_parent"], same)


def test_without_a_tree_there_is_no_map(runner):
    found = analysed(runner, [CHAIN])
    assert tree_stage.STAGE.of(found) is None
    assert not (tree_stage.STAGE.folder(found) / "tree.npz").exists()


def test_what_a_step_made_is_spread_over_the_step():
    points = pd.DataFrame({"run": ["a"] * 5 + [""], "seconds": [1.0, 3.0, 3.0, 3.0, 3.0, np.nan]})
    np.testing.assert_allclose(pictures.arrival(points), [1.0, 1.5, 2.0, 2.5, 3.0, -np.inf])


@pytest.mark.slow
def test_frames_grow_from_the_start_to_the_whole_tree_and_stay_small(both):
    part = tree_stage.STAGE.of(both)
    figures = (
        pictures.tree_map(part.table, styles(both), "Maximum angle", "°"),
        pictures.tree_simplex(part.table, part.bases, part.data, styles(both)),
    )
    for figure in figures:
        assert 2 <= len(figure.frames) <= pictures.MOST_FRAMES
        counts = np.array([[len(trace.x) for trace in frame.data] for frame in figure.frames])
        assert (np.diff(counts, axis=0) >= 0).all()
        assert list(counts[-1]) == [len(trace.x) for trace in figure.data[: counts.shape[1]]]
        assert "<img" not in json.dumps(figure.to_plotly_json(), default=str)
        assert figure.layout.yaxis.scaleanchor == "x"
    edges, nodes = figures[0].data[:2]
    assert len(edges.x) == 3 * (part.nodes - 1) and len(nodes.x) == part.nodes
    parent = part.table["parent_row"].to_numpy()
    first = int(np.flatnonzero(parent >= 0)[0])
    expected = part.table[["x", "y"]].to_numpy()[[parent[first], first]]
    np.testing.assert_allclose(np.stack([edges.x, edges.y], axis=1)[:2], expected, rtol=1e-6)
    assert np.isnan(edges.x[2])


def test_known_factorizations_out_of_sight_are_named(both):
    part = tree_stage.STAGE.of(both)
    figure = pictures.tree_map(part.table, styles(both), "Maximum angle", "°")
    low, high = figure.layout.xaxis.range
    known = part.table[part.table["run"] == ""]
    outside = known.loc[~known["x"].between(low, high), "name"]
    assert len(outside) == 1
    (note,) = figure.layout.annotations
    assert f"known: {outside.iloc[0]}, far outside at" in note.text
