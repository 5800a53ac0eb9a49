"""Files whose numbers are easily read as others: they are read as they are, or doubted, or refused.

Each test is one way in which a file was once read with other numbers, and nothing was said.
"""

import io
import re
import zipfile

import h5py
import numpy as np
import pandas as pd
import pytest
from PIL import Image
from scipy import sparse

from bnmf_core.core.errors import DataError
from bnmf_core.data.load import inspect_file, load_file
from tests.data.formatted import archive, hdf5, parquet, workbook
from tests.data.layout import ABC, VALUES, frame, saved

LEVELS = np.array([[0, 1000, 40_000], [65_535, 257, 30_000]], dtype=np.uint16)


def picture(array, kind, **options):
    return saved(Image.fromarray(array).save, format=kind, **options)


def pgm(levels, largest):
    """A plain PGM file."""
    rows = "\n".join(" ".join(map(str, row)) for row in levels)
    return f"P2\n{levels.shape[1]} {levels.shape[0]}\n{largest}\n{rows}\n".encode()


def zipped(*files, ending=".png"):
    return archive({f"{number}{ending}": content for number, content in enumerate(files)})


def pixels(content, number=0, **chosen):
    """The pixels of one image as they were read."""
    data = load_file(content, filename="a.zip", **chosen)
    return data.dense()[:, number].reshape(data.image_shape, order="F")


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_images_of_16_bits(kind):
    if kind == "PPM":
        contents = [pgm(level, 65_535) for level in (LEVELS, LEVELS[::-1])]
    else:
        contents = [picture(level, kind) for level in (LEVELS, LEVELS[::-1])]
    content = zipped(*contents, ending={"PNG": ".png", "TIFF": ".tif", "PPM": ".pgm"}[kind])
    np.testing.assert_array_equal(pixels(content), LEVELS / 65_535)
    np.testing.assert_array_equal(pixels(content, 1), LEVELS[::-1] / 65_535)
    assert not [doubt for doubt in inspect_file(content).doubts if "bits" in doubt]


def test_images_of_16_bits_are_scaled_to_another_size_without_being_cut_off():
    flat = np.full((40, 40), 30_000, dtype=np.uint16)
    content = zipped(picture(flat, "PNG"), picture(flat // 2, "PNG"))
    reading = inspect_file(content, chosen={"settings": {"size": "16x16"}})
    data = load_file(content, reading=reading)
    np.testing.assert_allclose(data.dense(), np.tile([30_000, 15_000], (256, 1)) / 65_535, 1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_images_of_32_bits_are_read_as_they_are_and_doubted(dtype):
    levels = np.array([[0.0, 0.25, 0.5], [1.0, 0.75, 0.125]]) * (1 if dtype == np.float32 else 1e6)
    levels = levels.astype(dtype)
    content = zipped(*(picture(one, "TIFF") for one in (levels, levels[::-1])), ending=".tif")
    np.testing.assert_array_equal(pixels(content), levels)
    assert any("read as they are" in doubt for doubt in inspect_file(content).doubts)


def test_images_of_8_and_of_32_bits_are_no_data_of_one_scale():
    content = zipped(
        picture(np.ones((2, 3), np.float32), "TIFF"),
        picture(np.full((2, 3), 128, np.uint8), "TIFF"),
        ending=".tif",
    )
    with pytest.raises(DataError, match=r"'1\.tif' has grey levels .* '0\.tif' numbers of 32 bits"):
        inspect_file(content)


@pytest.mark.parametrize("kind, ending", [("TIFF", ".tif"), ("GIF", ".gif")])
def test_pages_and_frames_that_are_not_read_are_said(kind, ending):
    frames = [Image.fromarray(np.full((4, 4), level, np.uint8)) for level in (10, 100, 200)]
    several = saved(frames[0].save, format=kind, save_all=True, append_images=frames[1:])
    content = zipped(several, saved(frames[1].save, format=kind), ending=ending)
    (doubt,) = (one for one in inspect_file(content).doubts if "page or frame" in one)
    assert doubt.startswith(f"'0{ending}': more than one page or frame, of which only the first")
    single = zipped(*(saved(one.save, format=kind) for one in frames), ending=ending)
    assert not any("frames" in one for one in inspect_file(single).doubts)


# Cells of a column, and what they must be.
MARKED = {
    "thousands": (["1,234", "2,345,678", "999", "12,000.5"], [1234, 2345678, 999, 12000.5]),
    "few thousands": (["1,234", "7", "8", "9"], [1234, 7, 8, 9]),
    "spaces": (["1 234", "2 345", "7", "8"], [1234, 2345, 7, 8]),
    "percentages": (["5%", "7.5 %", "0.25%", "100%"], [5, 7.5, 0.25, 100]),
    "dollars": (["$5", "$7.25", "$1,200", "6"], [5, 7.25, 1200, 6]),
    "euros": (["5 €", "7 €", "9 €", "1 €"], [5, 7, 9, 1]),
}
# Cells that are no numbers of one kind, and what is said.
NO_NUMBERS = {
    "limits": (["<5", "<5", "<5", "7"], "'<5' is a limit, not a number"),
    "one limit": (["<5", "6", "8", "7"], "'<5' is a limit, not a number"),
    "percentages and others": (["5%", "7%", "8%", "0.5"], "as percentages, or none"),
    "two currencies": (["$5", "€7", "$8", "$5"], "in the same way"),
}


def table(cells):
    return pd.DataFrame({"a": [5.1, 4.9, 6.3, 5.8], "b": cells, "c": [1.4, 1.5, 6.0, 5.2]})


def as_csv(cells):
    return table(cells).to_csv(index=False).encode()


def as_sheet(cells):
    return workbook(one=(table(cells), {"index": False}))


def as_parquet(cells):
    return parquet(table(cells))


FORMS = [as_csv, as_sheet, as_parquet]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", MARKED)
def test_numbers_written_with_marks_are_numbers_and_doubted(form, kind):
    cells, values = MARKED[kind]
    reading = inspect_file(form(cells))
    assert reading.number_columns == (1, 2, 3) and not reading.faults
    (doubt,) = (one for one in reading.doubts if one.startswith("Column 2 ('b')"))
    assert f"such as {cells[0]!r}: read as {values[0]:g}" in doubt
    data = load_file(form(cells), reading=reading)
    np.testing.assert_array_equal(data.dense()[data.features.index("b")], values)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", NO_NUMBERS)
def test_numbers_that_cannot_be_read_as_one_kind_are_refused_in_a_sentence(form, kind):
    cells, words = NO_NUMBERS[kind]
    (fault,) = inspect_file(form(cells)).faults
    assert fault.startswith("Row 2, column 2 ('b') holds") and words in fault
    with pytest.raises(DataError, match=re.escape(words)):
        load_file(form(cells))


def test_a_limit_can_be_said_to_mean_that_nothing_was_seen():
    reading = inspect_file(as_csv(["<5", "<5", "<5", "7"]), chosen={"missing_words": ("<5",)})
    data = load_file(as_csv(["<5", "<5", "<5", "7"]), reading=reading)
    assert data.features == ("a", "b", "c") and data.missing == 3


def test_marks_in_a_table_without_a_header_are_numbers_in_the_first_row_too():
    data = load_file(b'5.1,"1,234",1\n4.9,"2,345",3\n6.3,999,5\n')
    np.testing.assert_array_equal(data.dense()[1], [1234, 2345, 999])


def test_points_between_thousands_where_the_decimal_mark_is_a_comma():
    content = b"a;b;c\n1,5;1.234,5;2\n2,5;2.345,5;3\n3;9.999,5;5\n"
    data = load_file(content, filename="a.csv")
    np.testing.assert_array_equal(data.dense()[data.features.index("b")], [1234.5, 2345.5, 9999.5])


@pytest.mark.parametrize("cells", [["<5", ">5", "<5", ">5"], ["<5", "5-10", ">10", "<5"]])
def test_groups_that_are_called_like_limits_are_labels(cells):
    data = load_file(as_csv(cells))
    assert data.features == ("a", "c") and list(data.labels["b"]) == cells


def changed(content, pattern, replacement, name="xl/worksheets/sheet1.xml", count=1):
    """A workbook with a change in the XML of its sheet."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        for member in old.namelist():
            data = old.read(member)
            if member == name:
                data, found = re.subn(pattern, replacement, data, flags=re.DOTALL)
                assert found == count
            new.writestr(member, data)
    return file.getvalue()


SHEET = workbook(one=(frame(), {"index": False}))


@pytest.mark.parametrize("claim", ["A1", "A1:B2", "A1:C3", "A1:XFD1048576", "C2:C2"])
def test_a_sheet_may_claim_any_size(claim):
    content = changed(SHEET, rb'<dimension ref="[^"]*"', b'<dimension ref="%s"' % claim.encode())
    data = load_file(content)
    assert data.features == ABC
    np.testing.assert_array_equal(data.dense(), VALUES.T)


@pytest.mark.parametrize("order", [(1, 3, 2, 5, 4), (1, 5, 4, 3, 2)])
def test_rows_of_a_sheet_stand_where_they_say(order):
    with zipfile.ZipFile(io.BytesIO(SHEET)) as opened:
        xml = opened.read("xl/worksheets/sheet1.xml")
    rows = re.findall(rb"<row .*?</row>", xml, re.DOTALL)
    assert len(rows) == 5
    shuffled = b"".join(rows[number - 1] for number in order)
    content = changed(SHEET, rb"<row .*</row>", shuffled.replace(b"\\", b"\\\\"))
    np.testing.assert_array_equal(load_file(content).dense(), VALUES.T)


@pytest.mark.parametrize("place", [b"B3", b"A5", b"C5"])
def test_a_cell_that_stands_in_another_row_or_twice_is_refused(place):
    content = changed(SHEET, rb'<c r="B5"', b'<c r="%s"' % place)
    with pytest.raises(DataError, match="Row 5 of the sheet is damaged: it holds a cell twice"):
        load_file(content)


def test_a_sheet_may_have_thousands_of_rows():
    values = np.arange(3000.0).reshape(1000, 3)
    data = load_file(workbook(one=(frame(values=values), {"index": False})))
    np.testing.assert_array_equal(data.dense(), values.T)


@pytest.mark.parametrize("formula", [b"A2+1", b"[1]Sheet1!A1"])
def test_a_formula_without_a_stored_value_is_said(formula):
    cell = rb'(<c r="B3"[^>]*>)<v>[^<]*</v>'
    content = changed(SHEET, cell, rb"\1<f>%s</f>" % formula)
    (doubt,) = (one for one in inspect_file(content).doubts if "formula" in one)
    assert doubt.startswith("1 formula has no value in the file, in B3: treated as missing.")
    assert load_file(content).missing == 1
    known = changed(SHEET, cell, rb"\1<f>%s</f><v>3</v>" % formula)
    np.testing.assert_array_equal(load_file(known).dense(), VALUES.T)
    assert not any("formula" in one for one in inspect_file(known).doubts)


@pytest.mark.parametrize("layout", ["coo", "csr", "csc"])
def test_entries_of_one_place_in_a_sparse_matrix_are_added_without_overflow(layout):
    arrays = {"format": np.array(layout.encode()), "shape": np.array([3, 2])}
    arrays["data"] = np.array([200, 100, 7], dtype=np.uint8)
    if layout == "coo":
        arrays |= {"row": np.array([1, 1, 2]), "col": np.array([0, 0, 1])}
    elif layout == "csr":
        arrays |= {"indices": np.array([0, 0, 1]), "indptr": np.array([0, 0, 2, 3])}
    else:
        arrays |= {"indices": np.array([1, 1, 2]), "indptr": np.array([0, 2, 3])}
    data = load_file(saved(np.savez, **arrays), observations="columns")
    np.testing.assert_array_equal(data.dense(), [[0, 0], [300, 0], [0, 7]])


@pytest.mark.parametrize("newest", [False, True])
@pytest.mark.parametrize("kind", ["csr_matrix", "csc_matrix"])
def test_cells_with_a_sparse_matrix_and_no_table_of_observations(kind, newest):
    matrix = (sparse.csr_array if kind == "csr_matrix" else sparse.csc_array)(VALUES)

    def fill(opened):
        group = opened.create_group("X")
        group.attrs["encoding-type"], group.attrs["shape"] = kind, matrix.shape
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(matrix, name)

    content = hdf5(fill)
    if newest:
        file = io.BytesIO()
        with h5py.File(file, "w", libver="latest") as opened:
            fill(opened)
        content = file.getvalue()
    reading = inspect_file(content, filename="a.h5ad")
    assert reading.format == "h5ad"
    np.testing.assert_array_equal(load_file(content, reading=reading).dense(), VALUES.T)


def test_words_of_a_vocabulary_are_features_and_classes_at_an_edge_are_labels():
    rng = np.random.default_rng(0)
    words = [f"word{i:03d}" for i in range(200)]
    words[40], words[90], words[150] = "group", "digit", "time"
    counts = rng.integers(0, 4, (30, 200))
    batch = rng.integers(0, 2, 30)
    lines = [",".join(["document", "batch", *words])]
    lines += [
        ",".join([f"text {i}", str(batch[i]), *map(str, row)]) for i, row in enumerate(counts)
    ]
    reading = inspect_file("\n".join(lines).encode(), filename="texts.csv")
    assert reading.label_columns == (2,)
    assert len(reading.number_columns) == 200
    assert any("columns group, digit and time are headed like" in said for said in reading.doubts)


@pytest.mark.parametrize("side", ["features", "observations"])
def test_pixels_that_run_along_rows_are_put_where_they_belong(side):
    image = np.arange(6.0).reshape(2, 3) + 1
    others = np.ones((6, 4))
    table = np.column_stack([image.ravel(), others])  # as NumPy unfolds an image
    names = [f"r{i}c{j}" for i in range(2) for j in range(3)]
    where = "columns" if side == "features" else "rows"
    lines = [",".join(["pixel", *"abcde"])]
    lines += [",".join([name, *map(str, row)]) for name, row in zip(names, table, strict=True)]
    chosen = {"observations": where, "image_shape": (2, 3), "pixel_order": "rows"}
    reading = inspect_file("\n".join(lines).encode(), filename="a.csv", chosen=chosen)
    data = load_file("\n".join(lines).encode(), filename="a.csv", reading=reading)
    values, called = data.dense(), data.features
    if side == "observations":
        values, called = values.T, data.observations
    np.testing.assert_array_equal(values[:, 0].reshape(2, 3, order="F"), image)
    assert list(called) == ["r0c0", "r1c0", "r0c1", "r1c1", "r0c2", "r1c2"]
    with pytest.raises(DataError, match="'columns' or 'rows'"):
        inspect_file(b"a,b\n1,2\n", chosen={"pixel_order": "spiral"})


@pytest.mark.parametrize(
    "table, doubted",
    [
        ("n;a;b\np;225;1.004\nq;561;2.345\n", "Row 2, column 3 ('b') holds '1.004'"),
        ("n,a,b\np,225,2.5\nq,1.561,3.5\n", ""),
        ("n,a,b\np,225,7\nq,1.561,8\n", "Row 3, column 2 ('a') holds '1.561'"),
        ("n,a,b\np,225,1.500\nq,561,2.000\n", ""),
        ("n;a;b\np;3;0.123\nq;5;0.456\n", ""),
        ("n;a;b\np;225;3.000\nq;561;2.000\n", "Row 2, column 3 ('b') holds '3.000'"),
        ("n;a;b\np;225;1234.567\nq;561;2.345\n", ""),
    ],
)
def test_points_that_may_stand_between_thousands_are_doubted(table, doubted):
    content = table.encode()
    told = [one for one in inspect_file(content).doubts if "--decimal comma" in one]
    assert len(told) == bool(doubted) and all(one.startswith(doubted) for one in told)
    point = inspect_file(content, chosen={"decimal_mark": "."})
    assert not any("--decimal" in doubt for doubt in point.doubts)
    if doubted:
        cell = doubted.split("'")[-2]
        comma = load_file(content, reading=inspect_file(content, chosen={"decimal_mark": ","}))
        assert float(cell.replace(".", "")) in comma.X and float(cell) in load_file(content).X


def test_commas_between_semicolons_are_decimal_marks_and_doubted_where_they_may_be_another():
    content = b"n;kind;a;b\np;u;1,225;4,531\nq;v;2,004;7,841\n"
    reading = inspect_file(content)
    assert (reading.decimal_mark, reading.header_row) == (",", 1)
    assert reading.doubts[0].startswith("Numbers such as '1,225' are read as 1.225, not as 1225;")
    np.testing.assert_array_equal(load_file(content).X, [[1.225, 2.004], [4.531, 7.841]])


@pytest.mark.parametrize(
    "content",
    [
        b"n;a;b\np;225;1,225\nq;2,004;5\n",
        b"n\ta\tb\np\t1,225\t4,531\nq\t2,004\t5,123\n",
        b"n;a;b\np;1,225,007;4,531\nq;2,004;7,841\n",
    ],
)
def test_commas_of_two_meanings_are_refused_below_their_header_and_the_cure_is_named(content):
    reading = inspect_file(content)
    assert reading.header_row == 1
    cure = "choose the comma as the decimal mark (--decimal comma)"
    assert reading.faults and all(cure in fault for fault in reading.faults)
    assert all(fault.startswith(("Row 2", "Row 3")) for fault in reading.faults)
