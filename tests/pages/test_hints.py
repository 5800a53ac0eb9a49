"""Hints for newcomers: on the pages where one begins, until what they say has been done."""

import pytest
import streamlit as st

from pages.frame import declared, hints
from tests.pages.apps import page, words

BEGINNING = [key for key, hint in hints.HINTS.items() if hint.beginning]
LATER = [key for key in hints.HINTS if key not in BEGINNING]


def hinted(app, key: str) -> bool:
    """Whether the hint of a page is on it."""
    said = hints.HINTS[key].words in words(app)
    assert said == any(button.key == f"hint_{key}" for button in app.button)
    return said


def test_hints_are_of_pages_that_there_are_and_lead_to_others():
    keys = {one.key for one in declared.PAGES}
    for key, hint in hints.HINTS.items():
        assert key in keys and hint.then and set(hint.then) <= keys - {key}


@pytest.mark.parametrize("key", BEGINNING)
def test_a_newcomer_is_told_how_to_begin(server, labelled, key):
    server.store.add_dataset(labelled)
    assert hinted(page(key), key)


@pytest.mark.parametrize("key", BEGINNING)
def test_hints_about_beginning_are_gone_after_the_first_run(server, finished, key):
    assert not hinted(page(key), key)


@pytest.mark.parametrize("key", LATER)
def test_hints_about_results_wait_for_them(server, key):
    assert not hinted(page(key), key)


@pytest.mark.parametrize("key", LATER)
def test_a_hint_that_was_closed_stays_closed(server, finished, key):
    app = page(key, runs=",".join(finished))
    assert hinted(app, key)
    app.button(key=f"hint_{key}").click().run()
    assert not hinted(app, key)
    app.switch_page(str(declared.page("home").script)).run()
    app.switch_page(str(declared.page(key).script)).run()
    assert not hinted(app, key)


def test_who_goes_on_to_where_a_hint_leads_is_done_with_it(server, finished):
    app = page("overview", runs=",".join(finished))
    app.switch_page(str(declared.page("coverage").script)).run()
    app.switch_page(str(declared.page("overview").script)).run()
    assert hinted(app, "overview")
    app.switch_page(str(declared.page("components").script)).run()
    app.switch_page(str(declared.page("overview").script)).run()
    assert not hinted(app, "overview")


def test_a_page_that_was_reached_without_a_hint_ends_none(server, finished):
    app = page("scoreboard", runs=",".join(finished))
    app.switch_page(str(declared.page("overview").script)).run()
    assert hinted(app, "overview")


def test_what_a_browser_remembers_is_not_hinted_at_there(server, finished, monkeypatch):
    kept = {hints.COOKIE: "overview.no_hint"}
    monkeypatch.setattr(type(st.context), "cookies", property(lambda self: kept))
    assert not hinted(page("overview", runs=",".join(finished)), "overview")
    assert not page("overview", runs=",".join(finished)).exception
