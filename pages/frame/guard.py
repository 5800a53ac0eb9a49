"""Start of every page, also of one that a link opens on a server that has just started."""

from collections.abc import Callable

import streamlit as st
from streamlit.navigation.page import StreamlitPage

from pages.frame import declared, guests, hints, link
from pages.frame.words import plain
from pages.glossary_parts import drawer


def admit() -> StreamlitPage:
    """Draw the navigation, an entry per section, and return the requested page."""
    st.session_state["admitted"] = True
    first = declared.PAGES[0]
    pages = [
        st.Page(
            page.script,
            title=page.title if number else section,
            url_path=page.key,
            default=page is first,
            visibility="hidden" if number else "visible",
        )
        for section, members in declared.sections().items()
        for number, page in enumerate(members)
    ]
    pages += [
        st.Page(_sent_on(address), url_path=address, title="Moved", visibility="hidden")
        for address in declared.MOVED
    ]
    return st.navigation(pages, position="top")


def _sent_on(address: str) -> Callable[[], None]:
    def send() -> None:
        page, parameters = declared.MOVED[address]
        query = st.query_params.to_dict()
        # Runs stood on two sides once.
        if sides := [runs for side in ("left", "right") if (runs := query.pop(side, ""))]:
            query["runs"] = ",".join(dict.fromkeys(",".join(sides).split(",")))
            query.pop("pane", None)
        link.go(page, **query | parameters)

    return send


def enter(key: str) -> None:
    """Read the page's values from its address, and draw its heading and question."""
    head(arrive(key))


def head(page: declared.Page) -> None:
    """Draw a page's heading, links to sibling views, and question."""
    views = declared.sections()[page.section]
    with st.container(horizontal=True, vertical_alignment="center", key="heading"):
        st.title(plain(page.heading or page.title), anchor=False, width="content")
        if len(views) > 1:
            for view in views:
                link.to(view.key, view.title)
        st.space("stretch")
        drawer.button()
    st.markdown(page.question)


def arrive(key: str) -> declared.Page:
    """Read the page's values from its address; the page draws its own heading.

    On a server that has just started, Streamlit runs the script of a page that a link names
    before ``app.py`` has said which pages there are; then it is begun again.
    """
    if "admitted" not in st.session_state:
        admit()
        st.rerun()
    page = declared.page(key)
    guests.ask_to_sign_in()
    link.sync(key, ("shown", *page.parameters))
    guests.draw(page)
    hints.opened(key)
    return page
