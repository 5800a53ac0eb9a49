"""Every link and picture of the documentation leads somewhere, also in the repository."""

import posixpath

import pytest

from docs.making.sources import DOCS, handwritten, pages
from tests.docs.written import ROOT, anchors, by_hand, links, picture

PAGES = pages()
HAND = by_hand()


def target_of(path: str, link: str) -> tuple[str, str]:
    """The page or picture that a link on a page leads to, and the anchor."""
    file, _, anchor = link.partition("#")
    return posixpath.normpath(
        posixpath.join(posixpath.dirname(path), file)
    ) if file else path, anchor


@pytest.mark.parametrize("path", sorted(PAGES))
def test_every_link_of_a_page_leads_to_a_page_its_anchor_or_a_picture(path):
    for link in links(PAGES[path]):
        assert "://" not in link, f"{path} sends its readers to {link}"
        target, anchor = target_of(path, link)
        if target.endswith(".md"):
            assert target in PAGES, f"{path}: {link}"
            assert not anchor or anchor in anchors(PAGES[target]), f"{path}: {link}"
        else:
            assert picture(target), f"{path}: {link}"


def test_a_wrong_link_would_be_found():
    assert links("see [a](b.md#c) and ![d](e.png), not `[f](g)`") == ["b.md#c", "e.png"]
    assert target_of("guide/start.md", "../faq.md#one") == ("faq.md", "one")
    assert "which-mode-should-i-plot" in anchors(PAGES["faq.md"])


def test_pages_that_are_made_are_written_nowhere():
    """What the program says of itself is not said a second time by hand."""
    made = set(PAGES) - set(handwritten())
    kept = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md")}
    assert not made & kept - {path for path in HAND if path.startswith("pages/")}


def test_every_picture_is_shown_and_small():
    used = {
        target_of(path, link)[0] for path in PAGES for link in links(PAGES[path]) if "png" in link
    }
    files = {file.name: file.stat().st_size for file in DOCS.glob("*.png")}
    assert set(files) == used
    assert len(files) <= 12
    assert max(files.values()) <= 150_000


def test_the_documents_of_the_repository_lead_to_files():
    for document in ("README.md", "CONTRIBUTING.md"):
        for link in links((ROOT / document).read_text("utf-8")):
            if "://" not in link:
                file, _, anchor = link.partition("#")
                target = ROOT / (file or document)
                assert target.exists(), f"{document}: {link}"
                assert not anchor or anchor in anchors(target.read_text("utf-8")), link
