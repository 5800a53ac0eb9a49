"""Planted ranks are found, the evidence is that of importance sampling, and what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import log_ndtr, logsumexp

from bnmf_core import Dataset, low_rank, rank_study
from bnmf_core.core.errors import Cancelled, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.evidence.annealing import Annealed, never
from bnmf_core.evidence.noise import most_probable_noise
from bnmf_core.evidence.parts import Work
from bnmf_core.evidence.rank_evidence import missed, of_all_reached, same_order
from bnmf_core.evidence.rank_study import so_far
from bnmf_core.figures.ranks import rank_criteria
from bnmf_core.findings.ranks import OPEN, recommend
from bnmf_core.likelihoods import gaussian

from .test_mode_evidence import evidence_by_importance

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def planted():
    """Rank 2 in 12×20, noise of σ = 0.1, studied at ranks 1 to 4; and the progress told."""
    data = low_rank(12, 20, rank=2, noise=0.1, rng=np.random.default_rng(1))
    told = []
    study = rank_study(
        data,
        [4, 1, 2, 3, 2],
        sigma=0.1,
        restarts=6,
        rng=np.random.default_rng(0),
        on_progress=told.append,
    )
    return study, told


@pytest.mark.slow
def test_a_planted_rank_is_found(planted):
    study, _ = planted
    table = study.table.set_index("rank")
    assert table.index.tolist() == [1, 2, 3, 4]
    evidence = study.criteria["evidence"]
    assert (evidence.chosen, evidence.runners_up, evidence.settles) == (2, (), True)
    assert table["hidden_error"].idxmin() == study.criteria["hidden"].chosen == 2
    # The fit alone says nothing.
    assert (np.diff(table["fit"]) < 0).all()
    assert "0.1 at every rank, as given" in study.noise


def test_without_the_evidence_the_rest_is_the_same(planted):
    told, data = [], low_rank(12, 20, rank=2, noise=0.1, rng=np.random.default_rng(1))
    with_evidence = planted[0]
    study = rank_study(
        data,
        [1, 2, 3, 4],
        evidence=False,
        restarts=6,
        rng=np.random.default_rng(0),
        on_progress=told.append,
    )
    same = ["rank", "hidden_error", "hidden_error_spread", "stability", "modes", "fit"]
    pd.testing.assert_frame_equal(study.table[same], with_evidence.table[same])
    assert study.criteria["hidden"] == with_evidence.criteria["hidden"]
    assert "log_evidence" not in study.known and "sigma" not in study.known
    found = recommend(study)
    assert (found.rank, found.grade) == (2, OPEN) and "left out to save time" in found.reason
    assert (np.diff(told) >= 0).all() and told[-1] == 1.0


def test_progress_never_falls_and_ends_at_one(planted):
    told = planted[1]
    assert (np.diff(told) >= 0).all()
    assert 0 <= told[0] < told[-1] == 1.0


def test_every_rank_expects_the_same_mean(planted):
    """Of AW: the sum of R products of two Exp(λ), R/λ²."""
    table = planted[0].table
    data = low_rank(12, 20, rank=2, noise=0.1, rng=np.random.default_rng(1))
    np.testing.assert_allclose(table["rank"] / table["rate"] ** 2, data.X.mean())


def test_the_evidence_of_a_rank_is_that_of_importance_sampling():
    """Rank 2 of a 3×3 matrix: without log 2! it would be 0.69 nats too small."""
    data = Dataset.from_array(np.random.default_rng(4).random((3, 3)) + 0.2)
    settings = gaussian.Settings(sigma=0.5, rate=1.0)
    exact, error = evidence_by_importance(data, 2, settings, 1_000_000, np.random.default_rng(0))
    study = rank_study(data, [2], sigma=0.5, rate=1.0, rng=np.random.default_rng(1))
    row = study.table.iloc[0]
    allowed = 3 * np.hypot(row["error"], error)
    assert abs(row["log_evidence"] - exact) < allowed
    assert allowed < 0.6
    # Half of three rows is too little to be factorized.
    assert study.criteria["hidden"].chosen is None


def exact_log_evidence(X, sigma, A):
    """log p(X) at rank 1, λ = 1: the weights integrated out, the basis averaged over prior draws.

    With h = ‖a‖²/σ² and c = a·x/σ² − λ, ∫ exp(−‖x − aw‖²/2σ² − λw) dw over w ≥ 0 is
    exp(−‖x‖²/2σ² + c²/2h) √(2π/h) Φ(c/√h). A (draws, D).
    """
    h = (A**2).sum(axis=1)[:, None] / sigma**2
    c = A @ X / sigma**2 - 1.0
    of_columns = c**2 / (2 * h) + 0.5 * np.log(2 * np.pi / h) + log_ndtr(c / np.sqrt(h))
    values = (of_columns - (X**2).sum(axis=0) / (2 * sigma**2)).sum(axis=1)
    normaliser = -X.size * np.log(sigma) - 0.5 * X.size * np.log(2 * np.pi)
    return logsumexp(values) - np.log(A.shape[0]) + normaliser


def test_the_free_noise_level_is_where_the_evidence_is_largest():
    rng = np.random.default_rng(0)
    clean = np.outer([1.0, 0.6, 0.3, 0.8], [0.9, 0.4, 1.1, 0.2, 0.7])
    data = Dataset.from_array(np.maximum(clean + 0.15 * rng.standard_normal(clean.shape), 0.0))
    problem = Problem(data, gaussian.MODEL, gaussian.Settings(rate=1.0), 1)
    A, W = np.ones((4, 1)), np.full((1, 5), 0.5)
    squared = float(((data.X - A @ W) ** 2).sum())
    sigma = most_probable_noise(problem, A, W, squared, np.random.default_rng(1))
    draws = rng.exponential(1.0, (300_000, 4))
    low, middle, high = (
        exact_log_evidence(data.X, sigma * factor, draws) for factor in np.exp([-0.2, 0.0, 0.2])
    )
    # The top of the parabola through the three, in units of log σ.
    top = 0.1 * (high - low) / (2 * middle - low - high)
    assert middle > max(low, high)
    assert abs(top) < 0.05


def test_two_draws_have_the_same_order_as_often_as_orders_are_shared():
    """Three orders, all as likely: one third; and no less than one pair where none is alike."""
    rng = np.random.default_rng(2)
    reference = np.eye(6)[:, :3]
    orders = np.array([[0, 1, 2], [1, 0, 2], [2, 1, 0]])

    def population(chosen):
        A = reference[:, orders[chosen]].transpose(1, 0, 2)
        weights = rng.random(len(chosen))
        return Annealed(0.0, 0.0, np.array([0.0, 1.0]), A, A, weights / weights.sum())

    made = [population(rng.integers(3, size=2000)) for _ in range(2)]
    assert same_order(made, reference) == pytest.approx([1 / 3], abs=0.03)
    apart = [population(np.full(4, i)) for i in range(2)]
    np.testing.assert_allclose(same_order(apart, reference), 1 / 16)


@pytest.mark.slow
def test_components_that_nobody_needs_leave_an_evidence():
    """So much noise that all four components change places, and reach their 24 orders alike."""
    data = Dataset.from_array(np.random.default_rng(4).random((6, 6)) + 0.2)
    settings = gaussian.Settings(sigma=1.5, rate=1.0)
    exact, error = evidence_by_importance(data, 4, settings, 1_000_000, np.random.default_rng(0))
    rng = np.random.default_rng(1)
    study = rank_study(data, [4], sigma=1.5, rate=1.0, rng=rng).table.iloc[0]
    problem = Problem(data, gaussian.MODEL, settings, 4)
    A, W = (rng.random(shape) for shape in ((6, 4), (4, 6)))
    reached = of_all_reached(problem, A, W, Work(rng, None, never, None))
    for value, own in (
        (study["log_evidence"], study["error"]),
        (reached.log_evidence, reached.error),
    ):
        assert abs(value - exact) < 3 * np.hypot(own, error)
        assert np.hypot(own, error) < 0.5


@pytest.mark.parametrize(
    ("ranks", "noise"),
    [
        ((4, 5, 6), {"sigma": 0.1}),
        pytest.param(range(3, 9), {"sigma": 0.1}, marks=pytest.mark.long),
        pytest.param(range(3, 9), {}, marks=pytest.mark.long),
        pytest.param(range(3, 9), {"noise": "free"}, marks=pytest.mark.long),
    ],
)
def test_a_planted_rank_of_five_is_found(ranks, noise):
    """60×200, with σ known, from the residual of the highest rank, and free at each rank."""
    data = low_rank(60, 200, rank=5, noise=0.1, rng=np.random.default_rng(0))
    study = rank_study(data, ranks, restarts=5, rng=np.random.default_rng(0), **noise)
    table = study.table.set_index("rank")
    for key in ("evidence", "hidden"):
        assert study.criteria[key].chosen == 5
    evidence = study.criteria["evidence"]
    assert evidence.settles and evidence.runners_up == ()
    assert table.loc[5, "sigma"] == pytest.approx(0.1, rel=0.1)


def test_it_stops_when_told():
    data = low_rank(12, 20, rank=2, noise=0.1, rng=np.random.default_rng(1))
    for calls in (0, 3):
        left = iter(range(calls))
        with pytest.raises(Cancelled):
            rank_study(
                data,
                [1, 2],
                sigma=0.1,
                rng=np.random.default_rng(0),
                stopped=lambda left=left: next(left, None) is None,
            )


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["same", "free"])
def test_a_study_that_was_stopped_ends_as_it_would_have(tmp_path, monkeypatch, noise):
    data = low_rank(12, 20, rank=2, noise=0.1, rng=np.random.default_rng(1))

    def study(**where):
        rng = np.random.default_rng(0)
        return rank_study(data, [1, 2, 3], noise=noise, restarts=4, rng=rng, **where)

    whole = study()
    told = [0.0]
    with pytest.raises(Cancelled):
        study(keep=tmp_path, on_progress=told.append, stopped=lambda: told[-1] > 0.7)
    kept = {path.name for path in tmp_path.iterdir()}
    assert {"restarts-1.npz", "hidden-3.npz", "noise.json"} < kept
    assert "rank-3.json" not in kept
    partial = so_far(data, [1, 2, 3], tmp_path)
    for column in ("hidden_error", "hidden_error_spread", "stability", "modes"):
        assert partial.table[column].tolist() == whole.table[column].tolist()
    assert np.isnan(partial.table["log_evidence"].iloc[2])
    assert rank_criteria(partial.table, partial.criteria).data
    (tmp_path / "hidden-2.npz").write_bytes(b"torn")
    monkeypatch.setattr("bnmf_core.evidence.restarts.solve_block", None)
    continued = study(keep=tmp_path)
    pd.testing.assert_frame_equal(continued.table, whole.table)
    assert continued.criteria == whole.criteria
    for rank, (A, W) in whole.best.items():
        np.testing.assert_array_equal(continued.best[rank][0], A)
        assert np.linalg.norm(data.X - A @ W) / np.linalg.norm(data.X) == pytest.approx(
            whole.table.set_index("rank").loc[rank, "fit"]
        )


@pytest.mark.parametrize(
    ("ranks", "settings", "words"),
    [
        ([], {}, "No rank was given; give some between 1 and 6"),
        ([0, 2], {}, "Rank 0 was among those to try"),
        ([2, 7], {}, "6×8, so ranks must be whole numbers between 1 and 6"),
        ([2.5], {}, "Rank 2.5 was among"),
        ([2], {"noise": "none"}, "choose one of free, same"),
        ([2], {"noise": "free", "sigma": 0.1}, "leave σ open"),
        ([2], {"sigma": 0.0}, "σ was 0; a finite number above 0"),
        ([2], {"rate": -1.0}, "λ was -1; a finite number above 0"),
        ([2], {"restarts": 1}, "at least 2 restarts"),
        ([2, 6], {"noise": "same"}, "no residual is left to tell the noise by"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_sentence(ranks, settings, words):
    data = low_rank(6, 8, rank=2, rng=np.random.default_rng(0))
    with pytest.raises(SettingsError, match=words):
        rank_study(data, ranks, rng=np.random.default_rng(0), **settings)


@pytest.mark.parametrize("whole", [False, True])
def test_counts_are_warned_of(whole):
    rng = np.random.default_rng(0)
    X = rng.poisson(low_rank(6, 8, rank=1, rng=rng).X * 10).astype(float) + 0.5 * (not whole)
    study = rank_study(Dataset.from_array(X), [1, 2], rng=rng, restarts=2, most_modes=1)
    assert ("X holds counts" in study.noise) == whole


def test_an_error_counts_the_modes_that_other_restarts_would_have_missed():
    """20 restarts miss a mode that one of them found with probability (1 − 1/20)²⁰ = 0.36."""
    values, often = np.array([0.0, -8.0]), np.arange(1, 20)
    assert missed(values, [often, np.array([0])], 20) < 1e-3
    rare = missed(values, [np.array([0]), often], 20)
    assert rare == pytest.approx(8.0 * 0.95**10, rel=0.1)
    assert missed(values[:1], [np.arange(20)], 20) == 0.0
    emptied = [np.arange(1, 10), np.arange(10, 20), np.array([0])]
    assert missed(np.array([0.0, -np.inf, -8.0]), emptied, 20) < 0.1
