"""Downstream AUC against scikit-learn, planted signal, and the rules of fair judging."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from bnmf_core.compare.downstream import (
    area_under_curve,
    best_per_task,
    classifier,
    downstream_auc,
    standard_error,
    winners,
    winners_that_suffice,
)
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, DataError, NotFoundError, SettingsError
from bnmf_core.solvers.nnls import solve_weights


def labelled(N=90, D=12, R=3, classes=3, seed=0):
    """Data whose classes are the component that dominates, and their true basis."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(N) % classes)
    W = rng.gamma(1.0, size=(R, N))
    W[codes % R, np.arange(N)] += 3.0
    A = rng.gamma(0.5, size=(D, R)) + 0.01
    names = np.array([f"class {code}" for code in codes])
    return Dataset.from_array(A @ W, labels={"kind": names}, name="planted"), A


def uninformative(A):
    """Every column the same direction: no basis to tell the classes apart by."""
    return np.repeat(A.mean(axis=1, keepdims=True), A.shape[1], axis=1)


@pytest.mark.parametrize("stored", ["dense", "sparse"])
def test_equals_a_naive_loop(stored):
    dataset, A = labelled()
    if stored == "sparse":
        labels = dataset.labels
        dataset = Dataset.from_array(sparse.csc_array(dataset.X), labels=labels)
    values = dataset.labels["kind"]
    bases = np.stack([A, A @ [[1, 0.5, 0], [0, 1, 0.5], [0.5, 0, 1]]])
    table = downstream_auc(bases, dataset, "kind", folds=4, seed=3)
    row = 0
    for basis in bases:
        features = solve_weights(dataset.dense(), basis[None])[0].T
        probabilities = np.empty((dataset.N, 3))
        for train, test in StratifiedKFold(4, shuffle=True, random_state=3).split(values, values):
            model = classifier().fit(features[train], values[train])
            probabilities[test] = model.predict_proba(features[test])
        for k, task in enumerate(model.classes_):
            expected = roc_auc_score(values == task, probabilities[:, k])
            assert table["task"][row] == task
            assert table["auc"][row] == pytest.approx(expected, abs=1e-9)
            assert table["n_positive"][row] == (values == task).sum()
            row += 1
    assert len(table) == row
    assert table["particle"].tolist() == [0] * 3 + [1] * 3
    assert set(table["label"]) == {"kind"}
    assert table.attrs["left_out"] == {}


def test_held_out_trains_on_the_others_and_judges_these_only():
    dataset, A = labelled()
    values = dataset.labels["kind"]
    held_out = np.arange(0, 90, 4)
    table = downstream_auc(A[None], dataset, "kind", held_out=held_out)
    features = solve_weights(dataset.X, A[None])[0].T
    train = np.setdiff1d(np.arange(90), held_out)
    model = classifier().fit(features[train], values[train])
    probabilities = model.predict_proba(features[held_out])
    for k, task in enumerate(model.classes_):
        expected = roc_auc_score(values[held_out] == task, probabilities[:, k])
        assert table["auc"][k] == pytest.approx(expected, abs=1e-9)
        assert table["n_positive"][k] == (values[held_out] == task).sum()


def test_held_out_labels_do_not_reach_the_classifier():
    dataset, A = labelled()
    held_out = np.arange(30)
    swapped = np.array(dataset.labels["kind"])
    swapped[held_out] = np.roll(swapped[held_out], 1)
    other = Dataset.from_array(dataset.X, labels={"kind": swapped})
    good = downstream_auc(A[None], dataset, "kind", held_out=held_out)
    bad = downstream_auc(A[None], other, "kind", held_out=held_out)
    assert good["auc"].mean() > 0.75
    assert bad["auc"].mean() < 0.65


def test_the_informative_factorization_wins_every_task():
    dataset, A = labelled(N=150)
    bases = np.stack([uninformative(A), A, uninformative(A)])
    best = best_per_task(downstream_auc(bases, dataset, "kind"))
    assert best["particle"].tolist() == [1, 1, 1]
    assert best["task"].tolist() == ["class 0", "class 1", "class 2"]
    assert (best["auc"] > 0.8).all()
    np.testing.assert_allclose(best["difference"], best["auc"] - best["worst"])
    assert (best["worst"] <= best["mean"]).all() and (best["mean"] <= best["auc"]).all()


def test_scale_and_order_of_components_do_not_matter():
    dataset, A = labelled()
    bases = np.stack([A, (A * [1e-3, 1.0, 1e4])[:, [2, 0, 1]]])
    table = downstream_auc(bases, dataset, "kind")
    np.testing.assert_allclose(table["auc"][:3], table["auc"][3:], atol=1e-3)


def test_an_unused_component_changes_nothing_and_does_not_warn():
    dataset, A = labelled()
    padded = np.concatenate([A, np.zeros((A.shape[0], 1))], axis=1)
    np.testing.assert_allclose(
        downstream_auc(padded[None], dataset, "kind")["auc"],
        downstream_auc(A[None], dataset, "kind")["auc"],
        atol=1e-3,
    )
    nothing = downstream_auc(np.zeros_like(A)[None], dataset, "kind", folds=3)
    np.testing.assert_allclose(nothing["auc"], 0.5, atol=0.1)


def test_unlabelled_and_rare_observations_are_left_out():
    dataset, A = labelled()
    values = np.array(dataset.labels["kind"], dtype=object)
    values[:5] = ""
    values[5:8] = "rare"
    other = Dataset.from_array(dataset.X, labels={"kind": values})
    table = downstream_auc(A[None], other, "kind", folds=5)
    assert table.attrs["left_out"] == {"rare": 3}
    assert table["n_positive"].sum() == 82
    alone = downstream_auc(A[None], dataset.columns(np.arange(8, 90)), "kind", folds=5)
    np.testing.assert_array_equal(table["auc"], alone["auc"])


def test_only_the_most_frequent_classes_take_part():
    dataset, A = labelled()
    values = np.where(np.arange(90) < 40, "a", np.where(np.arange(90) < 70, "b", "c"))
    other = Dataset.from_array(dataset.X, labels=values)
    table = downstream_auc(A[None], other, "label", max_classes=2)
    assert table["task"].tolist() == ["a", "b"]
    assert table.attrs["left_out"] == {"c": 20}


def test_missing_entries_are_not_taken_for_zeros():
    dataset, A = labelled(D=20)
    X = dataset.X.copy()
    X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
    torn = Dataset.from_array(X, labels=dataset.labels)
    whole = downstream_auc(A[None], dataset, "kind")["auc"]
    # The data are exactly A W, so the weights are determined by what is left.
    np.testing.assert_allclose(downstream_auc(A[None], torn, "kind")["auc"], whole, atol=1e-6)


def test_area_under_curve_counts_ties_half():
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 4, (60, 5)).astype(float)
    members = rng.random((60, 5)) < 0.3
    expected = [roc_auc_score(members[:, k], scores[:, k]) for k in range(5)]
    np.testing.assert_allclose(area_under_curve(scores, members), expected, atol=1e-14)


def test_progress_and_cancel():
    dataset, A = labelled()
    fractions = []
    downstream_auc(np.stack([A, A]), dataset, "kind", on_progress=fractions.append)
    assert fractions == [0.5, 1.0]
    with pytest.raises(Cancelled):
        downstream_auc(A[None], dataset, "kind", cancel=lambda: True)


def test_what_cannot_be_judged_is_said():
    dataset, A = labelled()
    with pytest.raises(NotFoundError, match="its labels are kind"):
        downstream_auc(A[None], dataset, "colour")
    with pytest.raises(SettingsError, match="at least 2 folds"):
        downstream_auc(A[None], dataset, "kind", folds=1)
    with pytest.raises(SettingsError, match="0 to 89"):
        downstream_auc(A[None], dataset, "kind", held_out=np.array([90]))
    with pytest.raises(DataError, match="two classes are needed"):
        downstream_auc(A[None], dataset, "kind", folds=80)


def test_ties_do_not_make_different_winners():
    def scores(*rows):
        cells = [
            ("kind", f"task {task}", particle, auc)
            for task, row in enumerate(rows)
            for particle, auc in enumerate(row)
        ]
        return pd.DataFrame(cells, columns=["label", "task", "particle", "auc"])

    # All are as good at the first three tasks; the last alone is the best at the fourth.
    tied = scores([0.9, 0.9, 0.9], [0.8, 0.8, 0.8], [1.0, 1.0, 1.0], [0.7, 0.6, 0.75])
    assert best_per_task(tied.assign(n_positive=5))["particle"].nunique() == 2
    assert winners_that_suffice(tied) == 1
    assert len(winners(tied)) == 10
    apart = scores([0.9, 0.8, 0.8], [0.8, 0.9, 0.8], [0.8, 0.8, 0.9])
    assert winners_that_suffice(apart) == 3


def test_the_standard_error_is_that_of_exponential_scores():
    # Hanley & McNeil derive it for exponential scores, where it is exact.
    rng = np.random.default_rng(4)
    members, others = rng.exponential(4.0, (20_000, 12)), rng.exponential(1.0, (20_000, 30))
    ranks = (members[:, :, None] > others[:, None, :]).mean(axis=(1, 2))
    expected = standard_error(np.array(4 / 5), np.array(12), np.array(30))
    np.testing.assert_allclose(ranks.std(), expected, rtol=0.03)
