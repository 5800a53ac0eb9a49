"""Upload of a user's file: preview, warnings and options before it is stored."""

import re
from collections.abc import Mapping
from typing import Any

import streamlit as st

from bnmf_core import Dataset
from bnmf_core.core.errors import BNMFError
from bnmf_core.data.isolation import ReaderProcess
from bnmf_core.data.joining import join, labelled, oriented
from bnmf_core.data.load import dataset_of, named_apart
from bnmf_core.data.reading import Reading, negative_hint
from bnmf_core.data.symbols import named_by_symbols
from pages.data_parts import choices, preview, waiting
from pages.frame import link, view
from pages.frame.services import store
from pages.frame.words import capital, plain
from pages.parts import dropping

_READER, _FOUND, _TAKING = "upload_reader", "upload_found", "upload_taking"


def upload() -> bool:
    """Upload a file and confirm how it is read; whether one waits for confirmation."""
    file = dropping.ask()
    if file is None:
        _forget()
        return False
    taken = st.session_state.get("upload_taken", ("", ""))
    if taken[0] == file.file_id:
        if taken[1]:
            st.caption(plain(taken[1]))
        return False
    reading = _reading(file)
    if reading is None:
        return True
    key = f"beside_{file.file_id}"
    beside = {other.name: other.getvalue() for other in st.session_state.get(key) or ()}
    reading = oriented(reading, beside)
    _take(file, reading, beside)
    # Errors, and warnings that the user has to confirm.
    if reading.faults:
        words = " ".join(f"\n- {plain(_of_page(fault))}" for fault in reading.faults)
        hint = plain(negative_hint(reading, "The setting “Negative entries”"))
        st.error(f"The file cannot be read this way. Change it, or how it is read.{hint}\n{words}")
    if reading.doubts:
        words = "".join(f"\n- {plain(_of_page(doubt))}" for doubt in reading.doubts)
        st.warning(f"Is this right? If not, change it below:\n{words}")
    preview.draw(reading)
    choices.draw(reading, file.file_id)
    st.file_uploader(
        "Names or labels in separate files (optional)",
        key=key,
        accept_multiple_files=True,
        help="One row for each observation or feature. A column with the names of the data joins "
        "by name, otherwise rows are joined in their order.",
    )
    return True


def _of_page(sentence: str) -> str:
    """A sentence on a file that names the setting of the page in place of the command's option."""
    return re.sub(r'(--missing "[^"]*" ?)+', "“Further words for missing”", sentence)


def _reading(file: Any) -> Reading | None:
    """The reading of the file with the current options; None while it is computed."""
    state = (file.file_id, choices.spelled(file.file_id))
    cached = st.session_state.get(_FOUND)
    if cached is None or cached[0] != state:
        reader = st.session_state.get(_READER)
        if reader is None or reader[0] != state:
            _stop(_READER)
            changes = choices.changes(file.file_id)
            process = ReaderProcess(file.getvalue(), file.name, "reading", chosen=changes)
            st.session_state[_READER] = reader = (state, process)
        if not waiting.ended(reader[1], "Looking at the file"):
            return None
        try:
            cached = (state, reader[1].reading(), "")
        except BNMFError as error:
            cached = (state, None, str(error))
        _stop(_READER)
        st.session_state[_FOUND] = cached
    _, reading, wrong = cached
    if reading is None:
        view.problem(wrong)
        if choices.changes(file.file_id):
            st.button("Undo my last change", on_click=choices.undo, args=(file.file_id,))
    return reading


def _take(file: Any, reading: Reading, beside: Mapping[str, bytes]) -> None:
    """Describe the reading; on a click, load the data and show them."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(f"Read as **{plain(reading.what)}**.", width="content")
        pressed = st.button(
            "Take these data", type="primary", key="upload_read", disabled=bool(reading.faults)
        )
    if pressed:
        _stop(_TAKING)
        reader = ReaderProcess(file.getvalue(), file.name, "parts", reading=reading)
        st.session_state[_TAKING] = (file.file_id, reader)
    taking = st.session_state.get(_TAKING)
    if taking is None or not waiting.ended(taking[1], "Taking the data"):
        return
    try:
        dataset, sentences = dataset_of(taking[1].parts(), file.name, reading), []
        for name, content in beside.items():
            dataset, sentence = join(dataset, content, name)
            sentences.append(capital(sentence))
        for completed in (labelled, named_by_symbols):
            dataset, sentence = completed(dataset)
            sentences.append(sentence)
        dataset_id = keep(dataset)
    except BNMFError as error:
        view.problem(error)
        return
    finally:
        _stop(_TAKING)
    st.session_state["upload_taken"] = (file.file_id, " ".join(filter(None, sentences)))
    link.put_next("data", dataset_id)


def keep(dataset: Dataset) -> str:
    """Store data under a distinct name and return their id."""
    taken = {entry.id: entry.name for entry in store().dataset_entries()}
    return store().add_dataset(named_apart(dataset, taken))


def _stop(key: str) -> None:
    if (held := st.session_state.pop(key, None)) is not None:
        held[1].stop()


def _forget() -> None:
    for key in (_READER, _TAKING):
        _stop(key)
    st.session_state.pop(_FOUND, None)
    st.session_state.pop("upload_taken", None)
