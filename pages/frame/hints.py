"""Hints for new users: what to do on a page, and what comes next.

A hint disappears once the user has closed it, has opened a page that it leads to, or, if it is
for beginners, once anything has been run. A cookie of the browser lists finished hints,
so that they stay hidden there and are still shown to others.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import streamlit as st

from pages.frame import unseen
from pages.frame.services import store
from pages.frame.words import plain

COOKIE = "bnmf_hints"
A_YEAR = 365 * 24 * 3600
# Session keys: finished hints, and hints that were on screen.
_DONE, _SHOWN = "hints_done", "hints_shown"


@dataclass(frozen=True)
class Hint:
    """A hint on a page; ``then`` : keys of the pages that it leads to.

    ``beginning`` : it applies before the first run only.
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
    """Show the hint of a page, unless it is finished."""
    hint = HINTS[key]
    if key in _done() or (hint.beginning and store().runs()):
        return
    st.session_state.setdefault(_SHOWN, set()).add(key)
    beside = {"horizontal": True, "wrap": False, "vertical_alignment": "center"}
    with st.container(border=True, key="hint", **beside):
        st.markdown(f":material/lightbulb: {plain(hint.words)}", width="stretch")
        st.button("Got it", key=f"hint_{key}", on_click=_finish, args=([key],))


def opened(key: str) -> None:
    """Finish the hints on screen that lead to a page, now opened."""
    shown = st.session_state.get(_SHOWN, set())
    _finish(hint for hint in shown if key in HINTS[hint].then)
    if _done() and _done() - _from_cookie():
        value = ".".join(sorted(_done()))
        script = f'document.cookie = "{COOKIE}={value}; path=/; max-age={A_YEAR}; SameSite=Lax"'
        unseen.draw("hints", f"<script>{script}</script>")


def _from_cookie() -> set[str]:
    return set(st.context.cookies.get(COOKIE, "").split(".")) & HINTS.keys()


def _done() -> set[str]:
    if _DONE not in st.session_state:
        st.session_state[_DONE] = _from_cookie()
    return st.session_state[_DONE]


def _finish(keys: Iterable[str]) -> None:
    _done().update(keys)
