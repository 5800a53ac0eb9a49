"""A user's file that components are compared with: the upload, and names of modes."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
import streamlit as st

from bnmf_core.findings.spreads import with_standing
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts.answer import Answer

Read = TypeVar("Read")


def ask(label: str, key: str, form: str, read: Callable[[bytes, str], Read]) -> Read | None:
    """The content of an uploaded file; without one, None and a description of the format."""
    file = st.file_uploader(plain(label), key=key, help=plain(form))
    if file is None:
        st.caption(plain(form))
        return None
    return read(file.getvalue(), file.name)


def modes_of(look: Lens, rows: np.ndarray, names: list[str]) -> list[str]:
    """Names of factorizations in a sentence: their modes if these are distinct."""
    standing = with_standing(Answer.of(look).table, look.mode_names)
    modes = [standing[k] for k in look.modes.labels[rows]]
    return modes if len(set(modes)) == len(modes) else names
