"""Text from files is never Markdown: not by any page's script, nor on any page."""

import re

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec
from pages.frame.words import JOINER, left, plain
from tests.pages.apps import PAGES, ROOT, page
from tests.pages.conftest import made_once
from tests.pages.markdown import escaped_menus, unsafe

SCRIPTS = sorted((ROOT / "pages").rglob("*.py"))
HOSTILE = (
    "![f](http://127.0.0.2/pixel.png)",
    "[x](http://127.0.0.2)",
    "http://127.0.0.2",
    "www.example.org",
    "someone@example.org",
    "**bold** __bold__ *it* ~~no~~",
    "<script>alert(1)</script><img src=http://127.0.0.2/x.png>",
    ":material/home: :smile: :+1: :streamlit: :red[x] :blue-badge[y]",
    "$x$ $$y$$ \\(z\\)",
    "&lt;b&gt; &#58; &copy;",
    "`code` | cell | -> <- -- >= ~=",
    "# heading",
    "- item",
    "1. item",
    "> quote",
)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_script_shows_text_of_unknown_origin_as_markdown(path):
    assert unsafe(path) == []


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_menus_show_no_backslashes(path):
    assert escaped_menus(path) == []


def test_only_what_the_program_itself_has_written_is_html():
    written = re.compile(r"\bst\.(write|table|html|components)\b|unsafe_allow")
    found = {path.name for path in SCRIPTS if written.search(path.read_text())}
    assert found == {"looks.py", "touch.py", "unseen.py"}


def test_every_chart_and_table_comes_with_the_words_that_are_read_out():
    drawn = re.compile(r"\bst\.(dataframe|data_editor|\w+_chart|image|pyplot|map)\b|\.dataframe\(")
    assert {path.name for path in SCRIPTS if drawn.search(path.read_text())} == {"view.py"}


def test_the_walk_through_scripts_finds_what_goes_round(tmp_path):
    """Planted mistakes, one a line, and lines that are right."""
    wrong = (
        "st.markdown(name)",
        "st.caption(f'{name} and more')",
        "left.metric(plain(a), name)",
        "st.button('Go', help=name)",
        "st.radio('Which', labels)",
        "st.pills('Which', labels, format_func=labels.get)",
        "st.progress(0.5, text=f'{run.done} made')",
        "st.error('No: ' + str(error))",
        "(st.info if good else st.error)(name)",
    )
    right = (
        "st.markdown(f'**{plain(name)}** {count:,} {share:.0%}')",
        "st.selectbox('Which', names, format_func=names.get)",
        "st.pills('Which', names, format_func=shown(names))",
        "words = plain(name)\nst.caption(words)",
        "def said() -> str:\n    return plain(name)\nst.info(said())",
    )
    script = tmp_path / "page.py"
    for line in (*wrong, *right):
        script.write_text(line)
        assert bool(unsafe(script)) == (line in wrong), line
    script.write_text("st.selectbox('Which', keys, format_func=lambda key: plain(labels[key]))")
    assert escaped_menus(script)


@pytest.mark.parametrize("text", HOSTILE)
def test_plain_text_keeps_every_character_that_is_seen(text):
    shown = plain(text).replace(JOINER, "")
    at, seen = 0, []
    while at < len(shown):  # what Markdown makes of backslashes
        at += shown[at] == "\\" and at + 1 < len(shown)
        seen.append(shown[at])
        at += 1
    assert "".join(seen) == text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "time left unknown yet"),
        (0.2, "under a second left"),
        (12.4, "about 12 s left"),
        (600.0, "about 10 min left"),
    ],
)
def test_the_time_left_is_said_as_a_person_would(seconds, words):
    assert left(seconds) == words


def test_harmless_text_stays_as_it_is():
    for text in ("Gibbs 12ab (seed 0)", "a: b, c-d. e=f+g", "1.5 of 3, 30 % (hidden)", "t.csv"):
        assert plain(text) == text


@pytest.fixture(scope="module")
def hostile_once(tmp_path_factory):
    """A store with runs of data in which every name is hostile, and their analysis; their ids."""
    names = [f"{text} {n}" for n, text in enumerate(HOSTILE)]
    many = len(names)
    everything = " ".join(HOSTILE[:9])
    data = Dataset.from_array(
        np.random.default_rng(0).random((many, 24)) + 0.1,
        name=everything,
        features=names,
        labels={name: [HOSTILE[n], HOSTILE[n + 1]] * 12 for n, name in enumerate(names[:5])},
    )
    specs = [
        RunSpec("random_restarts", rank=3, particles=4),
        RunSpec("gibbs", rank=3, particles=6, settings={"warm_up": 3, "thinning": 1}),
    ]
    names = [HOSTILE[0], everything]
    return made_once(tmp_path_factory.mktemp("hostile"), data, specs, names=names)


@pytest.fixture
def hostile(server, hostile_once):
    """Runs of data in which every name is hostile; their ids."""
    return list(hostile_once[1])


LIVE = (
    "](http",
    "http://",
    "www.",
    "@example",
    "**bold",
    "<script",
    "<img",
    ":material/home",
    ":smile:",
    ":red[",
    "$x$",
    "&lt;b",
    "~~no",
)


def markdown_elements(app):
    """What Streamlit reads as Markdown in every element of a page: texts, labels, helps."""
    for kind in (
        "markdown",
        "caption",
        "info",
        "error",
        "warning",
        "success",
        "title",
        "subheader",
        "header",
    ):
        yield from (element.value for element in app.get(kind))
    for element in app.main.children.values():
        yield from labels(element)
    for element in app.sidebar.children.values():
        yield from labels(element)


def labels(element):
    proto = getattr(element, "proto", None)
    for name in ("label", "help", "text"):
        if isinstance(text := getattr(proto, name, None), str):
            yield text
    for option in getattr(proto, "options", ()):
        if hasattr(option, "content"):
            yield option.content
    for child in getattr(element, "children", {}).values():
        yield from labels(child)


@pytest.mark.parametrize("name", PAGES)
def test_no_page_shows_hostile_text_as_markdown(hostile, name):
    app = page(name)
    assert not app.exception
    shown = list(markdown_elements(app))
    assert shown
    for text in shown:
        unescaped = re.sub(r"\\.", "", text)
        assert not [part for part in LIVE if part in unescaped], text
    assert not any(element.allow_html for element in app.markdown)
