"""Hints for somebody who is new: what to do on a page, and what comes next. They go away.

A hint is gone once somebody has closed it, has gone on to a page that it leads to, or, where it is
about beginning, once anything has been run. What somebody is done with is kept in a cookie of the
browser, so that it stays hidden there and is still shown to others.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from pages.frame import unseen
from pages.frame.services import store
from pages.frame.words import plain

COOKIE = "bnmf_hints"
A_YEAR = 365 * 24 * 3600
# Of this session: hints that are done with, and those that were on screen.
_DONE, _SHOWN = "hints_done", "hints_shown"


@dataclass(frozen=True)
class Hint:
    """What to do on a page; ``then`` : keys of the pages that it leads to.

    ``beginning`` : it is about the first run, and pointless after it.
    """

    words: str
    then: tuple[str, ...]
    beginning: bool = True


HINTS = {
    "home": Hint(
        "Press the button of an example, or upload your own matrix. No settings are needed: the "
        "findings open by themselves.",
        ("data", "overview"),
    ),
    "data": Hint(
        "Compare both pictures: the matrix has features as rows and observations as columns. Then "
        "press Analyse these data.",
        ("run",),
    ),
    "run": Hint(
        "Choose the number of components and press Analyse. Everything else is set as recommended "
        "for these data. Overview opens and updates while the runs continue.",
        ("overview", "boolean"),
    ),
    "overview": Hint(
        "Click a circle to show this mode on every page. Components shows its components.",
        ("components", "downstream"),
        beginning=False,
    ),
}


def show(key: str) -> None:
    """The hint of the page of this key, unless it is done with."""
    hint = HINTS[key]
    if key in _done() or (hint.beginning and store().runs()):
        return
    st.session_state.setdefault(_SHOWN, set()).add(key)
    beside = {"horizontal": True, "wrap": False, "vertical_alignment": "center"}
    with st.container(border=True, key="hint", **beside):
        st.markdown(f":material/lightbulb: {plain(hint.words)}", width="stretch")
        st.button("Got it", key=f"hint_{key}", on_click=_finish, args=([key],))


def opened(key: str) -> None:
    """A page was opened: hints that were on screen and lead to it have done their work."""
    shown = st.session_state.get(_SHOWN, set())
    _finish(hint for hint in shown if key in HINTS[hint].then)
    if _done() and _done() - _kept():
        value = ".".join(sorted(_done()))
        kept = f'document.cookie = "{COOKIE}={value}; path=/; max-age={A_YEAR}; SameSite=Lax"'
        unseen.draw("hints", f"<script>{kept}</script>")


def _kept() -> set[str]:
    """What the browser says that somebody is done with."""
    return set(st.context.cookies.get(COOKIE, "").split(".")) & HINTS.keys()


def _done() -> set[str]:
    if _DONE not in st.session_state:
        st.session_state[_DONE] = _kept()
    return st.session_state[_DONE]


def _finish(keys: Iterable[str]) -> None:
    _done().update(keys)
