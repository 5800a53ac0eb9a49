"""What an answer does not wait for: searches for garbage in libraries, threads of BLAS."""

import gc

import pytest
from streamlit.testing.v1 import AppTest
from threadpoolctl import threadpool_info

from pages.frame import declared, guard, memory


@pytest.fixture
def thawed():
    gc.unfreeze()
    memory._pass_over.cache_clear()
    yield
    gc.unfreeze()
    memory._pass_over.cache_clear()


def test_an_answer_passes_over_what_was_there_before(server, thawed):
    assert gc.get_freeze_count() == 0
    app = AppTest.from_file(declared.SHELL, default_timeout=30).run()
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


def test_a_page_is_drawn_with_one_thread(server, monkeypatch):
    seen = []
    monkeypatch.setattr(guard.link, "sync", lambda *given: seen.append(blas()))
    AppTest.from_file(declared.SHELL, default_timeout=30).run()
    assert seen and set(seen[0]) == {1}


def blas() -> list[int]:
    """The threads of every BLAS that is loaded."""
    return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
