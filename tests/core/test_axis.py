"""Places along an axis: numbers with one unit, in their order."""

import numpy as np
import pytest

from bnmf_core import Dataset
from bnmf_core.core.axis import axis_of


def assert_place(value, name):
    assert value == float(name.split(" ")[0].removeprefix("X"))


@pytest.mark.parametrize(
    ("names", "unit"),
    [
        ([f"{x:g}" for x in np.linspace(400, 700, 9)], ""),
        ([f"{x} nm" for x in range(400, 480, 10)], "nm"),
        ([f"{x}.5 (cm-1)" for x in range(4000, 3200, -100)], "cm-1"),
        ([f"X{x}" for x in range(400, 480, 10)], ""),
        ([f"{x}e-7" for x in range(1, 10)], ""),
        ([f"X{x} min" for x in range(9)], "min"),
    ],
)
def test_numbers_with_one_unit_in_their_order_are_places(names, unit):
    found = axis_of(names)
    assert found.unit == unit and len(found.values) == len(names)
    assert_place(found.values[1], names[1])


@pytest.mark.parametrize(
    "names",
    [
        [f"feature {d}" for d in range(1, 20)],
        [str(d) for d in range(20)],
        [f"{d}_at" for d in range(1, 20)],
        ["400", "410", "405", "420", "430", "440", "450", "460"],
        ["400 nm", "410 nm", "420 cm", *[f"{x} nm" for x in range(430, 500, 10)]],
        [f"gene{chr(97 + d)}" for d in range(9)],
        [f"PD{3851 + 7 * d}a" for d in range(9)],
        ["1", "2", "4"],
        [""] * 9,
    ],
)
def test_what_only_counts_or_has_no_order_is_none(names):
    assert axis_of(names) is None


def test_data_know_their_axis():
    X = np.random.default_rng(0).random((9, 4))
    assert Dataset.from_array(X).axis is None
    assert Dataset.from_array(X, features=[f"{400 + 5 * d} nm" for d in range(9)]).axis.unit == "nm"
