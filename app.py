"""The dashboard, as a server runs it: streamlit run app.py."""

import logging

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from bnmf_core.nouns import events
from pages.frame import declared
from pages.serving import front, health

events.to_standard_error()
# Addresses hold the secret of links that are shown to others; Streamlit would write them down again
# whenever it reads its configuration anew.
logging.getLogger("uvicorn.access").addFilter(lambda record: False)
app = st.App(
    declared.SHELL,
    middleware=[Middleware(front.Front)],
    routes=[Route("/health", health.answer)],
)
