"""Users' names and notes of modes, components and runs."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
import streamlit as st

from bnmf_core.analysis.named import LIMIT
from bnmf_core.core.names import numbered
from bnmf_core.store.notes import COMPONENT, LONGEST_NAME, LONGEST_TEXT, MODE, Note
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.services import store
from pages.frame.words import labelled, plain

MOST_MODES = 12


def show(look: Lens) -> None:
    """The fold in which users edit names and notes."""
    rows, first = look.shown(1)
    if not rows.size:
        return
    with st.expander("Names and notes"):
        st.markdown(
            "A name stays with the thing and not with its number: it is found again in other runs "
            f"of these data, where something lies within {LIMIT:g}° of what it was given to, and "
            "stands on every page, in reports and in archives."
        )
        A = look.aligned(rows)[0]
        of_components = look.notes.of_components(A)
        numbers = numbered(look.notes.components(A))
        components = {str(r): f"component {name}" for r, name in enumerate(numbers)}
        modes = dict(enumerate(look.mode_names[:MOST_MODES]))
        of_modes = look.notes.of_modes(look.analysis, look.modes)
        left, right = st.tabs(["Components", "Modes"])
        with left:
            st.caption(plain(f"Components of {first[0]}, with the numbers of its picture."))
            _form(look, COMPONENT, components, of_components, lambda r: A[:, r])
        with right:
            _form(
                look,
                MODE,
                {str(k): name for k, name in modes.items()},
                of_modes,
                lambda k: look.analysis.bases([look.modes.representative[k]])[0],
            )


def of_runs(look: Lens) -> None:
    """The fold with notes on the selected runs."""
    run_ids, notes = look.analysis.run_ids, store().notes
    with st.expander("Notes on these runs"):
        noted = ""
        with view.report_errors(ends=False):
            noted = notes.on_runs(run_ids)
        text = st.text_area(
            "Notes on these runs",
            noted,
            max_chars=LONGEST_TEXT,
            key=f"noted_{look.analysis.key}",
            label_visibility="collapsed",
            placeholder="Your observations, shown to everyone who opens this page.",
            disabled=link.is_guest(),
        )
        if text.strip() != noted:
            with view.report_errors(ends=False):
                notes.keep_on_runs(run_ids, text)
                st.caption("Kept.")


def _form(
    look: Lens,
    kind: str,
    options: Mapping[str, str],
    notes: list[Note | None],
    thing: Callable[[int], np.ndarray],
) -> None:
    """Select a mode or component, and edit its name and note."""
    chosen = st.selectbox(
        "Which one", list(options), format_func=labelled(options), key=f"naming_{kind}"
    )
    number = int(chosen)
    note = notes[number]
    dataset_id = look.analysis.runs[0].dataset
    # A new form for each item, and when its note has changed.
    key = f"{kind}_{number}_{note.id if note else ''}_{look.analysis.key}"
    old_name, old_text = (note.name, note.text) if note else ("", "")
    off = link.is_guest()

    def keep() -> None:
        name, text = (st.session_state[f"{field}_{key}"] for field in ("name", "text"))
        with view.report_errors(ends=False):
            store().notes.keep(dataset_id, kind, thing(number), name, text, note.id if note else "")

    with st.form(f"note_{key}", border=False):
        st.text_input("Name", old_name, max_chars=LONGEST_NAME, key=f"name_{key}", disabled=off)
        st.text_area("Note", old_text, max_chars=LONGEST_TEXT, key=f"text_{key}", disabled=off)
        with st.container(horizontal=True):
            st.form_submit_button("Keep", type="primary", disabled=off, on_click=keep)
            if note is not None:
                remove = partial(store().notes.remove, dataset_id, note.id)
                st.form_submit_button("Remove", disabled=off, on_click=view.safely(remove))
