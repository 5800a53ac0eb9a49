"""Stored datasets come back as they were, or are refused."""

import json
import threading

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.dataset import Dataset, Truth
from bnmf_core.core.errors import StoreError
from bnmf_core.data.repair import hide_entries
from bnmf_core.store.datasets import verify
from bnmf_core.store.run_store import RunStore
from tests.store.saved import hurt


def make_datasets() -> dict[str, Dataset]:
    rng = np.random.default_rng(0)
    X = rng.random((4, 6))
    mask = rng.random((4, 6)) > 0.2
    names = {"features": ["höhe", "Größe ≥ 2", "書", ""], "observations": list("abcdef")}
    return {
        "dense": Dataset.from_array(X, name="dense"),
        "sparse": Dataset.from_array(sparse.csc_array(np.where(X > 0.5, X, 0)), name="sparse"),
        "mask": Dataset.from_array(X, mask=mask, name="masked"),
        "hidden": hide_entries(Dataset.from_array(X, mask=mask), 0.3, rng),
        "words": Dataset.from_array(
            X,
            **names,
            name="Bücher · 書 🌿",
            unit="Anzahl",
            source='O\'Brien; "quoted"',
            labels={"Klasse": ["ä", "", "ä", "b", "b", None], "1": [1, 2, 3, 4, 5, 6]},
            image_shape=(2, 2),
            truth=[Truth("é", rng.random((4, 2)), rng.random((2, 6)))],
        ),
    }


@pytest.mark.parametrize("kind", ["dense", "sparse", "mask", "hidden", "words"])
def test_a_dataset_comes_back_as_it_was(store, kind):
    dataset = make_datasets()[kind]
    dataset_id = store.add_dataset(dataset)
    back = RunStore(store.root).dataset(dataset_id)  # as after a restart
    assert back.hash == dataset.hash == dataset_id
    for name in ("name", "features", "observations", "image_shape", "unit", "source", "missing"):
        assert getattr(back, name) == getattr(dataset, name)
    assert back.is_sparse == dataset.is_sparse
    np.testing.assert_array_equal(back.dense(), dataset.dense())
    assert list(back.labels) == list(dataset.labels)
    for key, values in dataset.labels.items():
        np.testing.assert_array_equal(back.labels[key], values)
    if dataset.mask is not None:
        np.testing.assert_array_equal(back.mask, dataset.mask)
    assert (back.hidden is None) == (dataset.hidden is None)
    if dataset.hidden is not None:
        np.testing.assert_array_equal(back.hidden, dataset.hidden)
    for ours, theirs in zip(dataset.truth, back.truth, strict=True):
        assert ours.name == theirs.name
        np.testing.assert_array_equal(ours.A, theirs.A)
        np.testing.assert_array_equal(ours.W, theirs.W)


@pytest.mark.parametrize("order", ["C", "F"])
def test_one_flipped_bit_of_X_is_a_sentence(store, order):
    X = np.asarray(np.random.default_rng(0).random((7, 9)), order=order)
    dataset_id = store.add_dataset(Dataset.from_array(X, name="spectra"))
    path = store.root / "datasets" / dataset_id / "X.npy"
    np.testing.assert_array_equal(RunStore(store.root).dataset(dataset_id).X, X)
    hurt(path, "flipped")
    for read in (RunStore(store.root).dataset, lambda key: verify(store.root / "datasets" / key)):
        with pytest.raises(StoreError, match="The data 'spectra' are damaged on the disk"):
            read(dataset_id)


def test_a_changed_word_of_a_dataset_is_a_sentence(store, small):
    dataset_id = store.add_dataset(small)
    path = store.root / "datasets" / dataset_id / "meta.json"
    meta = json.loads(path.read_text())
    path.write_text(json.dumps(meta | {"unit": "of another"}))
    with pytest.raises(StoreError, match="names and labels is not what was stored"):
        RunStore(store.root).dataset(dataset_id)


@pytest.mark.parametrize("kind", ["dense", "sparse", "mask", "hidden", "words"])
def test_a_stored_dataset_cannot_be_changed(store, kind):
    back = store.dataset(store.add_dataset(make_datasets()[kind]))
    arrays = [back.X.data, back.X.indices, back.X.indptr] if back.is_sparse else [back.X]
    arrays += [*back.labels.values(), *(a for a in (back.mask, back.hidden) if a is not None)]
    for array in arrays:
        assert not array.flags.writeable


def test_the_same_content_is_kept_once(store, small):
    first = store.add_dataset(small)
    again = store.add_dataset(Dataset.from_array(small.X, name="small", labels=small.labels))
    assert first == again
    assert store.datasets() == {first: "small"}


def test_many_threads_may_add_the_same_dataset(store):
    dataset = Dataset.from_array(np.random.default_rng(0).random((300, 400)))
    errors = []

    def add():
        try:
            store.add_dataset(dataset)
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=add) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    np.testing.assert_array_equal(store.dataset(dataset.hash).X, dataset.X)
    assert not list(store.root.rglob("*.part"))


def test_a_half_written_dataset_is_written_again(store, small):
    folder = store.root / "datasets" / small.hash
    folder.mkdir(parents=True)
    (folder / "X.npy").write_bytes(b"\x93NUMPY\x01")
    store.add_dataset(small)
    np.testing.assert_array_equal(store.dataset(small.hash).X, small.X)


def test_data_that_are_damaged_are_kept_anew_when_they_come_again(store, small):
    dataset_id = store.add_dataset(small)
    hurt(store.root / "datasets" / dataset_id / "X.npy", "flipped")
    again = RunStore(store.root)
    assert again.add_dataset(small) == dataset_id
    np.testing.assert_array_equal(again.dataset(dataset_id).X, small.X)


def test_two_owners_may_have_the_same_data(store, small):
    store.add_dataset(small)
    other = RunStore(store.root, owner="other")
    other.add_dataset(small)
    for one in (store, other):
        assert one.datasets() == {small.hash: "small"}
        np.testing.assert_array_equal(one.dataset(small.hash).X, small.X)
