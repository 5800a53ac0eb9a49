"""Forms drawn from declared settings: no page knows a setting by name."""

from dataclasses import Field
from typing import Any

import streamlit as st

from bnmf_core.nouns.settings import Declaration, declarations
from pages.frame.words import plain


def settings_form(settings_class: type, prefix: str) -> dict[str, Any]:
    """Widgets for every declared setting; returns the values that were entered."""
    values: dict[str, Any] = {}
    advanced = []
    for name, (field, declared) in declarations(settings_class).items():
        if declared.advanced:
            advanced.append((name, field, declared))
        else:
            values[name] = _widget(field, declared, f"{prefix}_{name}")
    if advanced:
        with st.expander("More settings"):
            for name, field, declared in advanced:
                values[name] = _widget(field, declared, f"{prefix}_{name}")
    return {name: value for name, value in values.items() if value is not None}


def _widget(field: Field[Any], declared: Declaration, key: str) -> Any:
    label = plain(f"{declared.label} ({declared.unit})" if declared.unit else declared.label)
    told = plain(declared.help)
    if declared.choices:
        options = list(declared.choices)
        return st.selectbox(label, options, options.index(field.default), key=key, help=told)
    if declared.pattern:
        return st.text_input(label, field.default, key=key, help=told)
    if isinstance(field.default, bool):
        return st.toggle(label, field.default, key=key, help=told)
    whole = "int" in str(field.type) and "float" not in str(field.type)
    kind = int if whole else float
    return st.number_input(
        label,
        min_value=None if declared.minimum is None else kind(declared.minimum),
        max_value=None if declared.maximum is None else kind(declared.maximum),
        value=field.default if field.default is None else kind(field.default),
        step=1 if whole else None,
        format=None if whole else "%g",
        placeholder="taken from the data",
        key=key,
        help=told,
    )
