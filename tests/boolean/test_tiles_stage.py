"""What is stored of tiles and cells: the numbers by other ways, and where there are none."""

import dataclasses
import itertools
from contextlib import closing

import numpy as np
import pytest

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore, boolean_tiles, laurberg
from bnmf_core.boolean.analysis import tiles
from bnmf_core.boolean.thresholds import PAIR_GRID, errors_at
from bnmf_core.numerics.matrix import boolean_product

pytestmark = pytest.mark.slow

SPEC = RunSpec("box_gibbs", rank=3, particles=40, model="boolean", settings={"warm_up": 60})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    made = boolean_tiles(30, 40, 3, density=0.3, shuffle=True, rng=rng)
    mask = rng.random(made.X.shape) > 0.02
    return dataclasses.replace(made, X=np.where(mask, made.X, 0.0), mask=mask)


@pytest.fixture(scope="module")
def found(tmp_path_factory, data):
    with closing(JobRunner(RunStore(tmp_path_factory.mktemp("found")))) as runner:
        run_ids = runner.start(data, [SPEC, dataclasses.replace(SPEC, seed=1)])
        return runner.wait_analysis(run_ids, "tiles")


def test_the_tiles_are_the_ones_that_the_table_is_made_of(found, data):
    told = tiles.STAGE.of(found)
    assert list(told.run_ids) == found.run_ids and told.problem == ""
    run = told.of_run(found.run_ids[0])
    clean = boolean_product(data.truth[0].A, data.truth[0].W)
    np.testing.assert_array_equal(boolean_product(run.A > 0.5, run.W > 0.5), clean)
    np.testing.assert_array_equal(run.on > 0.5, clean)
    assert (run.tiles["present"] > 0.9).all() and (run.tiles["noise"] < -5).all()
    assert (run.tiles[found.run_ids[1]] > 0.9).all()
    assert run.tiles["cells"].tolist() == (run.tiles["rows"] * run.tiles["columns"]).tolist()


def test_means_deviations_and_cells_are_those_of_the_draws(found, data):
    run = tiles.STAGE.of(found).of_run(found.run_ids[0])
    rows = found.rows_by_run()[0]
    members = found.members.iloc[rows]
    height = members.groupby("chain")["log_joint"].mean()
    inside = (members["chain"] == height.idxmax()).to_numpy()
    assert len(height) == 4 and inside.sum() == 10
    all_A, all_W = found.factors(rows)
    A, W = all_A[inside], all_W[inside]
    orders = [list(order) for order in itertools.permutations(range(3))]
    nearest = [min(orders, key=lambda o, F=F: np.abs(F[:, o] - run.A).sum()) for F in A]
    aligned = np.array([F[:, order] for F, order in zip(A, nearest, strict=True)])
    np.testing.assert_allclose(run.A, aligned.mean(0), atol=1e-12)
    spread = np.array([F[order] for F, order in zip(W, nearest, strict=True)]).std(0)
    np.testing.assert_allclose(run.sd_W, spread, atol=1e-12)
    q = 1 - np.prod(1 - all_A[:, :, None, :] * all_W.transpose(0, 2, 1)[:, None], axis=3)
    np.testing.assert_allclose(run.mean, q.mean(0), atol=1e-6)
    np.testing.assert_allclose(run.uncertainty, q.var(0), atol=1e-6)
    np.testing.assert_allclose(run.ambiguity, (q * (1 - q)).mean(0), atol=1e-6)


def test_tiles_have_the_numbers_that_their_components_have_on_the_page_parts(runner, data):
    restarts = RunSpec("box_restarts", 3, "boolean", 6)
    comparison = runner.wait_analysis(runner.start(data, [restarts, SPEC]), "tiles")
    for run_id, rows in zip(comparison.run_ids, comparison.rows_by_run(), strict=True):
        run = tiles.STAGE.of(comparison).of_run(run_id)
        members = comparison.members.iloc[rows]
        if comparison.algorithm_of[run_id] == "box_gibbs":
            members = members[
                members["chain"] == members.groupby("chain")["log_joint"].mean().idxmax()
            ]
        A, W = comparison.aligned_factors([members["log_joint"].idxmax()])
        assert (np.diff(A[0].sum(axis=0) * W[0].sum(axis=1)) <= 0).all()
        away = np.abs(A[0][:, :, None] - run.A[:, None]).sum(axis=0)
        assert away.argmin(axis=0).tolist() == [0, 1, 2]
        if comparison.algorithm_of[run_id] == "box_restarts":
            np.testing.assert_array_equal(run.A, A[0])
            np.testing.assert_array_equal(run.W, W[0])


def test_gradients_on_the_way_are_those_of_the_chain_in_the_order_of_its_tiles(runner, data):
    settings = {"chains": 2, "warm_up": 60, "thinning": 2, "calibration": 60}
    settings |= {"noise_scale": "at point"}
    spec = RunSpec("iasg", 3, "boolean", 20, settings=settings, model_settings={"sigma": 0.3})
    comparison = runner.wait_analysis(runner.start(data, [spec, SPEC]), "tiles")
    climb, exact = (tiles.STAGE.of(comparison).of_run(one) for one in comparison.run_ids)
    assert np.isnan(exact.gradient_A).all() and np.isnan(exact.gradient_W).all()
    particles = comparison.particles[0]
    chain = np.argmax([particles.log_joint[particles.chain == c].mean() for c in range(2)])
    told = {name: values[chain] for name, values in particles.totals.items()}
    order = [int(np.abs(told["mean_A"] - column[:, None]).sum(0).argmin()) for column in climb.A.T]
    assert sorted(order) == [0, 1, 2]
    np.testing.assert_array_equal(climb.gradient_A, told["gradient_mean_A"][:, order])
    np.testing.assert_array_equal(climb.gradient_W, told["gradient_mean_W"][order])


def test_curves_count_the_cells_that_are_seen_and_those_of_the_table_without_noise(found, data):
    run = tiles.STAGE.of(found).of_run(found.run_ids[0])
    product = boolean_product(run.A > 0.5, run.W > 0.5)
    X = data.X > 0
    assert errors_at(*run.curves["seen"], 0.5) == (product != X)[data.mask].sum()
    clean = boolean_product(data.truth[0].A, data.truth[0].W)
    assert errors_at(*run.curves["truth"], 0.5) == (product != clean).sum()
    half = list(PAIR_GRID).index(0.5)
    assert run.pairs["truth"][half, half] == (product != clean).sum()


def test_what_is_no_table_or_has_no_factors_between_0_and_1_is_said(runner, data):
    restarts = RunSpec("random_restarts", rank=3, particles=3)
    for dataset, words in ((laurberg("two"), "not a binary matrix"), (data, "between 0 and 1")):
        found = runner.wait_analysis(runner.start(dataset, [restarts]), "tiles")
        assert words in tiles.STAGE.of(found).problem


def test_a_tile_cut_out_of_others_has_no_cells_of_its_own():
    """Two overlapping tiles, a copy of the larger one, and the place where both overlap."""
    A, W = np.zeros((30, 4)), np.zeros((4, 40))
    for tile, (rows, columns) in enumerate(
        [(slice(0, 12), slice(0, 15)), (slice(8, 18), slice(10, 22))]
    ):
        A[rows, tile], W[tile, columns] = 1.0, 1.0
    A[:, 2], W[2] = A[:, 0], W[0]
    A[8:12, 3], W[3, 10:15] = 1.0, 1.0
    X = ((A @ W) > 0).astype(float)
    X[25, 35] = 1.0
    table = tiles._table(A, W, A[None], W[None], np.ones(1), X)
    assert table["own"].tolist() == [180, 100, 0, 0]
    assert (table["noise"][:2] < -20).all() and (table["noise"][2:] == 0).all()


@pytest.mark.parametrize(
    ("others", "words"),
    [([2.0], "1 cell is neither 0 nor 1, 2 for one"), ([2.0, 3.0], "2 cells are"), ([], "")],
)
def test_few_other_values_are_told(others, words):
    X = np.ones((20, 20))
    X[:5] = 0.0
    X.flat[390 : 390 + len(others)] = others
    assert tiles.nearly(Dataset.from_array(X)).startswith(words)
    assert words or tiles.nearly(Dataset.from_array(X)) == ""
    assert tiles.nearly(Dataset.from_array(np.arange(400.0).reshape(20, 20))) == ""
