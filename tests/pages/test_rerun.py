"""What a page does not do again when it is drawn again."""

import pytest
import streamlit as st

from bnmf_core.analysis import structure
from pages.components_parts import words
from studies.result import full
from studies.stein import findings as of_stein
from studies.transfer import findings as of_transfer
from tests.pages.apps import page


@pytest.fixture
def counted(monkeypatch):
    """Counts the calls of a function of a module: told (module, name), a list that grows."""
    st.cache_data.clear()

    def count(module, name):
        calls, called = [], getattr(module, name)
        monkeypatch.setattr(module, name, lambda *given: calls.append(given) or called(*given))
        return calls

    return count


def test_modes_are_found_anew_for_another_threshold_only(server, finished, counted):
    found, begun = counted(structure, "modes_at"), counted(structure, "suggested_threshold")
    app = page("overview", runs=",".join(finished))
    app.run()
    app.selectbox(key="view_focus").set_value("mode:1").run()
    assert not app.exception and len(found) == len(begun) == 1
    threshold = app.slider(key="view_threshold")
    threshold.set_value(threshold.min).run()
    assert not app.exception and len(found) == 2 and len(begun) == 1


def test_names_are_counted_anew_for_other_names_only(server, finished, counted):
    calls = counted(words, "key_term_counts")
    app = page("components", runs=",".join(finished))
    app.toggle(key="components_difference").set_value(True).run()
    app.number_input(key="components_count").set_value(3).run()
    assert not app.exception and len(calls) == 1
    app.text_input(key="components_terms").set_value("word1, word2").run()
    assert not app.exception and len(calls) == 2


@pytest.mark.parametrize(
    ("study", "told"), [("stein", of_stein.findings), ("transfer", of_transfer.claims)]
)
def test_what_a_stored_study_says_is_found_once(study, told):
    stored = full(study)
    assert stored is not None and told(stored) is told(stored)
