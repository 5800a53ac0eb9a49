"""Tables of text: names, labels, missing cells, decimal commas, and faults by their place."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.core.errors import DataError
from bnmf_core.core.names import clean_name, clean_names
from bnmf_core.data import text
from bnmf_core.data.load import inspect_file, load_file
from tests.data.written import read


def test_labels_names_and_missing_cells():
    content = b"id,age,group,height\np1,1,x,NA\np2,,y,2.5\np3,3,x,nan\np4,4,,4\n"
    dataset = load_file(content)
    assert dataset.observations == ("p1", "p2", "p3", "p4")
    assert dataset.features == ("age", "height")
    assert dataset.labels["group"].tolist() == ["x", "y", "x", ""]
    assert dataset.missing == 3
    np.testing.assert_array_equal(dataset.X, [[1, 0, 3, 4], [0, 2.5, 0, 4]])


def test_a_first_column_with_repeats_is_a_label_when_rows_are_observations():
    content = b"species,a,b\ncat,1,2\ndog,3,4\ncat,5,6\n"
    dataset = load_file(content)
    assert dataset.labels["species"].tolist() == ["cat", "dog", "cat"]
    genes = load_file(content, observations="columns")
    assert genes.features == ("cat", "dog", "cat (2)")
    assert genes.observations == ("a", "b")


@pytest.mark.parametrize(
    "content, names",
    [
        (b",0,1,2\n0,5,6,7\n1,8,9,1\n", ("0", "1")),
        (b',"a","b","c"\n"x",5,6,7\n"y",8,9,1\n', ("x", "y")),
        (b'"a"\t"b"\n"x"\t5\t6\n"y"\t8\t9\n', ("x", "y")),
        (b",2001,2002\nx,5,6\ny,8,9\n", ("x", "y")),
    ],
)
def test_row_names_as_other_programs_write_them(content, names):
    dataset = load_file(content)
    assert dataset.observations == names
    assert dataset.X[0].tolist() == [5, 8]


def test_an_unnamed_column_of_numbers_that_repeat_holds_names_and_is_data_if_asked():
    content = b",b,c\n1,2,3\n1,5,4\n"
    dataset = load_file(content)
    assert dataset.features == ("b", "c") and dataset.observations == ("1", "1 (2)")
    assert "has no header and repeats itself" in dataset.source
    dataset = load_file(content, reading=inspect_file(content, chosen={"names_column": None}))
    assert dataset.features == ("column 1", "b", "c")
    np.testing.assert_array_equal(dataset.X, [[1, 1], [2, 5], [3, 4]])


def test_double_headers_get_numbers():
    dataset = load_file(b"a,a,,a (2)\n1,2,3,4\n5,6,7,8\n")
    assert dataset.features == ("a", "a (2)", "column 3", "a (2) (2)")


def test_decimal_commas_where_they_are_unambiguous():
    dataset = load_file(b"a;b\n1,5;2\n3;4,25\n")
    np.testing.assert_array_equal(dataset.X, [[1.5, 3], [2, 4.25]])
    later = b"a;b\n" + b"1,5;2\n" * 1000 + b"3;4.5\n"
    with pytest.raises(DataError, match=r"Row 1002, column 2 \('b'\) holds '4.5'.*a comma"):
        load_file(later)


def test_decimal_commas_in_quotes_between_commas():
    content = b'name,a,b\nx,"9,7","1,25"\ny,"3,1",4\nz,"0,5","2,75"\n'
    dataset = load_file(content)
    assert dataset.features == ("a", "b") and not dataset.labels
    np.testing.assert_array_equal(dataset.X, [[9.7, 3.1, 0.5], [1.25, 4, 2.75]])


@pytest.mark.parametrize("content", [b"a;b\n1,5;2\n3;4.5\n", b"a\tb\n1,234\t2\n3\t4\n"])
def test_commas_that_may_mean_two_things_are_refused(content):
    with pytest.raises(DataError, match="Row 2, column 1 .* Write decimals with a point"):
        load_file(content)


@pytest.mark.parametrize(
    "content",
    [
        "é,b\n1,2\n3,4\n".encode(),
        b"\xef\xbb\xbf" + "é,b\n1,2\n3,4\n".encode(),
        "é,b\n1,2\n3,4\n".encode("latin-1"),
        "é,b\r\n1,2\r\n3,4\r\n".encode("utf-16"),
        "é,b\r1,2\r3,4\r".encode(),
        "\n\né,b\n\n1,2\n,\n3,4\n\n".encode(),
    ],
)
def test_encodings_line_ends_and_blank_lines(content):
    dataset = load_file(content)
    assert dataset.features == ("é", "b")
    np.testing.assert_array_equal(dataset.X, [[1, 3], [2, 4]])


@pytest.mark.parametrize(
    "content, words",
    [
        (b"a,b\n1,2\n3,x\n5,6\n", r"Row 3, column 2 \('b'\) holds 'x'"),
        (b"1,2,z\n3,4,5\n6,7,8\n", "Row 1, column 3 holds 'z'"),
        (b'a,b\n1,2\n3,"4,5"\n6,7\n', "Row 3, column 2 .*'4,5'.*decimals"),
        (b"a,b\n1,2\n3,1_000\n6,7\n", "Row 3, column 2 .*'1_000'"),
        (b"a,b\n1,2\n\n3,4,5\n", "Row 4 has 3 cells, but row 2 has 2"),
        (b"1,2,3\n4,5\n", "Row 2 has 2 cells, but row 1 has 3"),
        (b"1,2\n3,4,5\n6,7,8\n", "Row 2 has 3 cells, but row 1 has 2"),
        (b"a,b\n1,2\n3,-4\n", r"Row 3, column 2 \('b'\) holds -4, which is negative"),
        (b"a,b\n1,inf\n3,4\n", r"Row 2, column 2 \('b'\) holds inf, which is not finite"),
        (b"a,b\n1,1e999\n3,4\n", "Row 2, column 2 .*not finite"),
        (b"a,b\nx,y\nz,w\n", "no column of numbers"),
        (b"1\n2\n3\n", "Only one column"),
        (b"one word\nand two more\n", "Only one column"),
        (b"1,2\n", "fewer than two rows"),
        (b",,\n,,\n", "Only one column"),
        (b'a,b\n1,2\n"3,4\n5,6\n', "Row 3 cannot be cut.*quotation"),
        (b'a,b\n1,2\n"3"x,4\n', "Row 3 cannot be cut.*quotation"),
        (b"a,b\n1,2\n" + b"x" * 10_001 + b",4\n", "Row 3, column 1 holds more than 10,000"),
        (b"a,b\n1,2\n" + b"x" * 200_000 + b",4\n", "Row 3 cannot be cut"),
        (b"1," * 200_001 + b"1\n", "200,000 cells.*whatever the limits; turn it"),
        (b"\xff\xfe1\x00,\x002\x00\n\x00\x00\xd8", "UTF-16 text but is damaged"),
        (b"0,0\n0,0\n", "zero"),
    ],
)
def test_faults_of_tables_are_located(content, words):
    with pytest.raises(DataError, match=words):
        load_file(content)


def test_words_beside_numbers_when_columns_are_observations_describe_features():
    content = b"gene,about,a,b\ng1,x,1,2\ng2,y,3,4\n"
    dataset = load_file(content, observations="columns")
    assert dataset.observations == ("a", "b") and dataset.features == ("g1", "g2")
    assert dataset.descriptions["about"].tolist() == ["x", "y"]


def test_the_number_of_rows_is_capped(monkeypatch):
    monkeypatch.setattr(text, "MAX_ROWS", 10)
    with pytest.raises(DataError, match="more than 10 rows"):
        read(b"1,2\n" * 11)
    with pytest.raises(DataError, match="more than 10 rows"):
        read(b"1,2\n" + b"\n" * 11)


def test_an_empty_last_column_is_dropped():
    np.testing.assert_array_equal(load_file(b"1,2,\n3,4,\n").X, [[1, 3], [2, 4]])


def test_names_from_outside_are_made_safe():
    hostile = "\u202e<script>\x00\x07\tevil\u200b"
    dataset = load_file(
        f"{hostile.replace(chr(0), '')},b\n1,2\n3,4\n".encode(), filename="a\x1b.csv"
    )
    assert dataset.features[0] == "<script> evil"
    assert dataset.name == "a"
    assert clean_name(hostile) == "<script> evil"
    assert clean_name("x" * 10**6) == "x" * 199 + "…"
    assert clean_names(["a", "", "a", "a (2)"], "item") == ["a", "item 2", "a (2)", "a (2) (2)"]


@given(st.text(max_size=300), st.integers(1, 50))
def test_clean_names_are_short_visible_and_stay_clean(text, limit):
    clean = clean_name(text, limit)
    assert len(clean) <= limit
    assert clean.isprintable() or any(not c.isprintable() for c in text)
    assert not any(ord(c) < 32 or 0x202A <= ord(c) <= 0x202E for c in clean)
    assert clean_name(clean, limit) == clean


@given(st.lists(st.text(max_size=5), max_size=30))
def test_clean_names_differ(texts):
    names = clean_names(texts, "item")
    assert len(set(names)) == len(names) == len(texts)
    assert all(names)


def test_species_in_rows_are_asked_about_since_they_may_be_either_side():
    counted = inspect_file(b"species,site 1,site 2\noak,1,2\nelm,4,5\nash,7,8\n")
    assert counted.observations == "columns"
    reading = inspect_file(b"species,north,south\noak,1,2\nelm,4,5\nash,7,8\n")
    assert reading.observations == "rows"
    assert any(
        "headed 'species'" in doubt and "Choose columns" in doubt for doubt in reading.doubts
    )
