"""Declared settings: names, types and ranges are checked, and the sentence says which."""

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bnmf_core.core.errors import SettingsError
from bnmf_core.core.settings import build, declarations, setting


@dataclass(frozen=True)
class Settings:
    count: int = setting(3, "Count", "How many.", minimum=1, maximum=9)
    size: float = setting(0.5, "Size", "How large.", minimum=0)
    level: float | None = setting(None, "Level", "Left open: from the data.", maximum=2)
    kind: str = setting("one", "Kind", "Which.", choices=("one", "two"))
    loud: bool = setting(False, "Loud", "Whether.")
    free: float = setting(0.0, "Free", "Anything.")
    name: str = setting("a", "Name", "Letters only.", pattern="[a-z]+")


def test_what_is_left_out_takes_its_default():
    assert build(Settings, {}, "Test") == Settings()
    assert build(Settings, {"level": None}, "Test").level is None


@given(st.integers(1, 9), st.floats(0, 1e300), st.floats(-1e300, 2))
def test_allowed_values_arrive_with_their_type(count, size, level):
    built = build(Settings, {"count": float(count), "size": size, "level": level}, "Test")
    assert (built.count, built.size, built.level) == (count, size, level)
    assert type(built.count) is int and type(built.size) is float


@given(st.floats().filter(lambda value: not 0 <= value < float("inf")))
def test_every_other_number_is_refused(value):
    with pytest.raises(SettingsError, match="^Test: 'Size' was .*; 0 or more is allowed.$"):
        build(Settings, {"size": value}, "Test")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"count": 0}, "Test: 'Count' was 0; 1 to 9 is allowed."),
        ({"count": 10}, "Test: 'Count' was 10; 1 to 9 is allowed."),
        ({"count": 2.5}, "Test: 'Count' was 2.5; a whole number is needed."),
        ({"count": None}, "Test: 'Count' needs a value."),
        ({"count": "many"}, "Test: 'Count' was 'many'; a whole number is needed."),
        ({"count": "5"}, "Test: 'Count' was '5'; a whole number is needed."),
        ({"count": [1]}, "Test: 'Count' was [1]; a whole number is needed."),
        ({"count": True}, "Test: 'Count' was True; a whole number is needed."),
        ({"count": np.bool_(True)}, "Test: 'Count' was True; a whole number is needed."),
        ({"count": np.float64(2.5)}, "Test: 'Count' was 2.5; a whole number is needed."),
        ({"count": float("nan")}, "Test: 'Count' was nan; a whole number is needed."),
        ({"size": False}, "Test: 'Size' was False; a number is needed."),
        ({"size": "0.5"}, "Test: 'Size' was '0.5'; a number is needed."),
        ({"level": 3}, "Test: 'Level' was 3; 2 or less is allowed."),
        ({"kind": "three"}, "Test: 'Kind' was 'three'; choose one of one, two."),
        ({"kind": 1}, "Test: 'Kind' was 1; choose one of one, two."),
        ({"kind": np.array(["one", "two"])}, "choose one of one, two."),
        ({"name": True}, "Test: 'Name' was True; letters only."),
        ({"name": "a1"}, "Test: 'Name' was 'a1'; letters only."),
        ({"loud": 1}, "Test: 'Loud' was 1; it is true or false."),
        ({"loud": "true"}, "Test: 'Loud' was 'true'; it is true or false."),
        ({"free": 10**400}, "any finite number is allowed."),
        ({"free": float("inf")}, "Test: 'Free' was inf; any finite number is allowed."),
        (
            {"cuont": 3},
            "Test has no setting called 'cuont'; its settings are "
            "count, free, kind, level, loud, name, size.",
        ),
    ],
)
def test_what_does_not_fit_is_named(values, sentence):
    with pytest.raises(SettingsError) as caught:
        build(Settings, values, "Test")
    said = str(caught.value)
    assert said.startswith("Test") and said.endswith(sentence)


def test_scalars_of_numpy_are_what_they_are():
    given = {"count": np.int64(5), "size": np.float32(0.25), "loud": np.bool_(True)}
    built = build(Settings, {**given, "kind": np.str_("two")}, "Test")
    assert built == Settings(count=5, size=0.25, kind="two", loud=True)
    assert [type(one) for one in (built.count, built.size, built.loud)] == [int, float, bool]


def test_settings_without_names_are_refused():
    with pytest.raises(SettingsError, match=r"^The settings of Test were \[3\]; give them as"):
        build(Settings, [3], "Test")


def test_a_settings_class_without_settings_says_so():
    @dataclass(frozen=True)
    class Nothing:
        pass

    with pytest.raises(SettingsError, match="its settings are none"):
        build(Nothing, {"size": 1}, "Test")


def test_declarations_keep_order_and_words():
    declared = declarations(Settings)
    assert list(declared) == ["count", "size", "level", "kind", "loud", "free", "name"]
    field, words = declared["count"]
    assert (field.default, words.minimum, words.maximum, words.label) == (3, 1, 9, "Count")
