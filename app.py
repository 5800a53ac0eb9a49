"""The dashboard: streamlit run app.py."""

import sys
from threading import Timer

import streamlit as st
from starlette.middleware import Middleware
from starlette.routing import Route

from bnmf_core.core import events
from bnmf_core.lazy import lazy
from pages.frame import declared
from pages.serving import front, health, logs, media

warming = lazy("bnmf_core.runs.warming")

COMPILE_AFTER = 3.0  # seconds

events.to_standard_error()
logs.quiet()
# Where it is missing, Streamlit puts it first for each run of a script and takes it away again; an
# import in another thread, which goes through the list meanwhile, then passes over a folder.
sys.path.append(str(declared.SHELL.parent))


def compile_kernels() -> None:
    """Load the engine and compile its kernels in the background, after the first page."""
    warming.warm_up_apart()


compiling = Timer(COMPILE_AFTER, compile_kernels)
compiling.daemon = True
compiling.start()
app = st.App(
    declared.SHELL,
    lifespan=media.lifespan,
    middleware=[Middleware(front.Front)],
    routes=[Route("/health", health.answer)],
)
