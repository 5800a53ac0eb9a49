"""One of several options, side by side."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from pages.frame.words import plain, shown


def pick_one(
    label: str,
    labels: Mapping[Any, str],
    default: Any = None,
    key: str | None = None,
    place: Any = st,
    **further: Any,
) -> Any:
    """Select one option, a key of ``labels``; Streamlit gets the ``further`` arguments."""
    return place.segmented_control(
        plain(label),
        list(labels),
        default=default,
        required=True,
        format_func=shown(labels),
        key=key,
        **further,
    )
