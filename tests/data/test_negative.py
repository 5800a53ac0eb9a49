"""Negative entries: a fault until it is chosen what becomes of them, in every kind of file."""

import io

import numpy as np
import pytest

from bnmf_core import inspect_file, load_file
from bnmf_core.core.errors import DataError

X = np.array([[0.5, -0.25, 2.0], [1.5, 3.0, -0.125], [0.75, 0.25, 4.0]])
HEADER = "id,400 nm,410 nm,420 nm\n"


def as_csv():
    lines = [f"s{n},{','.join(map(repr, row))}" for n, row in enumerate(X.tolist())]
    return (HEADER + "\n".join(lines)).encode(), "a.csv"


def as_npy():
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue(), "a.npy"


@pytest.mark.parametrize("make", [as_csv, as_npy])
def test_they_are_refused_until_something_is_chosen(make):
    content, name = make()
    reading = inspect_file(content, filename=name)
    assert reading.negative == "refused" and "which is negative" in reading.faults[0]
    with pytest.raises(DataError, match="which is negative"):
        load_file(content, filename=name)


@pytest.mark.parametrize("make", [as_csv, as_npy])
@pytest.mark.parametrize("choice", ["zero", "missing"])
def test_what_was_chosen_is_done_and_said(make, choice):
    content, name = make()
    reading = inspect_file(content, filename=name, chosen={"negative": choice})
    assert reading.faults == () and reading.negative == choice
    assert {"zero": "set to 0", "missing": "treated as missing"}[choice] in reading.doubts[-1]
    data = load_file(content, filename=name, reading=reading)
    wanted = np.where(X < 0, 0.0, X)
    found = data.dense().T if reading.observations == "rows" else data.dense()
    np.testing.assert_array_equal(found, wanted)
    assert data.missing == (2 if choice == "missing" else 0)
    assert "negative" in data.source.lower()


def test_without_negative_entries_there_is_nothing_to_choose():
    reading = inspect_file(b"a,b\n1,2\n3,4\n5,6\n", filename="a.csv", chosen={"negative": "zero"})
    assert reading.negative == "" and not any("egative" in doubt for doubt in reading.doubts)
    with pytest.raises(DataError, match="choose 'refused', 'zero' or 'missing'"):
        inspect_file(b"a,b\n1,2\n3,4\n", filename="a.csv", chosen={"negative": "clip"})
