"""The dashboard, as a server runs it: streamlit run app.py."""

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from bnmf_core.nouns import events
from pages.frame import declared
from pages.serving import front, health

events.to_standard_error()
app = st.App(
    declared.SHELL,
    middleware=[Middleware(front.Front)],
    routes=[Route("/health", health.answer)],
)
