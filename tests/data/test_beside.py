"""Files of names beside the data tell which side the observations are on, names tell classes."""

import numpy as np
import pytest

from benchmarks.harness import data_folder
from bnmf_core.core.dataset import Dataset
from bnmf_core.data.joining import join, labelled, oriented
from bnmf_core.data.load import inspect_file, load_file

REAL = data_folder()
COUNTS = b"5,2,9\n4,7,6\n"
TWO, THREE = b"x\ny\n", b"u\nv\nw\n"


@pytest.mark.parametrize(
    "beside, observations, called, words",
    [
        ({"genes.txt": TWO}, "columns", "genes", "the names of genes, one for each row"),
        ({"my.terms": THREE}, "rows", "terms", "the names of terms, one for each column"),
        ({"samples.csv": THREE}, "columns", "", "the names of samples, one for each column"),
        ({"a.txt": b"gene\nx\ny\n"}, "columns", "", "the names of gene, one for each row"),
        ({"a.txt": b"M1_at\nM2_s_at\nM3_at\n"}, "rows", "", "names like probes of a chip"),
        ({"kinds.txt": b"u\nu\nv\n", "genes.txt": TWO}, "columns", "genes", "'genes.txt'"),
    ],
)
def test_a_file_of_names_turns_the_data(beside, observations, called, words):
    found = oriented(inspect_file(COUNTS), beside)
    assert (found.observations, found.features_are) == (observations, called)
    (doubt,) = found.doubts
    assert words in doubt and doubt.endswith(f"{observations} are the observations.")
    assert found.reasons["observations"] == doubt.rpartition(":")[0]


@pytest.mark.parametrize(
    "content, chosen, beside",
    [
        (COUNTS, {}, {}),
        (COUNTS, {}, {"kinds.txt": THREE, "five.genes": b"a\nb\nc\nd\ne\n", "bad": b"\0\1"}),
        (COUNTS, {"observations": "rows"}, {"genes.txt": TWO}),
        (b"sample,a,b\nx,1,2\ny,3,4\nz,5,6\n", {}, {"genes.txt": THREE}),
        (b"5,2\n4,7\n", {}, {"genes.txt": TWO}),
    ],
    ids=["none", "no names that are known", "told", "the file itself says", "square"],
)
def test_what_is_told_or_said_or_unknown_stays(content, chosen, beside):
    reading = inspect_file(content, chosen=chosen)
    assert oriented(reading, beside) == reading


@pytest.mark.parametrize(
    "names, classes",
    [
        (["ALL_1", "ALL_2", "AML_1", "AML_2"], ["ALL", "ALL", "AML", "AML"]),
        (["sport.1", "tech.1", "tech.2", "sport.2"], ["sport", "tech", "tech", "sport"]),
        (["PD1", "PD2", "PD3", "PD4"], None),
        (["a1", "a2", "b1", "c1"], None),
        (["a1", "a2", "b1", "7"], None),
        (["ann", "ben", "cid", "dan"], None),
    ],
)
def test_names_that_begin_alike_are_a_label(names, classes):
    data = Dataset.from_array(np.ones((2, 4)), observations=names)
    found, said = labelled(data)
    assert [list(label) for label in found.labels.values()] == ([classes] if classes else [])
    assert bool(said) == bool(classes)
    known = Dataset.from_array(np.ones((2, 4)), observations=names, labels=list("abab"))
    assert labelled(known) == (known, "")


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the public data are not on this machine")
@pytest.mark.parametrize(
    "folder, file, beside, shape, called, counts",
    [
        (
            "golub_all_aml",
            "ALL_AML_data.txt",
            ("ALL_AML_genes.txt", "ALL_AML_samples.txt"),
            (5000, 38),
            "genes",
            [27, 11],
        ),
        (
            "bbc",
            "bbc.mtx",
            ("bbc.docs", "bbc.terms"),
            (9635, 2225),
            "terms",
            [510, 386, 417, 511, 401],
        ),
    ],
)
def test_public_data_with_names_beside_them(folder, file, beside, shape, called, counts):
    held = {name: (REAL / folder / name).read_bytes() for name in beside}
    reading = oriented(inspect_file(REAL / folder / file), held)
    data = load_file(REAL / folder / file, reading=reading)
    for name, content in held.items():
        data = join(data, content, name).dataset
    assert data.X.shape == shape and data.features_are == called
    (label,) = labelled(data)[0].labels.values()
    assert np.unique(label, return_counts=True)[1].tolist() == counts
    first = held[beside[1 if folder == "bbc" else 0]].decode().splitlines()
    names = [line.split("\t")[0] for line in first][-shape[0] :]
    assert list(data.features) == names
