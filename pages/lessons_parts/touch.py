"""Interactive pictures: a plain JavaScript file for each in the folder ``scripts``.

A picture gets its data from Python and draws them as SVG. Its handles are dragged, or focused and
moved by the arrow keys; on release their positions come back, and the page describes them by the
engine.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

from bnmf_core.figures import style
from pages.frame import link

SCRIPTS = Path(__file__).with_name("scripts")
# Colours of components, as in every chart.
COLORS = "".join(
    f"const {name} = {json.dumps(colors)};\n"
    for name, colors in (
        ("COLORS", style.COMPONENT_COLORS),
        ("INKS", [style.ink(color) for color in style.COMPONENT_COLORS]),
        ("MUTED", style.MUTED),
        ("HIGHLIGHT", style.HIGHLIGHT),
    )
)
# Greatest height of a picture: the rest of the window on a page, and in a talk. The page reserves
# enough for the text above and below that the whole picture is on the first screen.
HEIGHT, PRESENTED = "clamp(15rem, 100vh - 24.5rem, 44rem)", "64vh"


def _component(name: str) -> Any:
    parts = [COLORS, *((SCRIPTS / f"{part}.js").read_text("utf-8") for part in ("common", name))]
    return st.components.v2.component(
        f"lessons_{name}",
        html='<div class="picture"></div>',
        css=(SCRIPTS / "common.css").read_text("utf-8"),
        js="".join(parts),
    )


# Streamlit requires the declaration at server start.
COMPONENTS = {
    path.stem: _component(path.stem) for path in SCRIPTS.glob("*.js") if path.stem != "common"
}


def presenting() -> bool:
    """Whether the page is in presentation mode: large, one step at a time, without controls."""
    return bool(link.get("present"))


def picture(name: str, data: Mapping[str, Any], *, key: str, moved: str) -> Any:
    """Draw a picture; return the released positions of its handles, initially ``data[moved]``.

    Parameters
    ----------
    name : of its script. data : for the script. key : identifies the picture.
    moved : name of the value that the script sends back.
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
    """Listen to the keys of a talk and call ``turn`` with "next", "back" or "leave"."""

    def pressed() -> None:
        turn(st.session_state["lessons_keys"]["pressed"])

    COMPONENTS["keys"](key="lessons_keys", on_pressed_change=pressed)
