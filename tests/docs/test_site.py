"""The site as it is built: without a warning, whole, and asking nothing of another host."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

from docs.making.sources import pages
from tests.docs.written import ROOT

GENERATOR = ("sphinx", "myst_parser", "furo", "sphinx_copybutton", "latex2mathml", "ziamath")
missing = [name for name in GENERATOR if find_spec(name) is None]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        bool(missing), reason=f"{', '.join(missing)} is not installed; `make docs` installs it."
    ),
]
FETCHED = {"script": "src", "link": "href", "img": "src", "source": "src", "iframe": "src"}


class Fetched(HTMLParser):
    """What a browser fetches by itself with a page."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []

    def handle_starttag(self, tag, attrs):
        target = dict(attrs).get(FETCHED.get(tag, ""))
        if target:
            self.targets.append(target)


def fetched_by(text: str) -> list[str]:
    parser = Fetched()
    parser.feed(text)
    return parser.targets


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built once; a warning fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "docs.making", str(folder)]
    made = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    return folder


def test_every_page_is_there(site):
    for path in pages():
        assert (site / path).with_suffix(".html").is_file()


def test_no_page_or_style_asks_another_host(site):
    for file in site.rglob("*.html"):
        for target in fetched_by(file.read_text("utf-8")):
            assert not re.match(r"(\w+:)?//", target), f"{file.name}: {target}"
            local = file.parent / re.sub(r"[?#].*", "", target)
            assert target.startswith("data:") or local.exists(), f"{file.name}: {target}"
    for file in site.rglob("*.css"):
        for target in re.findall(
            r"(?:url\(|@import)\s*['\"]?([^'\")\s]+)", file.read_text("utf-8")
        ):
            assert not re.match(r"(https?:)?//", target), f"{file.name}: {target}"


def test_what_another_host_would_be_asked_for_is_found():
    assert fetched_by('<script src="https://a.org/b.js"></script><a href="http://c">') == [
        "https://a.org/b.js"
    ]


def test_formulas_are_drawn_without_a_script(site):
    text = (site / "mathematics" / "stein.html").read_text("utf-8")
    assert "<math" in text
    assert not [one for one in fetched_by(text) if "mathjax" in one.lower()]
    assert (site / "_static" / "STIXTwoMath-Regular.ttf").stat().st_size > 100_000


def test_the_search_knows_the_guide(site):
    index = Path(site, "searchindex.js").read_text("utf-8")
    assert "guide/trust" in index
