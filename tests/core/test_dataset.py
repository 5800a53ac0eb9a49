"""What a Dataset promises: checked, read-only, named, hashed."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import DataError


@pytest.fixture
def X():
    return np.random.default_rng(1).uniform(size=(4, 5))


def test_the_input_is_neither_changed_nor_shared(X):
    X[1, 2] = np.nan
    before = X.copy()
    dataset = Dataset.from_array(X)
    np.testing.assert_array_equal(X, before)
    assert not np.shares_memory(dataset.X, X)
    assert X.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        dataset.X[0, 0] = 1.0


def test_a_sparse_input_is_neither_changed_nor_shared(X):
    source = sparse.coo_array(X)
    dataset = Dataset.from_array(source)
    assert not np.shares_memory(dataset.X.data, source.data)
    assert source.data.flags.writeable
    np.testing.assert_array_equal(dataset.dense(), X)
    with pytest.raises(ValueError, match="read-only"):
        dataset.X.data[0] = 1.0


def test_nan_means_missing(X):
    X[1, 2] = np.nan
    dataset = Dataset.from_array(X)
    assert dataset.missing == 1
    assert not dataset.mask[1, 2]
    assert dataset.X[1, 2] == 0.0


def test_squared_norm_is_the_same_dense_and_sparse(X):
    X[X < 0.5] = 0.0
    expected = np.linalg.norm(X) ** 2
    assert Dataset.from_array(X).squared_norm == pytest.approx(expected, rel=1e-14)
    assert Dataset.from_array(sparse.csr_array(X)).squared_norm == pytest.approx(
        expected, rel=1e-14
    )


def test_the_hash_is_stable(X):
    labels = ["a", "b", "a", "b", "a"]
    first, second = (Dataset.from_array(X.copy(), labels=labels) for _ in range(2))
    assert first.hash == second.hash
    assert Dataset.from_array(np.asfortranarray(X), labels=labels).hash == first.hash
    assert len(first.hash) == 16 and int(first.hash, 16) >= 0


def test_the_hash_changes_with_all_that_can_change_a_view(X):
    other_X = X.copy()
    other_X[0, 0] = np.nextafter(other_X[0, 0], 1.0)
    mask = np.ones(X.shape, dtype=bool)
    mask[0, 0] = False
    datasets = [
        Dataset.from_array(X),
        Dataset.from_array(other_X),
        Dataset.from_array(X, name="other"),
        Dataset.from_array(X, mask=mask),
        Dataset.from_array(X, labels=list("ababa")),
        Dataset.from_array(X, labels=list("ababb")),
        Dataset.from_array(X, labels={"group": list("ababa")}),
        Dataset.from_array(X, features=list("wxyz")),
        Dataset.from_array(X, observations=list("vwxyz")),
        Dataset.from_array(X, image_shape=(2, 2)),
        Dataset.from_array(X, image_shape=(4, 1)),
        Dataset.from_array(sparse.csc_array(X)),
    ]
    assert len({dataset.hash for dataset in datasets}) == len(datasets)


def test_columns_keep_what_belongs_to_them(X):
    X[0, 4] = np.nan
    A, W = np.ones((4, 2)), np.arange(10.0).reshape(2, 5)
    dataset = Dataset.from_array(
        X, observations=list("vwxyz"), labels=list("ababc"), truth=[Truth("t", A, W)]
    )
    part = dataset.columns(np.array([4, 1]))
    assert part.observations == ("z", "w")
    assert part.labels["label"].tolist() == ["c", "b"]
    np.testing.assert_array_equal(part.X, dataset.X[:, [4, 1]])
    np.testing.assert_array_equal(part.mask, dataset.mask[:, [4, 1]])
    np.testing.assert_array_equal(part.truth[0].W, W[:, [4, 1]])
    assert part.hash != dataset.hash


@pytest.mark.parametrize(
    "matrix, words",
    [
        (np.ones(3), "two dimensions"),
        (np.ones((1, 3)), "at least 2 features"),
        (np.ones((3, 3)) * 1j, "complex"),
        (np.array([["a", "b"], ["c", "d"]]), "numbers are needed"),
        (np.zeros((3, 3)), "zero"),
        (np.full((3, 3), np.nan), "missing"),
        (np.array([[1.0, 2.0], [3.0, -4.0]]), "feature 2 .*observation 2 .*negative"),
        (np.array([[1.0, np.inf], [3.0, 4.0]]), "feature 1 .*observation 2 .*finite"),
        (sparse.csr_array([[1.0, 2.0], [-3.0, 4.0]]), "feature 2 .*observation 1 .*negative"),
        (np.full((3, 3), 1e300), "rescale"),
        (np.full((3, 3), 1e-300), "rescale"),
    ],
)
def test_matrices_that_cannot_be_used_are_refused_by_name(matrix, words):
    with pytest.raises(DataError, match=words):
        Dataset.from_array(matrix)


def test_lengths_that_do_not_fit_are_refused(X):
    with pytest.raises(DataError, match="3 names were given for 4 features"):
        Dataset.from_array(X, features=list("abc"))
    with pytest.raises(DataError, match="for 5 observations"):
        Dataset.from_array(X, labels=["a"])
    with pytest.raises(DataError, match="3×3 has 9 pixels"):
        Dataset.from_array(X, image_shape=(3, 3))
    with pytest.raises(DataError, match="mask"):
        Dataset.from_array(X, mask=np.ones((5, 4)))


@pytest.mark.parametrize("whole", [np.asarray, sparse.csr_array])
def test_what_is_zero_throughout_is_counted(whole):
    X = np.array([[1.0, 0.0, 2.0], [0.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    said = Dataset.from_array(whole(X), features=["wren", "crow", "teal"]).empty
    assert said.startswith("Zero throughout: 1 of the features (crow) and 1 of the observations (")
    assert Dataset.from_array(whole(X[[0, 2]][:, [0, 2]])).empty == ""


def test_features_are_named_where_a_name_is_more_than_its_number(X):
    assert not Dataset.from_array(X).named
    assert not Dataset.from_array(X, features=["", "", "", ""]).named
    assert Dataset.from_array(X, features=["cat", "dog", "cow", "hen"]).named
    assert Dataset.from_array(X, features=["", "", "", "hen"]).named
    assert Dataset.from_array(X, features=["feature 2", "feature 1", "a", "b"]).named


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.coo_array, sparse.csc_array])
def test_sparse_data_are_stored_by_columns_however_they_are_made(kind):
    X = np.array([[0.0, 2.0, 1.0], [3.0, 0.0, 0.0]])
    data = Dataset(kind(X), "x", ("a", "b"), ("1", "2", "3"))
    for made in (data, replace(data, X=kind(2 * X) * 0.5), Dataset.from_array(kind(X))):
        assert made.X.format == "csc"
        np.testing.assert_array_equal(made.X.toarray(), X)


def test_data_are_printed_in_a_line():
    data = Dataset(sparse.csc_array(np.eye(3)), "x", ("a", "b", "c"), ("1", "2", "3"))
    assert repr(data) == "<Dataset 'x': sparse, 3 features × 3 observations>"
