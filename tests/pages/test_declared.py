"""Pages are declared once: one file and one line make a page."""

import pytest
from streamlit.runtime.scriptrunner import magic

from pages.frame import declared
from pages.frame.declared import Page
from tests.pages.apps import ROOT, page, words

WRITTEN = """
from pages.frame import guard, link
import streamlit as st

guard.enter("ratio")
st.slider("Ratio", 0.0, 1.0, key=link.key("threshold"))
link.share("threshold")
link.to("runs")
"""


def test_every_script_is_declared_and_every_declared_page_has_a_script():
    scripts = {path.stem for path in (ROOT / "pages").glob("*.py")}
    assert {page.key for page in declared.PAGES} == scripts
    assert all(page.script.is_file() and page.question for page in declared.PAGES)


@pytest.fixture
def ratio(tmp_path, monkeypatch):
    """A page of one file outside the program, and the one line that declares it."""
    script = tmp_path / "ratio.py"
    script.write_text(WRITTEN)
    line = Page("ratio", "Ratio", "Ratio", "How much?", "percent", ("threshold",), file=script)
    monkeypatch.setattr(declared, "PAGES", [*declared.PAGES, line])


def test_pages_are_run_as_they_are_written(server, monkeypatch):
    def rewritten(*given):
        raise SystemError("AST constructor recursion depth mismatch")

    monkeypatch.setattr(magic, "add_magic", rewritten)
    assert [title.value for title in page("study").title] == [declared.page("study").heading]


def test_a_page_is_added_by_one_file_and_one_line(server, ratio):
    app = page("ratio", threshold="0.25", focus="mode:1")
    assert not app.exception
    assert [title.value for title in app.title] == ["Ratio"]
    assert "How much?" in words(app)
    assert app.slider(key="view_threshold").value == 0.25
    assert app.query_params == {"threshold": "0.25"}
    (link,) = app.get("page_link")
    assert link.proto.label == "All runs"


def test_the_menus_have_every_page_in_its_section():
    sections = declared.sections()
    assert list(sections) == [
        *("Home", "Data", "Analyse", "Overview", "Components", "Samples", "Rank", "Labels"),
        *("Sessions", "Diagnostics", "Laboratory", "Lessons"),
    ]
    assert sum(map(len, sections.values())) == len(declared.PAGES)
    assert declared.PAGES[0].key == "home"
