"""What is looked at, kept in the session and in the address, so that a link restores a view.

Values live in ``st.session_state`` under :func:`key`, where widgets of several pages can use
them. The address wins when it says something that this session did not write itself.
"""

from typing import Any

import streamlit as st

LINKED = {
    "data": str,
    "runs": lambda text: [part for part in text.split(",") if part],
    "metric": str,
    "threshold": float,
    "focus": str,
    "relevance": float,
    "label": str,
    "quantity": str,
    "problem": str,
    "part": str,
    "lesson": lambda text: [part for part in text.split(",") if part],
}


def key(name: str) -> str:
    """The session key (and widget key) of a linked value."""
    return f"view_{name}"


def get(name: str, default: Any = None) -> Any:
    """The current value."""
    return st.session_state.get(key(name), default)


def put(name: str, value: Any) -> None:
    """Set a value; only before its widget is drawn in this run, or in a callback."""
    st.session_state[key(name)] = value


def put_next(name: str, value: Any) -> None:
    """Set a value whose widget is drawn already: the page is drawn again with it."""
    st.session_state.setdefault("values_for_next_draw", {})[name] = value
    st.rerun()


def sync() -> None:
    """Take values from the address, and keep the others alive across pages."""
    written = st.session_state.setdefault("written_to_address", {})
    for name, parse in LINKED.items():
        text = st.query_params.get(name)
        if text is not None and text != written.get(name):
            try:
                put(name, parse(text))
                written[name] = text
            except ValueError:
                del st.query_params[name]
        elif key(name) in st.session_state:
            # Streamlit forgets a widget's value when another page is drawn, unless it is set.
            put(name, get(name))
    for name, value in st.session_state.pop("values_for_next_draw", {}).items():
        put(name, value)


def share(*names: str) -> None:
    """Write these values into the address."""
    written = st.session_state["written_to_address"]
    for name in names:
        text = _text(get(name))
        if text:
            if st.query_params.get(name) != text:
                st.query_params[name] = text
            written[name] = text
        elif name in st.query_params:
            del st.query_params[name]
            written.pop(name, None)


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ",".join(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
