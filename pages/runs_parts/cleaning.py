"""Removal of unused data."""

import streamlit as st

from bnmf_core.analysis.unused import (
    COMPUTED,
    DATASET,
    disk_usage,
    find_computed,
    find_unused,
    remove_unused,
)
from bnmf_core.core.names import distinct_labels
from pages.frame import view
from pages.frame.services import store
from pages.frame.words import labelled, plain, size

# After a removal, the next redraw searches again.
_AGAIN = "look_for_unused_again"


def show() -> None:
    """A closed panel; the search for unused data starts on a click."""
    with st.expander("Free space"):
        st.caption(
            "Comparisons of deleted or continued runs, and data without runs, are stored until "
            "you remove them here. Comparisons are computed again when needed."
        )
        again = st.session_state.pop(_AGAIN, False)
        if st.button("Look for what can be removed", key="find_unused") or again:
            _look()
        found = st.session_state.get("unused")
        if found is None:
            return
        st.markdown(plain(st.session_state["kept_words"]))
        if not found:
            st.success("Everything that is kept is in use.")
            return
        labels = distinct_labels(
            {entry.key: f"{entry.label}, {size(entry.bytes)}" for entry in found}
        )
        picked = st.multiselect(
            "What to remove",
            list(labels),
            key="unused_picked",
            format_func=labelled(labels),
            help="Removed data must be uploaded again; comparisons are computed again when "
            "opened. Delete runs in their own boxes, above.",
        )
        chosen = [entry for entry in found if entry.key in picked]
        total = size(sum(entry.bytes for entry in chosen))
        words = f"Remove {len(chosen)} for {total}" if chosen else "Choose what to remove"
        if st.button(plain(words), key="remove_unused", disabled=not chosen):
            with view.report_errors(ends=False):
                freed = remove_unused(store(), chosen)
                st.session_state[_AGAIN] = True
                st.toast(plain(f"{size(freed)} are free again."))
                st.rerun()


def _look() -> None:
    """Find unused data, and describe all stored data."""
    here = store()
    st.session_state["unused"] = found = [*find_unused(here), *find_computed(here)]
    # Data that would have to be uploaded or computed again are not preselected.
    picked = [entry.key for entry in found if entry.kind not in (DATASET, COMPUTED)]
    st.session_state["unused_picked"] = picked
    sizes = disk_usage(here)
    parts = ", ".join(f"{what} {size(count)}" for what, count in sizes.items() if count)
    limit = f" of {size(here.most)} that everybody may keep" if here.most else ""
    words = f"What is kept takes {size(sum(sizes.values()))}{limit}: {parts}."
    st.session_state["kept_words"] = words
