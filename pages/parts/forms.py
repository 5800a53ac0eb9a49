"""Forms made from declared settings."""

from collections.abc import Mapping
from dataclasses import Field
from typing import Any

import streamlit as st

from bnmf_core.core.settings import Declaration, declarations
from pages.frame.words import plain


def settings_form(
    settings_class: type, prefix: str, first: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Draw a widget for every declared setting and return the values.

    ``first`` : initial values that differ from the declared defaults.
    """
    values: dict[str, Any] = {}
    advanced = []
    for name, (field, declared) in declarations(settings_class).items():
        default = (first or {}).get(name, field.default)
        if declared.advanced:
            advanced.append((name, field, default, declared))
        else:
            values[name] = _widget(field, default, declared, f"{prefix}_{name}")
    if advanced:
        with st.expander("More settings"):
            for name, field, default, declared in advanced:
                values[name] = _widget(field, default, declared, f"{prefix}_{name}")
    return {name: value for name, value in values.items() if value is not None}


def _widget(field: Field[Any], default: Any, declared: Declaration, key: str) -> Any:
    label = plain(f"{declared.label} ({declared.unit})" if declared.unit else declared.label)
    help_text = plain(declared.help)
    if declared.choices:
        options = list(declared.choices)
        return st.selectbox(label, options, options.index(default), key=key, help=help_text)
    if declared.pattern:
        return st.text_input(label, default, key=key, help=help_text)
    if isinstance(default, bool):
        return st.toggle(label, default, key=key, help=help_text)
    whole = "int" in str(field.type) and "float" not in str(field.type)
    kind = int if whole else float
    return st.number_input(
        label,
        min_value=None if declared.minimum is None else kind(declared.minimum),
        max_value=None if declared.maximum is None else kind(declared.maximum),
        value=default if default is None else kind(default),
        step=1 if whole else None,
        format=None if whole else "%g",
        placeholder="taken from the data",
        key=key,
        help=help_text,
    )
