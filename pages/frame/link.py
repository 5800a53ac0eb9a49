"""The state of a view, stored in the session and in the address, so that a link restores it.

Values live in ``st.session_state`` under :func:`key`, where widgets of several pages can use
them. The address wins when it has values that this session did not write, as a
pasted link does, or the browser's Back: then values that it does not name
take their defaults. An empty address, as in the menus, leaves the session as it is; so does one
that the page had a moment ago, which a browser sends before it has the newest one.
"""

from collections.abc import Callable, Iterable
from typing import Any

import streamlit as st

from pages.frame import declared
from pages.frame.words import plain

_WRITTEN = "written_to_address"
_NEXT = "values_for_next_draw"
# The current page, its addresses since it was opened, and the newest values: those
# of widgets are lost when a page is left before it has been drawn to its end.
_SHOWN, _HAD, _NEWEST = "page_shown", "addresses_it_had", "newest_values"


def _list(text: str) -> list[str]:
    return [part for part in text.split(",") if part]


def _part(text: str) -> float:
    value = float(text)
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{text} is not between 0 and 1")
    return value


LINKED: dict[str, Callable[[str], Any]] = {
    "shown": str,
    "data": str,
    "rank": int,
    "runs": _list,
    "metric": str,
    "threshold": float,
    "focus": str,
    "component": str,
    "sample": str,
    "relevance": _part,
    "label": str,
    "quantity": str,
    "problem": str,
    "part": str,
    "study": str,
    "with": int,
    "lesson": str,
    "step": int,
    "present": str,
    "lock": _list,
    "moved": str,
    "rise": str,
}


def to(page_key: str, label: str = "", hint: str = "", **parameters: str) -> None:
    """Draw a link to a page; ``label`` is plain text, the page's own invitation if left out.

    ``hint`` : plain text of the tooltip. A guest gets no link to a page that would
    refuse them.
    """
    page = declared.page(page_key)
    if is_guest() and not page.for_guests:
        return
    words = plain(label or page.invitation or page.title)
    icon = f":material/{page.icon}:"
    st.page_link(
        str(page.script),
        label=words,
        icon=icon,
        help=plain(hint) if hint else None,
        query_params=_also_shown(parameters),
    )


def go(page_key: str, **parameters: str) -> None:
    """Open another page."""
    st.switch_page(str(declared.page(page_key).script), query_params=_also_shown(parameters))


def _also_shown(parameters: dict[str, str]) -> dict[str, str]:
    """Add the owner of shared runs to an address that has values."""
    shown = get("shown")
    return {"shown": shown} | parameters if shown and parameters else parameters


def key(name: str) -> str:
    """The session key (and widget key) of a linked value."""
    return f"view_{name}"


def get(name: str, default: Any = None) -> Any:
    """The current value."""
    return st.session_state.get(key(name), default)


def is_guest() -> bool:
    """Whether the visitor is a guest, who follows a shared link and cannot change anything."""
    return bool(get("shown"))


def put(name: str, value: Any) -> None:
    """Set a value; only before its widget is drawn in this run, or in a callback."""
    st.session_state[key(name)] = value
    st.session_state.setdefault(_NEWEST, {})[name] = value


def put_next(name: str, value: Any) -> None:
    """Set a value after its widget was drawn, and redraw the page."""
    st.session_state.setdefault(_NEXT, {})[name] = value
    st.rerun()


def forget() -> None:
    """Reset every value to its default, as in a new tab."""
    for name in LINKED:
        st.session_state.pop(key(name), None)
    st.session_state.pop(_NEWEST, None)


def one_of(name: str, options: Iterable[Any], default: Any = None) -> Any:
    """Set a value outside the options to ``default``, or to the first option, and return it."""
    known = list(options)
    if get(name) not in known:
        put(name, known[0] if default is None else default)
    return get(name)


def sync(page: str, names: Iterable[str]) -> None:
    """Take a page's values from the address, and keep all others alive across pages.

    ``names`` are those that the page of this key uses; others are removed from the address.
    """
    written = st.session_state.setdefault(_WRITTEN, {})
    if opened := st.session_state.get(_SHOWN) != page:
        st.session_state[_SHOWN], st.session_state[_HAD] = page, []
    newest = st.session_state.setdefault(_NEWEST, {})
    for name in LINKED.keys() & st.query_params.keys() - set(names):
        if opened and key(name) not in st.session_state:  # a new tab: another page may ask for it
            put(name, _parsed(name, st.query_params[name]))
        del st.query_params[name]
    query = {name: st.query_params[name] for name in names if name in st.query_params}
    old = query in st.session_state[_HAD]
    news = bool(query) and not old and query != {n: written[n] for n in names if n in written}
    for name in LINKED:
        if news and name in names:
            put(name, _parsed(name, query.get(name)))
        elif opened and name in newest:
            put(name, newest[name])
        elif key(name) in st.session_state:
            # Streamlit forgets a widget's value when another page is drawn, unless it is set.
            put(name, get(name))
    if news:
        written.update(query)
    for name, value in st.session_state.pop(_NEXT, {}).items():
        put(name, value)


def share(*names: str) -> None:
    """Write these values into the address."""
    written: dict[str, str] = st.session_state[_WRITTEN]
    now = st.query_params.to_dict()
    changed = dict(now)
    for name in names:
        st.session_state[_NEWEST][name] = get(name)
        changed.pop(name, None)
        written.pop(name, None)
        if text := _text(get(name)):
            changed[name] = written[name] = text
    now_has = {name: changed[name] for name in LINKED if name in changed}
    if now_has not in st.session_state[_HAD]:
        st.session_state[_HAD].append(now_has)
    if changed != now:
        st.query_params.from_dict(changed)


def _parsed(name: str, text: str | None) -> Any:
    try:
        return None if text is None else LINKED[name](text)
    except ValueError:
        return None


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
