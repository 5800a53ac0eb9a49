"""The workbook: every sheet holds what the comparison holds, and no cell is a formula."""

import io
from dataclasses import replace

import numpy as np
import openpyxl
import pytest

from bnmf_core.findings import verdicts
from bnmf_core.share import workbook
from bnmf_core.share.methods import methods


def opened(answer):
    file = io.BytesIO()
    workbook.write_workbook(file, answer)
    return openpyxl.load_workbook(io.BytesIO(file.getvalue()))


def rows(sheet):
    head, *others = ([cell.value for cell in row] for row in sheet.iter_rows())
    return head, others


@pytest.fixture(scope="module")
def book(answer):
    return opened(answer)


def test_there_is_a_sheet_for_everything(book, answer):
    assert book.sheetnames == [
        "findings",
        "modes",
        "components",
        "weights",
        "factorizations",
        "runs",
        "methods",
    ]
    _, found = rows(book["findings"])
    assert [row[1] for row in found][-len(answer.findings) :] == [
        finding.sentence for finding in answer.findings
    ]
    _, modes = rows(book["modes"])
    assert [row[0] for row in modes] == answer.mode_names
    np.testing.assert_allclose([row[10] for row in modes], answer.table["best_error"], rtol=1e-12)
    assert rows(book["methods"])[1][0][0] == methods(answer).splitlines()[0]
    _, runs = rows(book["runs"])
    assert [row[3] for row in runs] == [str(run.spec.seed) for run in answer.comparison.runs]


def test_factors_multiply_to_what_each_mode_says_of_the_data(book, answer):
    comparison, R = answer.comparison, answer.comparison.rank
    head, A = rows(book["components"])
    first, W = rows(book["weights"])
    labels = len(comparison.dataset.labels)
    assert head[1:] == first[1 + labels :]
    A = np.array([row[1:] for row in A], dtype=float)
    W = np.array([row[1 + labels :] for row in W], dtype=float)
    for place, k in enumerate(verdicts.leading(answer)[: workbook.MOST_MODES]):
        part = slice(place * R, (place + 1) * R)
        assert head[1 + place * R].startswith(f"{answer.mode_names[k]}, component 1")
        basis, weights = comparison.factors([int(answer.modes.representative[k])])
        np.testing.assert_allclose(A[:, part] @ W[:, part].T, basis[0] @ weights[0], rtol=1e-9)


def test_no_cell_is_a_formula_whatever_it_begins_with(answer, monkeypatch):
    hostile = replace(answer)
    begins = ["=1+1", "+SUM(A1)", "-1", "@x\x07"]
    names = [begins[k % 4] for k in range(answer.modes.count)]
    monkeypatch.setitem(vars(hostile), "mode_names", names)
    found = opened(hostile)
    assert [row[0].value for row in found["modes"].iter_rows(min_row=2)] == [
        name.rstrip("\x07") for name in names
    ]
    cells = [cell for sheet in found for row in sheet.iter_rows() for cell in row]
    assert not any(cell.data_type == "f" for cell in cells)


def test_what_is_not_known_stays_empty(book, answer):
    _, modes = rows(book["modes"])
    unknown = answer.table[list(workbook.OF_MODES)].isna().to_numpy()
    empty = np.array([[value is None for value in row[1:]] for row in modes])
    np.testing.assert_array_equal(empty, unknown)


def test_long_sheets_are_cut_and_say_so(answer, monkeypatch):
    monkeypatch.setattr(workbook, "MOST_ROWS", 4)
    found = opened(answer)
    D, N = answer.comparison.dataset.D, answer.comparison.dataset.N
    assert found["components"]["A1"].value == f"4 of {D} rows; all are in the archive."
    assert found["weights"]["A1"].value == f"4 of {N} rows; all are in the archive."
    assert found["components"].max_row == 6
