"""Lists of items by number, as of the FIMI repository, become a binary matrix."""

import numpy as np
import pytest

from bnmf_core import inspect_file, load_file
from bnmf_core.core.errors import DataError
from bnmf_core.data.kinds import Kind, numbers_of


def baskets(count=60, seed=0):
    rng = np.random.default_rng(seed)
    return [np.sort(rng.choice(30, rng.integers(3, 9), replace=False)) for _ in range(count)]


def written(lists):
    return "\n".join(" ".join(map(str, one)) for one in lists).encode()


def test_an_entry_says_whether_a_line_lists_the_item():
    lists = baskets()
    data = load_file(written(lists), filename="baskets.dat")
    items = np.unique(np.concatenate(lists))
    assert data.features == tuple(f"item {number}" for number in items)
    np.testing.assert_array_equal(data.dense().T, [np.isin(items, one) for one in lists])
    assert numbers_of(data).kind is not Kind.COUNTS


def test_such_a_file_can_be_opened_as_a_table():
    lists = [[1, 5, 9, 12]] * 20 + [[2, 5, 9, 13]] * 20
    content = written(lists)
    assert inspect_file(content).format == "transactions"
    table = inspect_file(content, chosen={"format": "table", "observations": "rows"})
    assert load_file(content, reading=table).X.shape == (4, 40)


@pytest.mark.parametrize(
    "lists",
    [
        np.random.default_rng(1).poisson(4, (60, 5)),
        [[k, k + 1, 1000 + k] for k in range(60)],  # numbers that hardly come again
        [[1.5, 2.5, 3.5]] * 60,
    ],
)
def test_a_table_of_numbers_is_none(lists):
    assert inspect_file(written(lists)).format == "table"


def test_a_line_with_a_word_is_named():
    content = written(baskets(2_000)) + b"\n3 milk\n"
    with pytest.raises(DataError, match="Line 2,001 holds something else"):
        load_file(content, filename="baskets.dat")
