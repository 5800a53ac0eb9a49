"""Number of modes at other thresholds."""

import numpy as np
import streamlit as st

from bnmf_core.analysis import structure
from bnmf_core.share import pictures
from pages.frame import view
from pages.frame.lens import Lens


def show(look: Lens) -> None:
    """The number of modes at every threshold; a sentence if it is always one."""
    linkage = np.asarray(look.structure.linkage(look.metric))
    finest = structure.finest_threshold(look.analysis, look.metric)
    if not len(linkage) or linkage[-1, 2] <= max(finest, 0.0):
        st.subheader("Number of modes at every threshold", anchor=False)
        st.markdown(
            "One mode at every threshold: no two optima differ by more than their remaining "
            "rotation."
        )
        return
    view.picture(pictures.counted(linkage, look.modes.threshold, look.distance), look.origin)
