"""What libraries hold is searched for garbage once, not after every answer."""

import gc

import pytest
from streamlit.testing.v1 import AppTest

from pages.frame import memory
from tests.pages.apps import ROOT


@pytest.fixture
def thawed():
    gc.unfreeze()
    memory._pass_over.cache_clear()
    yield
    gc.unfreeze()
    memory._pass_over.cache_clear()


def test_an_answer_passes_over_what_was_there_before(server, thawed):
    assert gc.get_freeze_count() == 0
    app = AppTest.from_file(ROOT / "app.py", default_timeout=30).run()
    app.run()
    # What is left to search is what the page itself has made.
    assert gc.get_freeze_count() > 10 * len(gc.get_objects())


def test_it_is_told_anew_when_libraries_have_come_and_only_then(thawed, monkeypatch):
    told = []
    monkeypatch.setattr(gc, "freeze", lambda: told.append(True))
    memory.pass_over_libraries()
    memory.pass_over_libraries()
    assert len(told) == 1
    monkeypatch.setitem(memory.sys.modules, "a_library_that_came", memory)
    memory.pass_over_libraries()
    assert len(told) == 2
