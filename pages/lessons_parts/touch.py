"""Pictures to touch: a script in the browser for each, plain JavaScript in the folder ``scripts``.

A picture gets its data from Python and draws them as SVG. Its handles are dragged, or focused and
moved by the arrow keys; when they are let go, their places come back, and the page says by the
engine what they amount to.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from bnmf_core.figures import style
from pages.frame import link

SCRIPTS = Path(__file__).with_name("scripts")
# One colour for a component, here as in every chart.
COLORS = "".join(
    f"const {name} = {json.dumps(colors)};\n"
    for name, colors in (
        ("COLORS", style.COMPONENT_COLORS),
        ("INKS", [style.ink(color) for color in style.COMPONENT_COLORS]),
        ("MUTED", style.MUTED),
        ("HIGHLIGHT", style.HIGHLIGHT),
    )
)
# How high a picture may be: what a page leaves of the window, and what a talk does. The page keeps
# so much for what stands above and below that the picture is whole on the first screen.
HEIGHT, PRESENTED = "clamp(15rem, 100vh - 24.5rem, 44rem)", "64vh"


def _component(name: str) -> Any:
    parts = [COLORS, *((SCRIPTS / f"{part}.js").read_text("utf-8") for part in ("common", name))]
    return st.components.v2.component(
        f"lessons_{name}",
        html='<div class="picture"></div>',
        css=(SCRIPTS / "common.css").read_text("utf-8"),
        js="".join(parts),
    )


# Declared when the server begins, as Streamlit wants it.
COMPONENTS = {
    path.stem: _component(path.stem) for path in SCRIPTS.glob("*.js") if path.stem != "common"
}


def presenting() -> bool:
    """Whether the page is shown to a room: large, one step at a time, without controls."""
    return bool(link.get("present"))


def picture(name: str, data: Mapping[str, Any], *, key: str, moved: str) -> Any:
    """Draw a picture; where its handles were let go, ``data[moved]`` until they are touched.

    Parameters
    ----------
    name : of its script. data : for the script. key : tells pictures apart.
    moved : name of what the script sends back.
    """
    shown = json.loads(json.dumps(data))
    shown |= {"height": PRESENTED if presenting() else HEIGHT, "presenting": presenting()}
    found = COMPONENTS[name](
        key=key,
        data=shown,
        default={moved: shown[moved]},
        **{f"on_{moved}_change": lambda: None},
    )
    return found[moved]


def keys(turn: Callable[[str], None]) -> None:
    """Listen to the keys of a talk: ``turn`` is called with "next", "back" or "leave"."""

    def pressed() -> None:
        turn(st.session_state["lessons_keys"]["pressed"])

    COMPONENTS["keys"](key="lessons_keys", on_pressed_change=pressed)
