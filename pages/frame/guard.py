"""Every page starts here, also when a link opens it on a server that has just started."""

import streamlit as st

from pages.frame import link


def enter(page: str) -> None:
    """Send a session that came straight to a page through ``app.py`` first, then sync the link.

    Streamlit knows the page list only once ``app.py`` has run in the session; until then the
    page's name and its query parameters are remembered.
    """
    if "admitted" not in st.session_state:
        st.session_state["asked_for"] = (f"pages/{page}.py", st.query_params.to_dict())
        st.switch_page("app.py")
    link.sync()


def admit() -> None:
    """Note that ``app.py`` has run, and go on to the page that was asked for, if any."""
    st.session_state["admitted"] = True
    asked_for = st.session_state.pop("asked_for", None)
    if asked_for is not None:
        page, parameters = asked_for
        st.switch_page(page, query_params=parameters)
