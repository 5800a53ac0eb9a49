"""Names and labels from files of their own."""

import numpy as np
import pytest

from benchmarks.harness import data_folder
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.joining import join
from bnmf_core.data.load import load_file

BBC = data_folder() / "bbc"
DATA = Dataset.from_array(np.arange(1.0, 13.0).reshape(3, 4), observations=["p", "q", "r", "s"])


@pytest.mark.parametrize(
    "content, side, features, observations, labels, words",
    [
        (b"a\nb\nc\n", None, "abc", "pqrs", {}, "names of the features"),
        (b"name\na\nb\nc\n", "features", "abc", "pqrs", {}, "names of the features"),
        (b"w\nx\ny\nz\n", None, None, "wxyz", {}, "names of the observations"),
        (b"u\nv\nu\nv\n", None, None, "pqrs", {"kinds": "uvuv"}, "label 'kinds'"),
        (b"kind\nu\nv\nu\nv\n", "observations", None, "pqrs", {"kind": "uvuv"}, "by order"),
        (
            b"id,kind\ns,u\nr,v\nq,u\np,v\n",
            None,
            None,
            "pqrs",
            {"kind": "vuvu"},
            "joined by name",
        ),
        (b"0 u\n1 u\n2 v\n3 v\n", None, None, "pqrs", {"kinds": "uuvv"}, "by order"),
        (b"w,u\nx,v\ny,u\nz,v\n", None, None, "wxyz", {"kinds": "uvuv"}, "names of the obs"),
        ("温度\n湿度\n気圧\n".encode("cp932"), None, ["温度", "湿度", "気圧"], "pqrs", {}, "names"),
    ],
)
def test_a_file_of_names_or_labels_is_joined(content, side, features, observations, labels, words):
    found, said = join(DATA, content, "kinds.txt", side)
    assert found.features == (tuple(features) if features else DATA.features)
    assert found.observations == tuple(observations)
    assert {key: "".join(values) for key, values in found.labels.items()} == labels
    assert words in said
    assert DATA.labels == {}


@pytest.mark.parametrize(
    "content, side, words",
    [
        (b"a\nb\n", None, "has 2 rows"),
        (b"a\nb\nc\nd\n", "rows", "choose one of observations, features"),
        (b"a\nb\nc\nd\n", "both", "choose one of"),
        (b"a\na\nb\n", "features", "names features twice"),
    ],
)
def test_a_file_that_does_not_fit_is_one_sentence(content, side, words):
    with pytest.raises(DataError, match=words):
        join(DATA, content, "kinds.txt", side)


def test_what_fits_both_sides_has_to_be_told():
    square = Dataset.from_array(np.ones((3, 3)))
    with pytest.raises(DataError, match="fits the observations and the features"):
        join(square, b"a\nb\nc\n", "names.txt")
    assert join(square, b"a\nb\nc\n", "names.txt", "features").dataset.features == tuple("abc")


@pytest.mark.slow
@pytest.mark.skipif(not BBC.exists(), reason="the BBC news data are not on this machine")
def test_news_with_their_words_documents_and_classes():
    data = load_file(BBC / "bbc.mtx", observations="columns")
    for name in ("bbc.terms", "bbc.docs", "bbc.classes"):
        data = join(data, (BBC / name).read_bytes(), name).dataset
    assert data.features[:3] == ("ad", "sale", "boost")
    assert data.observations[:2] == ("business.001", "business.002")
    (label,) = data.labels.values()
    assert np.unique(label, return_counts=True)[1].tolist() == [510, 386, 417, 511, 401]
