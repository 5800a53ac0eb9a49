"""Owners of runs: one for all on a personal server, one for each browser on a shared one.

``BNMF_SHARED=1``: a cookie identifies a browser. ``BNMF_SHARED=sign-in``: users are identified by
the account they sign in with, as Streamlit's ``[auth]`` is configured.
"""

import hashlib
import os

import streamlit as st

from bnmf_core.lazy import lazy
from bnmf_core.store.home import EVERYBODY

identity = lazy("pages.serving.identity")

SHARED, SIGN_IN = "1", "sign-in"
_WITHOUT_COOKIE = "owner_of_this_tab"


def is_shared() -> bool:
    """Whether several people share the server, each with runs of their own."""
    return os.environ.get("BNMF_SHARED", "") in (SHARED, SIGN_IN)


def signs_in() -> bool:
    """Whether users sign in with an account."""
    return os.environ.get("BNMF_SHARED", "") == SIGN_IN


def must_sign_in() -> bool:
    """Whether the visitor has to sign in first."""
    return signs_in() and not st.user.is_logged_in


def owner() -> str:
    """The visitor's owner name, which is the name of their folder."""
    if not is_shared():
        return EVERYBODY
    if signs_in():
        account = f"{st.user.get('iss', '')} {st.user['sub']}"
        return hashlib.sha256(account.encode()).hexdigest()[:32]
    return identity.owner_of(st.context.cookies) or st.session_state.setdefault(
        _WITHOUT_COOKIE, identity.new_owner()
    )


def is_known() -> bool:
    """Whether the browser will be recognized at its next visit."""
    return not is_shared() or signs_in() or _WITHOUT_COOKIE not in st.session_state
