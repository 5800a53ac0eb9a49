"""Entries of the program and of installed packages, by key."""

import logging
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import EntryPoint
from threading import Event
from time import sleep
from types import ModuleType

import pytest

from bnmf_core import registry
from bnmf_core.compare.distances import DISTANCES, find_distance
from bnmf_core.core import registry as module
from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.core.registry import Registry


@dataclass(frozen=True)
class Thing:
    key: str
    label: str = "a thing"


OWN = (Thing("second"), Thing("first"))
OUTSIDE = Thing("outside", "from elsewhere")


@pytest.fixture
def installed(monkeypatch):
    """Packages with entry points of these values, in the order given; counts the look-ups."""
    asked = []

    def install(*values):
        def points(group):
            asked.append(group)
            return [EntryPoint(f"entry {i}", value, group) for i, value in enumerate(values)]

        monkeypatch.setattr(module, "entry_points", points)
        return asked

    return install


def here(name: str) -> str:
    return f"somebodys_package:{name}"


@pytest.fixture(autouse=True)
def package(monkeypatch):
    """A package that is installed beside the program."""
    made = ModuleType("somebodys_package")
    made.OUTSIDE, made.TAKEN, made.NOT_A_THING = OUTSIDE, Thing("first", "an impostor"), 7
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def things() -> Registry[Thing]:
    return Registry("thing", Thing, OWN, "some.things")


def test_own_entries_come_first_in_their_order(installed):
    installed(here("OUTSIDE"))
    found = things()
    assert list(found) == ["second", "first", "outside"]
    assert found["outside"] is OUTSIDE and len(found) == 3


def test_packages_are_looked_for_once_and_not_before_they_are_needed(installed):
    asked = installed(here("OUTSIDE"))
    found = things()
    assert asked == []
    assert "outside" in found and list(found.values())[-1] is OUTSIDE
    assert asked == ["some.things"]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_module_at_all:THING", "No module named"),
        (here("MISSING"), "MISSING"),
        (here("NOT_A_THING"), "It is of the type int, and a thing is of the type Thing."),
        (here("TAKEN"), "The key 'first' is taken by 'a thing'; choose another."),
    ],
)
def test_a_broken_package_is_set_aside_with_a_sentence(installed, caplog, value, why):
    installed(value, here("OUTSIDE"))
    found = things()
    with caplog.at_level(logging.WARNING):
        assert list(found) == ["second", "first", "outside"]
    assert found["first"] is OWN[1]
    (record,) = caplog.records
    assert record.getMessage().startswith("The thing 'entry 0' of the package ")
    assert why in record.getMessage()


def test_an_unknown_key_is_answered_with_the_keys_there_are(installed):
    installed()
    with pytest.raises(NotFoundError, match="no thing 'third'; there are second, first"):
        things()["third"]
    assert "third" not in things() and things().get("third") is None


def test_two_own_entries_of_one_key_are_a_mistake():
    with pytest.raises(SettingsError, match="The key 'first' is taken"):
        Registry("thing", Thing, (*OWN, OWN[1]), "some.things")


def test_an_entry_can_be_registered_and_replaced_for_this_process(installed):
    installed()
    found = things()
    found["outside"] = OUTSIDE
    found["first"] = OUTSIDE
    assert found["outside"] is OUTSIDE and found["first"] is OUTSIDE
    del found["outside"]
    assert list(found) == ["second", "first"]


def test_a_package_may_use_the_registry_while_it_is_loaded(installed, monkeypatch):
    installed("curious:THING")
    found = things()

    class Curious(EntryPoint):
        def load(self):
            assert list(found) == ["second", "first"]
            return OUTSIDE

    monkeypatch.setattr(
        module, "entry_points", lambda group: [Curious("entry", "curious:THING", group)]
    )
    assert list(found) == ["second", "first", "outside"]


def test_another_thread_waits_for_a_package_that_is_still_being_loaded(installed, monkeypatch):
    installed()
    found = things()
    begun, asked = Event(), Event()

    class Slow(EntryPoint):
        def load(self):
            begun.set()
            asked.wait(10)
            sleep(0.2)  # by now the other thread has its answer, or waits for it
            return OUTSIDE

    monkeypatch.setattr(module, "entry_points", lambda group: [Slow("entry", "slow:THING", group)])

    def ask():
        assert begun.wait(10)
        asked.set()
        return list(found)

    with ThreadPoolExecutor() as pool:
        other = pool.submit(ask)
        assert list(found) == ["second", "first", "outside"]
        assert other.result(10) == ["second", "first", "outside"]


def test_the_registries_are_open_to_packages():
    groups = {known.group for known in (registry.ALGORITHMS, registry.MODELS, DISTANCES)}
    assert groups == {"bnmf.algorithms", "bnmf.models", "bnmf.distances"}
    assert find_distance("wad") is DISTANCES["wad"]
