"""Downloads: one sentence when there is no network, a right Dataset when there is."""

import http.client
import socket
import urllib.error

import numpy as np
import pytest
from scipy import sparse
from sklearn import datasets
from sklearn.utils import Bunch

from bnmf_core.core.errors import DataError, NotFoundError
from bnmf_core.data.samples import GROUPS, REMOTE, TIMEOUT_SECONDS, load_remote, load_sample

FETCHERS = {
    "newsgroups": "fetch_20newsgroups",
    "olivetti": "fetch_olivetti_faces",
    "lfw": "fetch_lfw_people",
    "rcv1": "fetch_rcv1",
}


def test_every_remote_set_is_tried_here():
    assert set(FETCHERS) == set(REMOTE)


@pytest.mark.parametrize(
    "failure",
    [
        urllib.error.URLError("no route"),
        TimeoutError("slow"),
        ConnectionResetError("reset"),
        http.client.IncompleteRead(b""),
        OSError("checksum differs"),
    ],
)
@pytest.mark.parametrize("key", FETCHERS)
def test_a_failed_download_is_one_sentence(monkeypatch, key, failure):
    seen = {}

    def fetcher(**arguments):
        seen.update(arguments, timeout=socket.getdefaulttimeout())
        raise failure

    monkeypatch.setattr(datasets, FETCHERS[key], fetcher)
    with pytest.raises(DataError, match="must be downloaded and could not be reached; use a"):
        load_remote(key)
    assert seen["n_retries"] == 1 and seen["timeout"] == TIMEOUT_SECONDS
    assert socket.getdefaulttimeout() is None


def test_the_real_fetcher_reports_an_unreachable_server(monkeypatch, tmp_path):
    def unreachable(*arguments, **named):
        raise urllib.error.URLError("no route")

    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    monkeypatch.setattr("sklearn.datasets._base.urlretrieve", unreachable)
    with pytest.raises(DataError, match="Olivetti faces must be downloaded"):
        load_remote("olivetti")


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(NotFoundError, match="newsgroups, olivetti, lfw, rcv1"):
        load_remote("mnist")


def test_pictures_unfold_column_by_column(monkeypatch):
    images = np.random.default_rng(0).uniform(size=(3, 4, 2))
    faces = Bunch(images=images, target=[0, 0, 1])
    monkeypatch.setattr(datasets, "fetch_olivetti_faces", lambda **_: faces)
    dataset = load_remote("olivetti")
    assert dataset.image_shape == (4, 2)
    np.testing.assert_array_equal(dataset.X[:, 2].reshape((4, 2), order="F"), images[2])
    assert dataset.features[1] == "row 2, column 1"
    assert dataset.labels["person"].tolist() == ["person 1", "person 1", "person 2"]


def test_press_pictures_carry_names(monkeypatch):
    images = np.random.default_rng(0).uniform(size=(3, 4, 2))
    faces = Bunch(images=images, target=[1, 0, 1], target_names=["Ada", "Bea"])
    monkeypatch.setattr(datasets, "fetch_lfw_people", lambda **_: faces)
    dataset = load_remote("lfw")
    assert dataset.X.shape == (8, 3)
    assert dataset.labels["person"].tolist() == ["Bea", "Ada", "Bea"]


def test_posts_become_counts_without_empty_ones(monkeypatch):
    posts = Bunch(
        data=["rocket orbit rocket", "the 12", "engine brake engine engine"],
        target=[1, 0, 0],
        target_names=["rec.autos", "sci.space"],
    )
    monkeypatch.setattr(datasets, "fetch_20newsgroups", lambda **_: posts)
    dataset = load_remote("newsgroups")
    assert dataset.features == ("brake", "engine", "orbit", "rocket")
    np.testing.assert_array_equal(dataset.dense(), [[0, 1], [0, 3], [1, 0], [2, 0]])
    assert dataset.labels["category"].tolist() == ["sci", "rec"]
    assert dataset.observations == ("post 1", "post 3")


def test_the_groups_are_those_of_the_shipped_sample():
    assert set(GROUPS) == set(load_sample("newsgroups").labels["group"])


def test_stories_keep_the_terms_that_occur(monkeypatch):
    stories = Bunch(
        data=sparse.csr_array([[0.5, 0.0, 0.2], [0.1, 0.0, 0.0]]),
        target=sparse.csr_array([[1, 0, 0, 0, 1], [0, 0, 1, 0, 0]]),
        target_names=np.array(["CCAT", "ECAT", "GCAT", "C11", "MCAT"]),
        sample_id=np.array([2286, 2287]),
    )
    monkeypatch.setattr(datasets, "fetch_rcv1", lambda **_: stories)
    dataset = load_remote("rcv1")
    assert dataset.is_sparse
    assert dataset.features == ("term 1", "term 3")
    assert dataset.observations == ("story 2286", "story 2287")
    assert dataset.labels["category"].tolist() == ["CCAT+MCAT", "GCAT"]
