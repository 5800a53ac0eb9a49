"""What is kept that nothing uses any more, and its removal."""

import streamlit as st

from bnmf_core.analysis.unused import DATASET, find_unused, remove_unused
from bnmf_core.nouns.names import told_apart
from pages.frame import view
from pages.frame.services import store
from pages.frame.words import plain, size


def show() -> None:
    """A closed panel; what is unused is looked for only when somebody asks."""
    with st.expander("Free space"):
        st.caption(
            "Comparisons of runs that were deleted or have gone on, and data without runs, stay "
            "until they are removed here. Comparisons are computed again when they are needed."
        )
        if st.button("Look for what is not used", key="find_unused"):
            st.session_state["unused"] = find_unused(store())
        found = st.session_state.get("unused")
        if found is None:
            return
        if not found:
            st.success("Everything that is kept is in use.")
            return
        labels = told_apart({one.key: f"{one.label}, {size(one.bytes)}" for one in found})
        picked = st.multiselect(
            "What to remove",
            list(labels),
            [one.key for one in found if one.kind != DATASET],
            key="unused_picked",
            format_func=labels.get,
            help="Data have to be brought in again once they are removed.",
        )
        chosen = [one for one in found if one.key in picked]
        total = size(sum(one.bytes for one in chosen))
        words = f"Remove {len(chosen)} for {total}" if chosen else "Choose what to remove"
        if st.button(plain(words), key="remove_unused", disabled=not chosen):
            with view.told(ends=False):
                freed = remove_unused(store(), chosen)
                st.session_state["unused"] = find_unused(store())
                st.toast(plain(f"{size(freed)} are free again."))
                st.rerun()
