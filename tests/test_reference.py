"""The table of what the engine computes tells changes of bits from changes of numbers."""

import pytest

from tests.reference import BITS, NEITHER, NUMBERS, stayed

BEFORE = {"bits": "a", "numbers": [1000.0, 1.0, float("nan")]}


@pytest.mark.parametrize(
    ("bits", "numbers", "found"),
    [
        ("a", [1000.0, 1.0, float("nan")], BITS),
        ("b", [1000.0, 1.0 + 1e-8, float("nan")], NUMBERS),
        ("b", [1000.0 + 1e-2, 1.0, float("nan")], NEITHER),
        ("b", [1000.0, 1.0], NEITHER),
        ("b", [1000.0, 1.0, 0.0], NEITHER),
    ],
)
def test_a_line_says_what_stayed(bits, numbers, found):
    assert stayed(BEFORE, {"bits": bits, "numbers": numbers}) == found


def test_words_that_changed_did_not_stay():
    assert stayed({"bits": "a", "numbers": []}, {"bits": "b", "numbers": []}) == NEITHER
