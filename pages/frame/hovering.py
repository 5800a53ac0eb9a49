"""Tooltips for every term of the glossary, on every page.

The page is not changed: the browser reports the word under the pointer, and terms
are underlined by a highlight over the text.
"""

import json
from functools import cache
from pathlib import Path

from pages.frame import unseen
from pages.glossary_parts.terms import terms

SCRIPT = Path(__file__).with_name("hovering.js")
STYLE = """
<style>
::highlight(terms) {text-decoration: underline dotted 1px; text-underline-offset: 3px}
#meaning {position: fixed; z-index: 1000000; max-width: 340px; padding: 0.5rem 0.7rem;
  font: 0.85rem/1.4 "Source Sans", sans-serif; border-radius: 0.4rem; pointer-events: none;
  color: #fff; background: #1b2430; box-shadow: 0 2px 10px rgba(0, 0, 0, 0.3)}
#meaning b {display: block}
</style>
"""


def draw() -> None:
    """Add the tooltips to the page."""
    unseen.draw("hovering", _page())


@cache
def _page() -> str:
    entries = {
        word.lower(): {"name": term.name, "about": term.about}
        for term in terms()
        for word in term.spoken
    }
    return STYLE + unseen.script(SCRIPT, {"TERMS": json.dumps(entries, ensure_ascii=False)})
