"""How many modes there are at other thresholds."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import structure
from bnmf_core.figures.mode_count import mode_count, mode_counts
from pages.frame import view
from pages.frame.lens import Lens


def show(look: Lens) -> None:
    """The number of modes at every threshold; a sentence where it is one at all of them."""
    linkage = np.asarray(look.structure.linkage(look.metric))
    finest = structure.finest_threshold(look.analysis, look.metric)
    if not len(linkage) or linkage[-1, 2] <= max(finest, 0.0):
        st.markdown("##### Number of modes at every threshold")
        st.markdown(
            "One mode at every threshold: no two optima differ by more than they may still turn."
        )
        return
    heights, counts = mode_counts(linkage)
    view.chart(
        mode_count(linkage, look.modes.threshold, look.distance.label, look.distance.unit),
        "A long flat step is a number of modes that does not hang on the exact threshold; the "
        "dashed line is the threshold in use.",
        name="mode_count",
        origin=look.origin,
        table=pd.DataFrame({"threshold": heights, "modes": counts}),
    )
