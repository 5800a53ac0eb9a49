"""A widget for every option of a Reading; the next reading uses the changes."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import streamlit as st

from bnmf_core.data.formats import FORMATS
from bnmf_core.data.reading import NEGATIVE, SEPARATORS, Reading
from pages.frame.words import plain, shown

# Most columns in a menu; the command line selects others by number.
MOST_OPTIONS = 500
ENCODINGS = ("utf-8-sig", "utf-16", "cp1252", "latin-1", "cp932", "utf-16-le", "utf-16-be")
DECIMALS = {".": "point: 1.5", ",": "comma: 1,5"}
NONE = 0


def changes(file_id: str) -> dict[str, Any]:
    """The user's changes for this file, as options of a Reading."""
    changes = dict(_changes(file_id))
    settings = {key[1:]: changes.pop(key) for key in list(changes) if key.startswith("@")}
    return changes | ({"settings": settings} if settings else {})


def spelled(file_id: str) -> str:
    """The changes as one line, which identifies a reading."""
    return repr(list(_changes(file_id).items()))


def undo(file_id: str) -> None:
    """Undo the last change."""
    if changes := _changes(file_id):
        changes.popitem()


def draw(reading: Reading, file_id: str) -> None:
    """Draw the widgets, with the current options of the reading."""
    with st.container(border=True):
        st.markdown("**How it is read**")
        if len(reading.formats) > 1:
            kinds = {key: FORMATS[key].what for key in reading.formats}
            _choice(file_id, "format", "Format", kinds, reading.format, reading)
        _of_every_file(reading, file_id)
        if reading.negative:
            _choice(file_id, "negative", "Negative entries", NEGATIVE, reading.negative, reading)
        if reading.is_table:
            _of_tables(reading, file_id)
        _of_this_format(reading, file_id)


def _of_every_file(reading: Reading, file_id: str) -> None:
    left, middle, right = st.columns(3)
    with left:
        _choice(
            file_id,
            "observations",
            "Observations are in",
            ("rows", "columns"),
            reading.observations,
            reading,
            widget=partial(st.radio, horizontal=True),
        )
    with middle:
        _text(
            file_id,
            "features_are",
            "Features are called",
            reading.features_are,
            "genes, species, …",
            str.strip,
        )
    with right:
        shape = "" if reading.image_shape is None else "{}x{}".format(*reading.image_shape)
        _text(
            file_id,
            "image_shape",
            "Image shape, if features or observations are pixels",
            shape,
            "50x50",
            _shape,
        )
        if reading.image_shape is not None:
            _choice(
                file_id,
                "pixel_order",
                "Pixels follow each other",
                {"columns": "down columns (MATLAB)", "rows": "along rows (NumPy)"},
                reading.pixel_order,
                reading,
                widget=partial(st.radio, horizontal=True),
            )


def _of_tables(reading: Reading, file_id: str) -> None:
    columns = range(1, min(len(reading.columns), MOST_OPTIONS) + 1)
    heads = {column: reading.column_name(column) for column in columns}
    rows = {NONE: "none", **{line: f"row {line}" for line in reading.preview.lines}}
    for picked in (reading.names_column, *reading.label_columns):
        if picked is not None:
            heads.setdefault(picked, reading.column_name(picked))
    one, two, three, four = st.columns(4)
    with one:
        _choice(
            file_id, "header_row", "Names of columns", rows, reading.header_row or NONE, reading
        )
    with two:
        named = {NONE: "none", **heads}
        now = reading.names_column or NONE
        _choice(file_id, "names_column", "Names of rows", named, now, reading)
    with three:
        _several(file_id, "label_columns", "Labels", heads, reading.label_columns, reading)
    used = {reading.names_column, *reading.label_columns, *reading.number_columns}
    with four:
        unused = [column for column in columns if column not in used]
        _several(file_id, "left_out_columns", "Left out", heads, unused, reading)
    if reading.encoding:
        _of_text(reading, file_id)
    else:
        _missing(reading, file_id)


def _of_text(reading: Reading, file_id: str) -> None:
    one, two, three, four = st.columns(4)
    with one:
        _choice(file_id, "separator", "Separator", SEPARATORS, reading.separator, reading)
    with two:
        _choice(file_id, "decimal_mark", "Decimal mark", DECIMALS, reading.decimal_mark, reading)
    with three:
        known = dict.fromkeys((*ENCODINGS, reading.encoding))
        _choice(file_id, "encoding", "Encoding", tuple(known), reading.encoding, reading)
    with four:
        _missing(reading, file_id)


def _missing(reading: Reading, file_id: str) -> None:
    now = ", ".join(reading.missing_words)
    _text(file_id, "missing_words", "Further words for missing", now, "-, n.d.", _words)


def _of_this_format(reading: Reading, file_id: str) -> None:
    for start in range(0, len(reading.offers), 4):
        keys = list(reading.offers)[start : start + 4]
        for place, key in zip(st.columns(4), keys, strict=False):
            with place:
                label = key.replace("_", " ").capitalize()
                now = reading.settings.get(key)
                _choice(file_id, f"@{key}", label, reading.offers[key], now, reading)


def _choice(
    file_id: str,
    field: str,
    label: str,
    options: Mapping[Any, str] | tuple[Any, ...],
    now: Any,
    reading: Reading,
    widget: Callable[..., Any] = st.selectbox,
) -> None:
    names = dict(options) if isinstance(options, Mapping) else {key: str(key) for key in options}
    names.setdefault(now, str(now))
    key = f"{file_id}_{field}"
    st.session_state[key] = now

    def changed() -> None:
        value = st.session_state[key]
        none = field in ("header_row", "names_column") and value == NONE
        _record(file_id, field, None if none else value)

    widget(
        plain(label),
        list(names),
        key=key,
        format_func=names.get if widget is st.selectbox else shown(names),
        help=_because(reading, field),
        on_change=changed,
    )


def _several(
    file_id: str,
    field: str,
    label: str,
    names: Mapping[int, str],
    now: Any,
    reading: Reading,
) -> None:
    key = f"{file_id}_{field}"
    st.session_state[key] = list(now)

    def changed() -> None:
        _record(file_id, field, tuple(st.session_state[key]))

    st.multiselect(
        plain(label),
        list(names),
        key=key,
        format_func=names.get,
        help=_because(reading, field),
        on_change=changed,
        placeholder="none",
    )


def _text(
    file_id: str, field: str, label: str, now: str, example: str, parse: Callable[[str], Any]
) -> None:
    key = f"{file_id}_{field}"
    st.session_state[key] = now

    def changed() -> None:
        text = st.session_state[key]
        value = parse(text)
        if value is not None or not text.strip():
            _record(file_id, field, value)

    st.text_input(plain(label), key=key, placeholder=plain(example), on_change=changed)


def _shape(text: str) -> tuple[int, int] | None:
    height, _, width = text.lower().replace("×", "x").partition("x")
    whole = height.strip().isdigit() and width.strip().isdigit()
    return (int(height), int(width)) if whole and int(height) * int(width) > 0 else None


def _words(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _because(reading: Reading, field: str) -> str | None:
    why = reading.reasons.get("number_columns" if field == "left_out_columns" else field)
    return f"Because {plain(why)}." if why else None


def _changes(file_id: str) -> dict[str, Any]:
    every = st.session_state.setdefault("upload_said", {})
    if file_id not in every:
        every.clear()
        every[file_id] = {}
    return every[file_id]


def _record(file_id: str, field: str, value: Any) -> None:
    changes = _changes(file_id)
    changes.pop(field, None)
    changes[field] = value
