"""Two panes, each a page of its own: what is set in one is set in the other."""

import json
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlencode

import streamlit as st

SCRIPT = Path(__file__).with_name("linking.js")
# Values of addresses that mean the same on both sides.
SHARED = ("metric", "threshold", "part", "relevance", "label", "quantity")


def address(page: str, runs: Sequence[str]) -> str:
    """Where a page of these runs is, without menus."""
    return f"/{page}?" + urlencode({"runs": ",".join(runs), "embed": "true"}, safe=",")


def draw() -> None:
    """Link the panes that are on the page."""
    script = SCRIPT.read_text("utf-8").replace("SHARED", json.dumps(SHARED), 1)
    with st.container(key="history_of_panes"):
        st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)
