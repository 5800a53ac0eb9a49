"""Runs shared by a link, until it is withdrawn."""

from collections.abc import Sequence
from urllib.parse import urlencode, urlsplit

import streamlit as st

from bnmf_core.runs.launch import moment
from bnmf_core.store.shares import Share
from pages.frame import declared, link, owners, view
from pages.frame.services import places
from pages.frame.words import plain


def show(run_ids: Sequence[str], name: str) -> None:
    """A button that makes a link to these runs, or the link with a button that withdraws it."""
    shares, owner = places().shares, owners.owner()
    made = [share for share in shares.of(owner) if set(share.run_ids) == set(run_ids)]
    for share in made:
        _link(share)
    if not made:
        words = "People with the link can view these runs and change nothing."
        if not owners.is_shared():
            words += " Anybody who opens this server without it can change everything."
        st.button(
            "Show it to others",
            key="show_to_others",
            help=words,
            on_click=view.safely(shares.make),
            args=(owner, run_ids, name),
        )


def listed() -> None:
    """All links that the visitor shares."""
    if link.is_guest():
        return
    if shares := places().shares.of(owners.owner()):
        with st.expander(plain(f"What you show to others ({len(shares)})")):
            for share in shares:
                st.markdown(plain(f"{share.name or 'Runs'}, since {moment(share.created)}"))
                _link(share)


def _link(share: Share) -> None:
    there = urlsplit(st.context.url or "")
    page = declared.page("overview").address
    values = urlencode({"shown": share.token, "runs": ",".join(share.run_ids)}, safe=",")
    with st.container(horizontal=True, vertical_alignment="center"):
        st.code(f"{there.scheme}://{there.netloc}/{page}?{values}", language=None)
        st.button(
            "Take it back",
            key=f"take_back_{share.token}",
            on_click=view.safely(places().shares.take_back),
            args=(owners.owner(), share.token),
            help="The link shows nothing from then on.",
        )
