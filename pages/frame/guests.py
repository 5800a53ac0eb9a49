"""Visitors: sign-in on servers with accounts, and guests who follow a shared link."""

import streamlit as st

from bnmf_core.core.errors import NotFoundError
from pages.frame import declared, link, owners, services, view
from pages.frame.words import plain


def ask_to_sign_in() -> None:
    """On a server with accounts: end the page until the visitor has signed in."""
    if owners.must_sign_in():
        st.title("Sign in", anchor=False)
        st.markdown("Runs and data are private to each person on this server.")
        st.button("Sign in", type="primary", on_click=st.login)
        st.stop()


def draw(page: declared.Page) -> None:
    """Show the owner of shared runs; end a page that guests cannot see."""
    if shown := link.get("shown"):
        link.share("shown")
        _guest(page, shown)
    elif not owners.is_known():
        st.warning(
            "Your browser does not keep cookies of this server, by which it would know you: what "
            "you make here is yours only as long as this tab is open. Allow cookies, or download "
            "an archive under Overview before you close it."
        )
    if owners.signs_in():
        with st.sidebar:
            name = st.user.get("email") or st.user.get("name") or "you"
            st.caption(plain(f"Signed in as {name}."))
            st.button("Sign out", on_click=st.logout, type="tertiary")


def _guest(page: declared.Page, shown: str) -> None:
    try:
        services.places().shown(shown)
    except NotFoundError as error:
        view.problem(error)
        _to_ones_own()
        st.stop()
    with st.container(border=True, horizontal=True, vertical_alignment="center"):
        name = services.places().shares.find(shown).name or "These runs"
        st.markdown(f":material/visibility: **{plain(name)}** is shared with you, read-only.")
        _to_ones_own()
    if not page.for_guests:
        view.nothing("This page is for runs of your own.", "overview", "components")


def _to_ones_own() -> None:
    if owners.is_shared():
        st.button("To my own runs", key="to_my_own", on_click=_leave)


def _leave() -> None:
    # Settings for another owner's runs, such as a threshold, do not apply to one's own.
    link.forget()
    for name in ("shown", "runs", "data"):
        link.put(name, None)
    st.query_params.clear()
