"""Every layout becomes what it must, or is doubted in a sentence; nothing is wrong in silence."""

import dataclasses
import gzip
import json

import numpy as np
import pandas as pd
import pytest

from benchmarks.harness import data_folder
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.load import inspect_file, load_file, map_npy, named_apart
from bnmf_core.data.reading import Reading
from tests.data.formatted import (
    APART,
    BUMPS,
    CUBE,
    FORMATTED,
    GENES,
    PICTURES,
    REVIEWS,
    SHEETS,
    TRIPLE,
    annotated,
    archive,
    hdf5,
    link,
    matlab,
    picture,
)
from tests.data.layout import SIDE, VALUES, saved
from tests.data.layouts import TABLES
from tests.data.programs import PROGRAMS

REAL = data_folder()
LAYOUTS = [*TABLES, *PROGRAMS, *FORMATTED, *APART]


def test_the_table_of_layouts_is_long_and_its_names_differ():
    assert len({layout.name for layout in LAYOUTS}) == len(LAYOUTS) >= 60


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_a_layout_becomes_what_it_must(layout):
    filename = layout.filename or "file"
    reading = inspect_file(layout.content, filename=filename, chosen=layout.chosen)
    assert reading.faults == ()
    data = load_file(layout.content, filename=filename, reading=reading)
    assert data.features == layout.features
    assert data.observations == layout.observations
    np.testing.assert_allclose(data.dense()[:, 0], layout.first, rtol=1e-12)
    found = {key: tuple(values.tolist()) for key, values in data.labels.items()}
    assert found == layout.labels
    assert data.missing == layout.missing
    doubts = [doubt for doubt in reading.doubts if SIDE not in doubt]
    for words in layout.said:
        assert any(words in doubt for doubt in doubts), (words, doubts)
    assert len(doubts) == len(layout.said), doubts


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_every_choice_has_its_reason_and_a_reading_survives_json(layout):
    reading = inspect_file(layout.content, filename=layout.filename, chosen=layout.chosen)
    assert "observations" in reading.reasons
    if reading.is_table:
        for key in ("header_row", "names_column", "label_columns", "number_columns"):
            assert reading.reasons[key]
    for key in layout.chosen.keys() & reading.reasons.keys():
        assert reading.reasons[key] == "chosen by you"
    assert Reading.of_plain(json.loads(json.dumps(reading.plain()))) == reading


def test_what_is_doubted_travels_with_data_that_were_loaded_at_once():
    data = load_file(b"id,a,b\n0,1,2\n1,3,4\n")
    assert "Column 1 ('id') counts 0, 1, 2" in data.source


def test_the_source_of_data_begins_with_the_name_of_their_file(tmp_path):
    content = b"# a remark\nid,a,b\n0,1,2\n1,3,4\n"
    assert load_file(content, filename="field notes.csv").source.startswith(
        "The file field notes.csv. "
    )
    (tmp_path / "counts.csv").write_bytes(b"x,y\n1,2\n3,5\n")
    assert load_file(tmp_path / "counts.csv").source.split(".")[:2] == ["The file counts", "csv"]
    assert "The file" not in load_file(content).source
    np.save(tmp_path / "large.npy", np.eye(3))
    assert map_npy(tmp_path / "large.npy").source == "The file large.npy."


def test_a_reading_can_be_changed_by_hand():
    content = b"id,a,b\n0,1,2\n1,3,4\n2,5,5\n"
    reading = inspect_file(content)
    assert load_file(content, reading=reading).features == ("a", "b")
    changed = dataclasses.replace(reading, names_column=None, number_columns=(1, 3))
    assert load_file(content, reading=changed).features == ("id", "b")
    assert load_file(content, reading=changed, observations="columns").observations == ("id", "b")
    shaped = dataclasses.replace(reading, image_shape=(1, 2))
    assert load_file(content, reading=shaped).image_shape == (1, 2)
    with pytest.raises(DataError, match="There is no column '9'; give a number from 1 to 3"):
        load_file(content, reading=dataclasses.replace(reading, number_columns=(9,)))


def test_several_faults_are_told_at_once():
    content = b"n,a,b\nx,1,-2\ny,q,4\nz,1\nw,5,z\n"
    reading = inspect_file(content)
    assert [fault[:5] for fault in reading.faults] == ["Row 4", "Row 3", "Row 5", "Row 2"]
    with pytest.raises(DataError) as caught:
        load_file(content)
    assert all(fault in str(caught.value) for fault in reading.faults)


def test_a_second_header_row_is_one_fault():
    (fault,) = inspect_file(b",u,u,v\n,x,y,x\np,1,2,3\nq,4,5,6\n").faults
    assert "choose row 2 as the header" in fault


def test_units_below_the_header_are_one_fault_and_its_cure_reads_the_table():
    content = b'n,a,b,c\n,mg,mg,g\np,"1,234",<5,3\nq,99,"2,000",4\n'
    (fault,) = inspect_file(content).faults
    assert fault.startswith("Row 2 holds words such as 'mg' above the numbers of 3 columns")
    assert fault.endswith('(--missing "mg" --missing "g" --missing "<5").')
    reading = inspect_file(content, chosen={"missing_words": ("mg", "g", "<5")})
    found = load_file(content, reading=reading)
    np.testing.assert_array_equal(found.dense()[[0, 2]], [[1234, 99], [3, 4]])
    assert found.missing == 1 and found.observations == ("p", "q")


def test_a_unit_in_the_cells_is_named_with_its_place():
    content = b"n,kind,a,b\np,u,37.80 mg,4 mg\nq,v,88.16 mg,7 mg\n"
    faults = inspect_file(content).faults
    place = "Row 2, column 3 holds '37.80 mg', a number with its unit"
    assert faults[1] == f"{place}; take 'mg' out of the cells, and put it into the header."
    mixed = content.replace(b"88.16 mg", b"88.16 g").replace(b"7 mg", b"seven")
    assert inspect_file(mixed).faults == ("The table has no column of numbers.",)


def test_words_among_numbers_are_not_counted_as_the_first_of_them():
    (fault,) = inspect_file(b"n,a,b\np,tr,1\nq,n.d.,2\nr,5,3\ns,-,4\nt,6,5\nu,7,6\n").faults
    assert "holds 'tr'" in fault and "Nor do 2 more of its cells hold plain numbers." in fault
    assert fault.endswith("""If 'tr' means that nothing was seen, say so (--missing "tr").""")


@pytest.mark.parametrize(
    "chosen, words",
    [
        ({"colour": 1}, "no choice called 'colour'"),
        ({"names_column": "nobody"}, "no column 'nobody'"),
        ({"number_columns": (1, 7)}, "no column '7'"),
        ({"header_row": 0}, "'header_row' was 0"),
        ({"header_row": 9}, "Row 9 cannot be the header"),
        ({"separator": "::"}, "one character"),
        ({"decimal_mark": "-"}, "'.' or ','"),
        ({"encoding": "klingon"}, "no encoding called 'klingon'"),
        ({"encoding": "utf-16"}, "UTF-16"),
        ({"format": "abc"}, "key of a format"),
        ({"observations": "diagonal"}, "rows, columns"),
        ({"image_shape": (0, 3)}, "two whole numbers"),
    ],
)
def test_a_choice_that_cannot_be_is_one_sentence(chosen, words):
    with pytest.raises(DataError, match=words):
        inspect_file(b"id,a,b\n0,1,2\n1,3,4\n2,5,5\n ", chosen=chosen)


def test_two_files_of_one_name_are_told_apart_and_the_same_data_are_the_same():
    first = load_file(b"1,2\n3,4\n", filename="counts.csv")
    second = load_file(b"1,2\n3,5\n", filename="counts.csv")
    taken = {first.hash: first.name}
    assert named_apart(first, taken).hash == first.hash
    named = named_apart(second, taken)
    assert named.name == "counts (2)" and named.X.tolist() == second.X.tolist()
    taken[named.hash] = named.name
    assert named_apart(second, taken).hash == named.hash
    third = Dataset.from_array([[1, 2], [3, 6]], name="counts")
    assert named_apart(third, taken).name == "counts (3)"


@pytest.mark.parametrize(
    "content, chosen, words",
    [
        (SHEETS, {"settings": {"sheet": "third"}}, "no sheet 'third'; there are 'first', 'second'"),
        (SHEETS[:-200], {}, "archive is damaged"),
        (gzip.compress(bytes(3 * 2**20), mtime=0), {}, "would grow to more than 100 times"),
        (gzip.compress(b"1,2\n3,4\n", mtime=0)[:-9], {}, "gzip file is cut off"),
        (gzip.compress(b"", mtime=0), {}, "gzip file is empty"),
        (b"\x1f\x8b\x08" + bytes(30), {}, "gzip"),
        (b"PAR1" + bytes(40), {}, "Parquet file is cut off"),
        (b"PAR1" + bytes(40) + b"PAR1", {}, "could not be read as a Parquet file"),
        (b"#1.2\nmany\tgenes\n", {}, "must hold the numbers of rows"),
        (GENES.replace("3\t2", "9\t2").encode(), {}, "says that there are 9 rows and 2 columns"),
    ],
)
def test_what_a_format_cannot_hold_is_one_sentence(content, chosen, words):
    with pytest.raises(DataError, match=words):
        load_file(content, reading=inspect_file(content, chosen=chosen))


def test_a_workbook_offers_its_sheets():
    reading = inspect_file(SHEETS)
    assert reading.settings == {"sheet": "first"} and reading.offers["sheet"] == ("first", "second")


@pytest.mark.parametrize(
    "content, chosen, words",
    [
        (matlab(words=np.array(["a", "b"], dtype=object)), {}, "holds no matrix of numbers"),
        (matlab(X=VALUES), {"settings": {"matrix": "Y"}}, "no matrix 'Y'; there are 'X'"),
        (matlab(X=-VALUES), {}, "holds -6.3, which is negative"),
        (matlab(X=VALUES)[:150], {}, "MATLAB file|malformed"),
        (hdf5(lambda file: file.create_group("other")), {}, "no matrix X as H5AD has it"),
        (hdf5(lambda file: link(file, "X")), {}, "'X' lies in another file"),
        (hdf5(lambda file: file.create_dataset("X", (10**5, 10**5), "f4")), {}, "entries; at most"),
        (hdf5(annotated)[:-500], {}, "HDF5"),
        (archive({"matrix.mtx": b"x"}), {}, "lacks 'barcodes.tsv'"),
        (
            archive({**TRIPLE, "m/barcodes.tsv.gz": gzip.compress(b"p\n", mtime=0)}),
            {},
            "has 1 rows, but the matrix needs 4",
        ),
        (archive({**PICTURES, "d/x.png": picture(np.ones((2, 2)))}), {}, "choose one size for all"),
        (archive({"a.png": b"nothing", "b.png": b""}), {}, "'a.png' is no image"),
        (archive({"../a.png": PICTURES["cats/one.png"]}), {}, "forbidden name"),
        (archive({"a.txt": b"one", "b.txt": b"two"}), {}, "No word is left"),
        (archive({"a.txt": bytes(3 * 2**20)}), {}, "would grow to 3 MB"),
    ],
)
def test_what_a_format_of_its_own_cannot_hold_is_one_sentence(content, chosen, words):
    with pytest.raises(DataError, match=words):
        load_file(content, reading=inspect_file(content, chosen=chosen))


def test_images_of_several_sizes_are_brought_to_one():
    content = archive({**PICTURES, "d/x.png": picture(np.full((9, 9), 255))})
    reading = inspect_file(content, chosen={"settings": {"size": "16x16"}})
    data = load_file(content, reading=reading)
    assert data.image_shape == (16, 16) and data.X.shape == (256, 4)
    assert data.X[:, 3].tolist() == [1.0] * 256


def test_running_text_can_be_taken_as_a_table_and_says_why_it_was_not():
    content = REVIEWS.encode()
    reading = inspect_file(content, chosen={"settings": {"maximum_documents": 1.0}})
    assert (reading.format, reading.features_are) == ("texts", "words")
    why = "column 3 holds running text, 23 words a cell, most cells different"
    assert reading.reasons["format"] == why
    table = inspect_file(content, chosen={"format": "table"})
    assert (table.format, table.features_are) == ("table", "")
    assert table.formats == reading.formats == ("texts", "table")
    assert inspect_file(b"a,b\n1,2\n3,4\n").formats == ()


@pytest.mark.parametrize(
    "content, chosen, image_shape, map_shape",
    [
        (matlab(Y=CUBE, lines=[[3]], cols=[[5]]), {}, None, (3, 5)),
        (matlab(Y=CUBE, lines=[[3]], cols=[[5]]), {"observations": "rows"}, (3, 5), None),
        (matlab(Y=CUBE.T.reshape(3, 5, 40, order="F")), {}, None, (3, 5)),
        (matlab(X=BUMPS), {}, (12, 12), None),
        (matlab(X=BUMPS), {"image_shape": None}, None, None),
        (matlab(X=BUMPS[::5]), {}, None, None),
        (matlab(X=VALUES), {"image_shape": (2, 2)}, None, (2, 2)),
        (saved(np.save, VALUES), {"image_shape": (1, 3)}, (1, 3), None),
    ],
)
def test_pixels_are_the_side_that_has_as_many(content, chosen, image_shape, map_shape):
    reading = inspect_file(content, chosen=chosen)
    data = load_file(content, reading=reading)
    assert (data.image_shape, data.map_shape) == (image_shape, map_shape)


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the public data are not on this machine")
@pytest.mark.parametrize(
    "path, chosen, shape",
    [
        (
            "breast21_signatures/21_breast_WGS_substitutions.mat",
            {"observations": "columns"},
            (96, 21),
        ),
        ("cbcl/CBCL_uint8.mat", {}, (361, 2429)),
        ("jasper_ridge/jasperRidge2_R198.mat", {}, (198, 10_000)),
        ("samson/samson_dataset.mat", {}, (156, 9025)),
        ("olivetti/olivettifaces.mat", {}, (4096, 400)),
        # One of the 435 voted nowhere.
        ("congress_votes/house-votes-84.data", {}, (16, 434)),
        ("20newsgroups/20newsgroups-test.tab.gz", {}, (5000, 7528)),
        pytest.param(
            "20newsgroups/20newsgroups-train.tab.gz", {}, (5000, 11_293), marks=pytest.mark.long
        ),
    ],
)
def test_public_data_are_read_as_they_lie(path, chosen, shape):
    reading = inspect_file(REAL / path, chosen=chosen)
    assert load_file(REAL / path, reading=reading).X.shape == shape


@pytest.mark.parametrize("whole", [True, False])
def test_a_few_whole_numbers_among_fractions_are_doubted(whole):
    rng = np.random.default_rng(0)
    columns = {name: rng.random(20).round(3) for name in ("pike", "carp", "bream")}
    columns["trophic"] = np.arange(20) % 3 + (1 if whole else 0.5)
    reading = inspect_file(pd.DataFrame(columns).to_csv().encode())
    said = "Column 5 ('trophic') holds the whole numbers 1 to 3, and most others fractions"
    assert any(said in doubt for doubt in reading.doubts) == whole


@pytest.mark.parametrize("off", [0.0, 9.0])
def test_sums_among_what_is_summed_are_doubted(off):
    """A column and a last row of totals, and none where one value is not the sum."""
    values = np.random.default_rng(0).uniform(0.5, 9.5, (12, 5)).round(2)
    values = np.column_stack([values, values.sum(axis=1)])
    values = np.vstack([values, values.sum(axis=0)])
    values[3, -1] += off
    names = [f"site {row + 1}" for row in range(len(values))]
    table = pd.DataFrame(values, index=names, columns=[*"abcde", "total"])
    doubts = inspect_file(table.to_csv().encode()).doubts
    told = [doubt for doubt in doubts if "sum of all others" in doubt]
    assert len(told) == (0 if off else 2)
    assert off or ("'total'" in told[0] and "Row 14" in told[1])


def test_yes_and_no_hold_no_sums_and_an_index_that_names_nothing_is_left_out():
    rng = np.random.default_rng(4)
    table = pd.DataFrame(np.where(rng.random((30, 6)) < 0.3, "yes", "no"), columns=[*"abcdef"])
    table.insert(0, "species", [f"plant {k}" for k in range(30)])
    content = table.to_csv().encode()
    reading = inspect_file(content)
    assert not any("sum of all others" in doubt for doubt in reading.doubts)
    chosen = inspect_file(content, chosen={"names_column": 2})
    assert load_file(content, reading=chosen).X.shape == (6, 30)
    assert any("counts the rows once more: left out" in doubt for doubt in chosen.doubts)


@pytest.mark.parametrize(
    "names, said",
    [
        (("p", "q", "r", "Mean", "SD"), "Rows named 'Mean' and 'SD' look like summaries of the"),
        (("TOTAL", "p", "q", "r", "s"), "Rows named 'TOTAL' look like summaries of the others"),
        (("p", "q", "mean", "r", "s"), ""),
        (("sum", "total", "mean", "p", "q"), ""),
        (("p", "q", "r", "meander", "s"), ""),
    ],
)
def test_rows_at_an_edge_that_are_named_like_summaries_are_doubted(names, said):
    rows = "".join(f"{name},{5 * row % 7},{row}.5\n" for row, name in enumerate(names))
    told = [doubt for doubt in inspect_file(f"n,a,b\n{rows}".encode()).doubts if "summar" in doubt]
    assert len(told) == bool(said) and all(doubt.startswith(said) for doubt in told)
