"""Resampled data: how far components turn with the counts, with the samples and with neither."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import Dataset, RunSpec
from bnmf_core.analysis import resampling
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.resampling import COUNTS, SAMPLES
from bnmf_core.core.errors import Cancelled
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import MODELS
from bnmf_core.store import files

D, N, R = 24, 30, 3


def factors(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Components with features and samples of their own, so that there is one factorization."""
    rng = np.random.default_rng(seed)
    A = 0.2 * rng.gamma(0.5, 1.0, (D, R)) / D
    W = rng.gamma(0.5, 1.0, (R, N))
    for r in range(R):
        A[4 * r : 4 * r + 4] *= np.arange(R) == r
        A[4 * r : 4 * r + 4, r] += 0.2
        W[:, 5 * r : 5 * r + 5] *= (np.arange(R) == r)[:, None]
        W[r, 5 * r : 5 * r + 5] += 1.0
    return A, W


def counted(scale: float, seed: int = 0) -> Dataset:
    """Poisson counts around planted factors, about ``scale`` in a sample."""
    A, W = factors(seed)
    counts = np.random.default_rng(seed + 100).poisson(scale * A @ W)
    return Dataset.from_array(counts.astype(float), name="planted")


def medians(data: Dataset, way, rank: int = R, resamples: int = 15) -> np.ndarray:
    """(K, R) angles of resamples that start at the best factorization under the Poisson model."""
    model = MODELS["poisson"]
    problem = Problem.without_model(data, rank, loss=model.loss(model.Settings()))
    A, W, _ = resampling.solved(problem, *factors(0))
    rngs = np.random.default_rng(1).spawn(resamples)
    found = [resampling.turned(problem, way, A, W, rng) for rng in rngs]
    assert all(converged for _, converged, _ in found)
    return np.array([angles for angles, *_ in found])


def drawn_again(data: Dataset, model: str = "poisson") -> resampling.CountsAgain:
    chosen = MODELS[model]
    return resampling.CountsAgain(Problem.prepare(data, chosen, chosen.Settings(), R))


@pytest.fixture
def compared(runner):
    """Runs of data, opened; nothing is analysed."""

    def run(data, model="poisson", algorithm="random_restarts", **spec):
        run_ids = runner.start(data, [RunSpec(algorithm, R, model, particles=2, **spec)])
        runner.wait(run_ids, 120)
        return open_comparison(runner.store, run_ids)

    return run


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """Ten resamples of each kind, from the first factorization."""
    monkeypatch.setattr(resampling, "MOST", 10)
    monkeypatch.setattr(resampling, "best", lambda comparison: 0)


def made(comparison, folder, stopped=lambda: False):
    """The stage's result, in a folder of its own."""
    folder.mkdir(exist_ok=True)
    resampling.compute(comparison, folder, lambda part: None, stopped)
    return resampling.read(comparison, folder)


def test_a_tenth_of_the_counts_turns_components_about_root_ten_times_as_far():
    many, few = (counted(scale) for scale in (1e6, 1e5))
    of_many, of_few = (np.median(medians(data, drawn_again(data)), axis=0) for data in (many, few))
    assert of_many.max() < 0.5
    ratios = of_few / of_many
    assert np.sqrt(10) * 0.6 < ratios.min() and ratios.max() < np.sqrt(10) * 1.6


def test_exact_data_turn_nothing_when_samples_are_left_out():
    A, W = factors(0)
    data = Dataset.from_array(1e4 * A @ W, name="exact")
    assert medians(data, resampling.samples_left_out).max() < 0.02


def test_a_component_of_one_sample_is_lost_when_that_sample_is_left_out():
    A, W = factors(0)
    W[2, :] = 0.0
    W[2, 7] = 1.0
    way, noise = resampling.samples_left_out, np.random.default_rng(0)
    for X in (1e5 * A @ W, noise.poisson(1e5 * A @ W).astype(float)):
        data, model = Dataset.from_array(X), MODELS["poisson"]
        problem = Problem.without_model(data, R, loss=model.loss(model.Settings()))
        B, V, _ = resampling.solved(problem, A, 1e5 * W)
        stays = [7 in way(data, rng)[1] for rng in np.random.default_rng(1).spawn(20)]
        found = [
            resampling.turned(problem, way, B, V, rng) for rng in np.random.default_rng(1).spawn(20)
        ]
        angles = np.array([turned for turned, *_ in found])
        assert 0 < sum(stays) < 20
        assert angles[stays].max() < 2 and angles[:, :2].max() < 2
        assert angles[~np.array(stays), 2].min() > 20


def test_a_component_that_a_solver_loses_is_looked_for_elsewhere(monkeypatch):
    """A point where both its factors are 0 is stationary, though the data still have it."""
    A, W = factors(0)
    data = counted(1e5)
    model = MODELS["poisson"]
    problem = Problem.without_model(data, R, loss=model.loss(model.Settings()))
    solved, starts = resampling.solved, []

    def loses_it(problem, A, W, stopped):
        starts.append(A)
        if len(starts) == 1:
            return A * [1.0, 1.0, 0.0], W * np.array([[1.0], [1.0], [0.0]]), True
        return solved(problem, A, W, stopped)

    monkeypatch.setattr(resampling, "solved", loses_it)
    rng = np.random.default_rng(4)
    angles, converged, _ = resampling.turned(problem, drawn_again(data), A, 1e5 * W, rng)
    assert len(starts) == 1 + resampling.TRIES and converged
    assert angles.max() < 2


@pytest.mark.parametrize("left_out", [False, True])
def test_groups_are_of_all_samples_by_the_components_of_the_start(left_out):
    A, W = factors(0)
    data = counted(1e5)
    model = MODELS["poisson"]
    problem = Problem.without_model(data, R, loss=model.loss(model.Settings()))
    way = resampling.samples_left_out if left_out else drawn_again(data)
    swapped = [2, 0, 1]
    for order in ([0, 1, 2], swapped):
        rng = np.random.default_rng(4)
        groups = resampling.turned(problem, way, A[:, order], 1e5 * W[order], rng)[2]
        assert groups.shape == (N,)
        # Samples with a component of their own belong to it, whether they were left out or not.
        for n in range(15):
            assert order[groups[n]] == n // 5


@pytest.mark.parametrize("model", ["poisson", "negative_binomial"])
def test_counts_are_drawn_around_those_that_were_seen_and_gaps_stay_gaps(model):
    X = counted(1e4).X.copy()
    X[3, 4] = X[10, 20] = np.nan
    data = Dataset.from_array(X)
    again, chosen = drawn_again(data, model)(data, np.random.default_rng(0))
    np.testing.assert_array_equal(again.mask, data.mask)
    assert again.whole_numbers and not again.X[~data.mask].any() and chosen.size == N
    assert not again.X[data.X == 0].any() and again.X.sum() != data.X.sum()
    drawn = [drawn_again(data)(data, rng)[0].X for rng in np.random.default_rng(1).spawn(200)]
    large = data.X > 50
    np.testing.assert_allclose(np.var(drawn, axis=0)[large].mean(), data.X[large].mean(), rtol=0.1)
    fewer, chosen = resampling.samples_left_out(data, np.random.default_rng(0))
    assert fewer.N == chosen.size == 24
    np.testing.assert_array_equal(fewer.mask, data.mask[:, chosen])


def test_sparse_counts_are_drawn_where_they_are():
    X = sparse.csc_array(counted(300).X)
    data = Dataset.from_array(X)
    again, _ = drawn_again(data)(data, np.random.default_rng(0))
    assert again.is_sparse and not again.dense()[data.dense() == 0].any()
    assert again.X.nnz < data.X.nnz and (data.dense() == X.toarray()).all()


def test_the_stage_stores_the_same_bits_again_also_after_it_was_stopped(compared, tmp_path):
    comparison = compared(counted(1e4))
    first = made(comparison, tmp_path / "first")
    assert first.row == 0 and first.kinds[COUNTS].resamples == first.kinds[SAMPLES].resamples == 10
    for after in (5, 30):  # before and after the first kind is stored
        asked, folder = iter(range(10**9)), tmp_path / f"stopped {after}"
        with pytest.raises(Cancelled):
            made(comparison, folder, lambda asked=asked, after=after: next(asked) > after)
        assert not (folder / "resampling.json").exists()
        again = made(comparison, folder)
        assert again.kinds == first.kinds
        for kind in (COUNTS, SAMPLES):
            np.testing.assert_array_equal(first.angles[kind], again.angles[kind])
            np.testing.assert_array_equal(first.groups[kind], again.groups[kind])
            assert first.angles[kind].shape == (10, R)
            path = tmp_path / "first" / f"{kind}.npz"
            stored = files.read_arrays(path)
            assert first.groups[kind].shape == (stored["converged"].sum(), N)
            files.write_arrays(path, stored | {"converged": np.arange(10) == 4})
            (left,) = resampling.read(comparison, path.parent).groups[kind]
            np.testing.assert_array_equal(left, stored["groups"][4])
            files.write_arrays(path, stored)
    assert np.median(first.angles[COUNTS]) < 10


def test_what_cannot_be_resampled_says_why(compared, tmp_path, monkeypatch):
    data = counted(1e4)
    gaussian = made(compared(data, "gaussian"), tmp_path / "gaussian")
    assert "model of counts" in gaussian.kinds[COUNTS].reason
    assert gaussian.kinds[SAMPLES].reason == "" and list(gaussian.angles) == [SAMPLES]
    halves = Dataset.from_array(np.asarray(data.X) + 0.5)
    assert (
        "not whole" in made(compared(halves, "gaussian"), tmp_path / "halves").kinds[COUNTS].reason
    )
    few = Dataset.from_array(np.asarray(data.X)[:, [0, 5, 10]])
    assert "too few samples" in made(compared(few), tmp_path / "few").kinds[SAMPLES].reason
    draws = compared(data, "gaussian", "gibbs", settings={"warm_up": 5, "thinning": 1})
    alone = made(draws, tmp_path / "draws")
    assert alone.row == -1 and "none to start from" in alone.kinds[SAMPLES].reason
    monkeypatch.setattr(resampling, "BUDGET", 0.0)
    slow = made(compared(data), tmp_path / "slow")
    assert "too long" in slow.kinds[COUNTS].reason and not slow.angles


def test_tiles_of_yes_and_no_are_skipped(runner, tmp_path):
    rng = np.random.default_rng(0)
    data = Dataset.from_array((rng.random((12, 20)) < 0.4).astype(float))
    run_ids = runner.start(data, [RunSpec("box_restarts", 2, "boolean", particles=2)])
    runner.wait(run_ids, 60)
    found = made(open_comparison(runner.store, run_ids), tmp_path / "tiles")
    assert all("Tiles" in one.reason for one in found.kinds.values()) and not found.angles
