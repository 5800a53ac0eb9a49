"""Explorations by hand: kept in pieces, gone on with, found again, and gone with their run."""

from contextlib import closing
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.analysis import posterior
from bnmf_core.analysis.applied import AppliedExploration
from bnmf_core.analysis.by_hand import (
    DisplacementExploration,
    KnownExploration,
    LockedExploration,
    posterior_shares,
)
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.unused import find_unused
from bnmf_core.compare.new_samples import apply_components
from bnmf_core.core.errors import Cancelled, DataError, SettingsError


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Restarts and Gibbs draws of the matrix with two solutions, with a little noise."""
    store = RunStore(tmp_path_factory.mktemp("store"))
    data = laurberg("two", noise=0.01, rng=np.random.default_rng(0))
    specs = [
        RunSpec("random_restarts", rank=3, particles=6),
        RunSpec("gibbs", rank=3, particles=30, settings={"warm_up": 20}),
    ]
    with closing(JobRunner(store)) as runner:
        runner.wait_analysis(runner.start(data, specs), "structure")
    return store


@pytest.fixture
def comparison(store):
    return open_comparison(store, [run.id for run in store.runs()])


def make(work, stop_after=None):
    told = []

    def stopped():
        return stop_after is not None and len(work.stored()) >= stop_after

    work.make(lambda part, _: told.append(part), stopped)
    return told


def test_a_damaged_piece_is_said_left_out_and_made_again_as_it_was(comparison):
    work = LockedExploration(comparison, 0, (1,), starts=11, seed=2)
    make(work)
    before, pieces = work.found(), work.stored()
    assert work.damaged == ""
    content = bytearray(pieces[1].read_bytes())
    content[len(content) // 2] ^= 1
    pieces[1].write_bytes(content)
    assert not work.ready() and len(work.stored()) == len(pieces) - 1
    assert work.damaged.startswith("1 part of it is damaged on the disk and left out")
    assert len(work.found().A) < len(before.A)
    make(work)
    assert work.ready() and work.damaged == ""
    for name, values in vars(before).items():
        np.testing.assert_array_equal(getattr(work.found(), name), values)


def test_pieces_that_were_made_before_it_was_cancelled_stay_and_give_the_same_in_the_end(
    comparison,
):
    whole = LockedExploration(comparison, 0, (1,), starts=11, seed=1)
    told = make(whole)
    assert whole.ready() and told == sorted(told) and told[0] == 0.0
    before = whole.found()
    files = {path: path.stat().st_mtime_ns for path in whole.stored()}
    for path in whole.stored()[1:]:
        path.unlink()
    again = LockedExploration(comparison, 0, (1,), starts=11, seed=1)
    with pytest.raises(Cancelled):
        make(again, stop_after=2)
    assert len(again.stored()) == 2 and not again.ready()
    first = again.stored()[0]
    assert first.stat().st_mtime_ns == files[first]
    make(again)
    assert np.array_equal(again.found().A, before.A)
    assert np.array_equal(again.found().error, before.error)
    assert before.A.shape == (12, 6, 3)


def test_what_is_asked_decides_the_key_and_other_runs_beside_do_not(store, comparison):
    one = LockedExploration(comparison, 2, (1,))
    assert one.key != LockedExploration(comparison, 2, (1, 2)).key
    assert one.key != LockedExploration(comparison, 3, (1,)).key
    assert one.key != DisplacementExploration(comparison, 2, component=1).key
    run_id = comparison.members["run"].iloc[2]
    alone = open_comparison(store, [run_id])
    assert LockedExploration(alone, 2, (1,)).folder == one.folder


def test_the_factorization_itself_comes_first_and_keeps_its_error(comparison):
    work = LockedExploration(comparison, 0, (0,), starts=3)
    make(work)
    A, W = work.factors
    X = comparison.dataset.X
    error = np.linalg.norm(X - A @ W) / np.linalg.norm(X)
    assert work.found().error[0] == pytest.approx(error, rel=1e-3)
    assert np.array_equal(work.found().A[:, :, 0], np.repeat(A[None, :, 0], 4, axis=0))


def test_bands_are_of_the_largest_entries_and_found_again(comparison):
    work = DisplacementExploration(comparison, 0, component=1, rise=0.01, most=5)
    make(work)
    bands, error, allowed = work.found()
    column = work.factors[0][:, 1]
    assert bands.entries.tolist() == np.argsort(-column, kind="stable")[:5].tolist()
    assert allowed == pytest.approx(1.01 * error)
    assert (bands.lower <= bands.value).all() and (bands.value <= bands.upper).all()


@pytest.mark.parametrize("settled", [True, False])
def test_ranges_are_quantiles_of_settled_draws_in_the_order_of_the_row(
    comparison, monkeypatch, settled
):
    row = int(np.flatnonzero(comparison.optima)[0])
    base = comparison.aligned([row])[0]
    A = base * np.random.default_rng(0).uniform(0.9, 1.1, (41, *base.shape))
    mode = posterior.ModeDraws(row, 1.0, 1.0, 1.0, settled, "", 1.0, 400.0, 0.0)
    found = posterior.Posterior("", (mode,))
    vars(found)["draws"] = [{"A": A[:, :, ::-1]}]  # in another order
    monkeypatch.setattr(posterior, "STAGE", SimpleNamespace(perhaps=lambda _: found))
    shares = posterior_shares(comparison, row, np.zeros(len(comparison.members), int), 2)
    assert (shares is not None) == settled
    if settled:
        of_draws = np.sort(A[:, :, 2] / A[:, :, 2].sum(axis=1, keepdims=True), axis=0)
        np.testing.assert_allclose(shares, of_draws[[2, 38]].T)


def test_what_is_kept_is_in_use_as_long_as_its_run_is_there(store, comparison):
    work = LockedExploration(comparison, 1, (2,), starts=1)
    make(work)
    inside = [
        one for one in find_unused(store) for path in one.folders if path in work.folder.parents
    ]
    assert inside == []


def test_a_component_that_is_not_there_cannot_be_held(comparison):
    with pytest.raises(SettingsError, match="no component 9"):
        LockedExploration(comparison, 0, (8,)).mask  # noqa: B018
    with pytest.raises(SettingsError, match="leave at least one"):
        LockedExploration(comparison, 0, (0, 1, 2)).mask  # noqa: B018


def test_a_known_column_is_held_and_the_true_one_costs_nothing(comparison):
    A, _ = LockedExploration(comparison, 0, (1,)).factors
    own = KnownExploration(comparison, 0, (1,), starts=3, known=tuple((7 * A[:, 1]).tolist()))
    other = KnownExploration(comparison, 0, (1,), starts=3, known=tuple(A[::-1, 1].tolist()))
    assert own.key != other.key != LockedExploration(comparison, 0, (1,), starts=3).key
    make(own)
    make(other)
    error = float(comparison.members["error"].iloc[0])
    assert own.found().error.min() <= error * (1 + 1e-6)
    assert other.found().error.min() > error
    held = other.found().A[:, :, 1] / A[:, 1].sum()
    np.testing.assert_allclose(held, [A[::-1, 1] / A[:, 1].sum()] * 4)
    with pytest.raises(SettingsError, match="entries of sum 0"):
        _ = KnownExploration(comparison, 0, (1,), known=(0.0,) * len(A)).factors


def test_new_samples_in_pieces_are_those_that_are_fitted_at_once(comparison):
    X = comparison.dataset.X[:, :4] * [1.0, 2.0, 0.5, 3.0]
    new = replace(comparison.dataset, X=X, observations=tuple("abcd"), truth=())
    work = AppliedExploration(comparison, 0, (0, 5), new)
    # Components in the order of the second factorization.
    A = comparison.aligned([5, 0])[::-1]
    assert work.found(A) is None
    make(work, stop_after=1)
    make(work)
    found = work.found(A)
    at_once = apply_components(A, comparison.seen_dataset, new, comparison.fit.loss)
    np.testing.assert_allclose(found.W, at_once.W, atol=1e-8)
    np.testing.assert_allclose(found.misfit, at_once.misfit, atol=1e-8)
    np.testing.assert_allclose(found.usual, at_once.usual, atol=1e-6)
    np.testing.assert_allclose(found.shares, at_once.shares, atol=1e-8)
    assert (found.measure, found.matched) == (at_once.measure, at_once.matched)
    # Other samples and other factorizations are another question.
    other = replace(new, X=2 * X)
    keys = {replace(work, **each).key for each in ({}, {"rows": (0,)}, {"new": other})}
    assert len(keys) == 3
    with pytest.raises(DataError, match="Names have to agree"):
        replace(work, new=replace(new, features=tuple("uvwxyz"))).check()
