"""The factorizations in focus on all pages: a mode, or a selection on a chart."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
import streamlit as st

from bnmf_core.compare.modes import Modes
from bnmf_core.core.names import numbered
from bnmf_core.figures import thinning
from pages.frame import link
from pages.frame.words import labelled

MOST_MODES_LISTED = 30
# Most names in a menu; others are typed.
MOST_SAMPLES_LISTED = 1_000


def ask(modes: Modes, names: Sequence[str] = ()) -> tuple[np.ndarray, str]:
    """Select the focus: a mask (m,) bool, and its name; ``names`` of the modes."""
    options = {"": "all factorizations"}
    for k in range(min(modes.count, MOST_MODES_LISTED)):
        options[f"mode:{k + 1}"] = names[k] if names else f"mode {k + 1}"
    selected = _rows(link.get("focus") or "", modes.labels.size)
    if selected is not None:
        options[link.get("focus")] = f"{len(selected)} selected on a chart"
    link.one_of("focus", options)
    now = st.selectbox(
        "Focus",
        list(options),
        key=link.key("focus"),
        format_func=labelled(options),
        help="The factorization or mode that pictures, words and scores show. You can also click "
        "a mode on a map, or select several points with a lasso.",
    )
    return among(modes, now), options[now]


def ask_component(called: Sequence[str]) -> int | None:
    """Select the highlighted component by name: its 0-based index, None for all.

    Components have the numbers of the first factorization shown, on every page.
    """
    options = {"": "all components"}
    options |= {str(r): f"component {name}" for r, name in enumerate(numbered(called), 1)}
    link.one_of("component", options)
    chosen = st.selectbox(
        "Component",
        list(options),
        key=link.key("component"),
        format_func=labelled(options),
        help="The component highlighted on Components and Samples. You can also click one there.",
    )
    link.share("component")
    return int(chosen) - 1 if chosen else None


def component_clicked(points: list[Any]) -> None:
    """Bring the component whose number is the customdata of a point forward, or back again."""
    _clicked("component", str(thinning.named_by(points[0]["customdata"])[0] + 1))


def ask_sample(observations: Sequence[str], titled: bool = True) -> int | None:
    """Select the highlighted observation: its index, or None."""
    # Names do not depend on the held-out observations.
    wanted = link.get("sample")
    index = observations.index(wanted) if wanted in observations else None
    link.put("sample", "" if index is None else wanted)
    listed = ["", *observations[:MOST_SAMPLES_LISTED]]
    if index is not None and index >= MOST_SAMPLES_LISTED:
        listed.append(observations[index])
    st.selectbox(
        "Observation",
        listed,
        key=link.key("sample"),
        format_func=labelled({"": "no observation"}),
        label_visibility="visible" if titled else "collapsed",
        accept_new_options=len(observations) > MOST_SAMPLES_LISTED,
        help="The observation highlighted on Components, Samples and Data. You can also click one "
        "on Samples.",
    )
    link.share("sample")
    return index


def sample_clicked(observations: Sequence[str], points: list[Any]) -> None:
    """Bring the observation whose index is the customdata of a point forward, or back again."""
    _clicked("sample", observations[thinning.named_by(points[0]["customdata"])[0]])


def _clicked(name: str, value: str) -> None:
    link.put(name, "" if value == link.get(name) else value)


def among(modes: Modes, focus: str) -> np.ndarray:
    """Mask (m,) bool of the factorizations in focus; all of them for an unknown focus."""
    count = modes.labels.size
    number = focus.removeprefix("mode:")
    mode = int(number) - 1 if number != focus and number.isdecimal() else None
    selected = _rows(focus, count)
    if mode is not None and mode < modes.count:
        return modes.labels == mode
    mask = np.full(count, selected is None)
    mask[selected or []] = True
    return mask


def on(rows: Iterable[int]) -> None:
    """Focus on these rows of the analysis' members and redraw the page."""
    link.put_next("focus", of_rows(rows))


def selected(modes: Modes) -> Callable[[list[Any]], None]:
    """Callback that toggles the focus on clicked or lassoed points of a chart.

    Their customdata begins with rows. All rows of a mode are the mode.
    """

    def take(points: list[Any]) -> None:
        data = [point.get("customdata") for point in points]
        rows = sorted({row for name in data if name is not None for row in thinning.named_by(name)})
        mode = int(modes.labels[rows[0]]) if rows else MOST_MODES_LISTED
        is_mode = rows == np.flatnonzero(modes.labels == mode).tolist()
        known = is_mode and mode < MOST_MODES_LISTED
        _clicked("focus", f"mode:{mode + 1}" if known else of_rows(rows))

    return take


def on_change(selection: str, focus: str) -> None:
    """Change the focus when a selection has changed, not at each redraw."""
    if focus == st.session_state.get(selection, ""):
        return
    st.session_state[selection] = focus
    if focus != (link.get("focus") or ""):
        link.put_next("focus", focus)


def of_rows(rows: Iterable[int]) -> str:
    """These rows of the analysis' members as a focus."""
    found = ".".join(str(row) for row in rows)
    return f"rows:{found}" if found else ""


def _rows(text: str, count: int) -> list[int] | None:
    if not text.startswith("rows:"):
        return None
    try:
        rows = [int(part) for part in text.removeprefix("rows:").split(".")]
    except ValueError:
        return None
    return rows if rows and all(0 <= row < count for row in rows) else None
