"""Files of under a megabyte never take long, however many columns or members they have."""

import gzip

import pytest

from bnmf_core.core.errors import DataError
from bnmf_core.core.limits import Limits
from bnmf_core.data.isolation import ReaderProcess
from tests.data.written import read

MANY = 150_000


def table(*rows):
    return "\n".join(map(",".join, rows)).encode()


def rows(count, cell, *above):
    return table(*above, *([cell(row, i) for i in range(count)] for row in range(3)))


# Each once took minutes: some step was repeated for every column, over all columns. Beside it the
# rows and columns of its numbers, None where it has none; words may head the columns.
WIDE = {
    "numbers": (lambda: rows(MANY, lambda row, i: str((7 * i + 2 * row) % 9)), (3, MANY)),
    "words": (lambda: rows(MANY, lambda row, i: "ab"[(i + row) % 2]), None),
    "yes and no": (lambda: rows(MANY, lambda row, i: "ny"[(i + row) % 2]), (3, MANY)),
    "percentages": (lambda: rows(MANY // 2, lambda row, i: f"{(i + row) % 9}%"), (2, MANY // 2)),
    "columns without a name": (
        lambda: rows(40_000, lambda row, _: str(row), [f"unnamed:{i}" for i in range(40_000)]),
        None,
    ),
    "empty members": (lambda: gzip.compress(b"") * 40_000 + gzip.compress(b"1,2\n3,4\n"), (2, 2)),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", WIDE)
def test_a_file_of_under_a_megabyte_is_soon_read_or_refused(kind):
    make, shape = WIDE[kind]
    content = make()
    assert len(content) < 2**20
    limits = Limits(reading_seconds=20.0)  # on a machine that does much else
    with ReaderProcess(content, "wide.csv", "both", limits=limits) as reader:
        if shape is None:
            with pytest.raises(DataError, match="^The table has no column of numbers.$"):
                reader.parts()
        else:
            assert reader.parts()["X"].T.shape == shape


@pytest.mark.slow
@pytest.mark.timeout(5)
def test_more_lines_than_can_be_read_are_refused_before_they_are_cut():
    with pytest.raises(DataError, match="more than 5,000,000 rows"):
        read(b"1,2\n" * 5_000_001)
