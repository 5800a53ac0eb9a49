"""Code, screen and documentation use the field's terms, not ours."""

import re

import pytest

from tests.docs.written import ROOT

# What we said once → the standard term.
TERMS = {
    "hall": "scheduler",
    "parcel": "payload",
    "flatters": "is biased towards",
    "effective draws": "ESS",
    "standing still": "a residual (KKT), or chains that do not move",
    "grey room": "feasible region",
    "have not met": "have not mixed",
    "as at first": "reset",
    "hang on": "depend on",
    "hangs on": "depends on",
    "bring them in": "import",
    "hand it on": "export, or share",
    "he": "they, or the user",
    "his": "their, or the user's",
    "him": "them, or the user",
}
# A book's publisher.
MAY = ("Chapman & Hall",)
FILES = [
    path
    for folder, ending in (
        *(
            (folder, ending)
            for folder in ("bnmf_core", "pages", "studies")
            for ending in ("py", "toml")
        ),
        *(("docs/guide", "md"), ("docs/pages", "md"), ("docs/mathematics", "md")),
    )
    for path in sorted((ROOT / folder).rglob(f"*.{ending}"))
] + [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "docs" / "index.md"]


def found(text: str) -> list[str]:
    """Each of our words in a text, with the term to use instead."""
    for allowed in MAY:
        text = text.replace(allowed, "")
    return [
        f"write {term!r} instead of {word!r}"
        for word, term in TERMS.items()
        if re.search(rf"\b{word}\b", text, re.IGNORECASE)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_uses_standard_terms(path):
    assert found(path.read_text("utf-8")) == []


def test_words_of_ours_are_found():
    assert found("Effective draws per second") == ["write 'ESS' instead of 'effective draws'"]
    assert found("shallow, the, history") == []
