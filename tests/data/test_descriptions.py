"""What files say of features beside their names: read, kept, and symbols in place of numbers."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from benchmarks.harness import data_folder
from bnmf_core import load_file
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.joining import join
from bnmf_core.data.symbols import named_by_symbols
from bnmf_core.figures.components import details
from bnmf_core.store.datasets import read_dataset, write_dataset
from tests.data.formatted import hdf5

GOLUB = data_folder() / "golub_all_aml"
X = np.arange(1.0, 7.0).reshape(3, 2)
TOLD = {"symbol": ["TP53", "MYC", ""], "about": ["a kinase, said", "", "no"]}
DATA = Dataset.from_array(X, features=["11_at", "12_s_at", "13_at"], descriptions=TOLD)


def triple():
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(
            "d/matrix.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 3\n2 2 4\n"
        )
        archive.writestr("d/barcodes.tsv", "c1\nc2\n")
        archive.writestr(
            "d/features.tsv.gz",
            gzip.compress(b"ENSG01\tTP53\tGene Expression\nENSG02\tMYC\tGene Expression\n"),
        )
    return file.getvalue()


def annotated(opened):
    opened["X"] = np.ones((2, 2))
    for name, words in (("obs", ["c1", "c2"]), ("var", ["TP53", "MYC"])):
        group = opened.create_group(name)
        group.attrs["_index"], group["_index"] = "_index", words
    opened["var/gene_ids"] = ["ENSG01", "ENSG02"]
    opened["var/feature_types/categories"] = ["Gene Expression"]
    opened["var/feature_types/codes"] = np.zeros(2, dtype=np.int8)
    opened["var/n_cells"], opened["var/mt"] = [3, 4], np.array([True, False])


def tenx(opened):
    group = opened.create_group("matrix")
    group["data"], group["indices"], group["indptr"] = [3, 4], [0, 1], [0, 1, 2]
    group["shape"], group["barcodes"] = [2, 2], ["c1", "c2"]
    group["features/name"], group["features/id"] = ["TP53", "MYC"], ["ENSG01", "ENSG02"]
    group["features/feature_type"] = ["Gene Expression", "Gene Expression"]


GCT = b"#1.2\n2\t2\nNAME\tDescription\tc1\tc2\nTP53\tENSG01\t1\t2\nMYC\tENSG02\t3\t4\n"
TABLE = b"gene,about,c1,c2\nTP53,ENSG01,1,2\nMYC,ENSG02,3,4\n"


@pytest.mark.parametrize(
    ("content", "key", "options"),
    [
        (GCT, "Description", {}),
        (TABLE, "about", {"observations": "columns"}),
        (triple(), "id", {}),
        (hdf5(tenx), "id", {}),
        (hdf5(annotated), "gene_ids", {}),
    ],
    ids=["GCT", "CSV", "three files of 10x", "10x as HDF5", "H5AD"],
)
def test_what_stands_beside_a_feature_is_its_description(content, key, options):
    found = load_file(content, **options)
    assert found.features == ("TP53", "MYC") and found.observations == ("c1", "c2")
    assert {name: words.tolist() for name, words in found.descriptions.items()} == {
        key: ["ENSG01", "ENSG02"]
    }
    assert found.labels == {}


def test_the_same_column_is_a_label_where_rows_are_observations():
    found = load_file(TABLE, observations="rows")
    assert found.labels["about"].tolist() == ["ENSG01", "ENSG02"] and found.descriptions == {}


def test_descriptions_change_the_hash_and_survive_the_disk(tmp_path):
    write_dataset(tmp_path, DATA)
    back = read_dataset(tmp_path)
    assert {key: words.tolist() for key, words in back.descriptions.items()} == TOLD
    assert back.hash == DATA.hash
    bare = Dataset.from_array(X, features=DATA.features)
    others = [bare, Dataset.from_array(X, features=DATA.features, descriptions={"symbol": "abc"})]
    assert len({DATA.hash, *(one.hash for one in others)}) == 3
    # Data without any keep the hash that they had before there were descriptions.
    assert Dataset.from_array(X).hash == "ef36d947ef8e05ea"
    assert DATA.columns(np.array([0])).described(0) == "TP53, a kinase, said"


def test_a_description_needs_a_word_for_each_feature():
    with pytest.raises(DataError, match="The descriptions 'id' have 2 values for 3 features"):
        Dataset.from_array(X, descriptions={"id": ["a", "b"]})


def test_symbols_are_the_names_and_numbers_are_kept():
    found, said = named_by_symbols(DATA)
    assert found.features == ("TP53", "MYC", "13_at")
    assert found.described(0) == "a kinase, said, 11_at" and found.described(2) == "no"
    assert said == (
        "Features have the names of 'symbol'; their accession numbers, such as '11_at', are kept "
        "beside them."
    )
    twice = Dataset.from_array(
        np.ones((4, 2)),
        features=["ENSG00000141510.5", "ENSG00000136997", "NM_000546.6", "7157"],
        descriptions={"name": ["TP53", "MYC", "TP53", "KRAS"]},
    )
    assert named_by_symbols(twice)[0].features == ("TP53", "MYC", "TP53 (2)", "KRAS")


@pytest.mark.parametrize(
    ("features", "words"),
    [
        (["moon", "goal", "and"], ["noun", "noun2", "word"]),
        (["11_at", "12_at", "13_at"], ["a long text", "and another", "one more"]),
        (["11_at", "12_at", "13_at"], ["", "", "MYC"]),
        (["11_at", "12_at", "13_at"], ["ENSG00000141510", "ENSG00000136997", "ENSG00000133703"]),
    ],
    ids=["words are no numbers", "texts are no symbols", "few symbols", "other numbers"],
)
def test_other_names_stay(features, words):
    data = Dataset.from_array(X, features=features, descriptions={"told": words})
    assert named_by_symbols(data) == (data, "")


def test_files_of_features_bring_descriptions_by_order_and_by_name():
    content = b"Name\tDescription\nTP53\ta kinase\nMYC\t\nKRAS\tan oncogene\n"
    found = join(Dataset.from_array(X), content, "genes.txt", "features")
    assert found.dataset.features == ("TP53", "MYC", "KRAS")
    assert found.summary == (
        "names of the features and description 'Description' from 'genes.txt' joined by order."
    )
    other = b"gene,group\nKRAS,c\nMYC,b\nTP53,a\n"
    again = join(found.dataset, other, "groups.csv").dataset
    assert again.descriptions["group"].tolist() == ["a", "b", "c"]
    assert again.descriptions["Description"].tolist() == ["a kinase", "", "an oncogene"]


def test_hover_tells_them():
    told = details(DATA, np.array([[3.0], [1.0], [0.0]]))[0]
    assert "11_at 75.0% · TP53, a kinase, said<br>" in told and told.endswith("12_s_at 25.0% · MYC")


@pytest.mark.skipif(not GOLUB.exists(), reason="the leukemia data are not on this machine")
def test_leukemia_genes_are_described():
    data = load_file(GOLUB / "ALL_AML_data.txt", observations="columns")
    name = "ALL_AML_genes.txt"
    data = join(data, (GOLUB / name).read_bytes(), name).dataset
    assert data.features[0] == "M12759_at" and data.described(0) == "IMMUNOGLOBULIN J CHAIN"
    # Their descriptions are texts, and no symbols.
    assert named_by_symbols(data) == (data, "")
