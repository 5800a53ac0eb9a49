"""Manual exploration: the user locks components, and the others are solved again."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.by_hand import STARTS, LockedExploration
from bnmf_core.compare.remaining import Remaining, remaining
from bnmf_core.figures.components import range_chart
from bnmf_core.figures.gallery import basis_images
from pages.frame import link, view
from pages.frame.lens import Lens
from pages.frame.words import plain, shown
from pages.parts import by_hand

# Most lines of a chart.
MOST = 20


def show(look: Lens, row: int, labels: dict[str, str]) -> None:
    """Select locked components; show the remaining freedom of the others."""
    link.put("lock", [number for number in link.get("lock") or [] if number in labels])
    st.pills(
        "Components that you believe",
        list(labels),
        key=link.key("lock"),
        selection_mode="multi",
        format_func=shown(labels),
        help="Their columns of A are held fixed, up to scale; their weights are free. Everything "
        "else is solved again from many starts.",
    )
    held = tuple(int(number) - 1 for number in labels if number in link.get("lock"))
    if len(held) == len(labels):
        st.info("All components are held; leave at least one free.")
        return
    work = LockedExploration(look.analysis, row, held)
    rise = float(link.get("rise")) / 100

    def draw() -> None:
        found = work.found()
        if found is None:
            return
        # The page's threshold if it has the same unit; else the default.
        threshold = look.modes.threshold if look.metric == "max_angle" else None
        summary = remaining(found, work.factors[0], work.mask, rise, threshold)
        st.markdown(f"**{plain(summary.sentences[0])}** " + plain(" ".join(summary.sentences[1:])))
        st.caption(
            plain(
                f"{summary.converged} of {summary.made} factorizations have converged; "
                f"{summary.within.size} of them have an error of at most {summary.allowed:.4g}. "
                f"Answers count as one within {summary.threshold:.3g}°, and several may be pieces "
                "of one ridge. All of this has been reached; there may be more that no start led "
                "to."
            )
        )
        if summary.within.size:
            _picture(look, summary)

    by_hand.explore(work, f"Look for what remains, from {STARTS + 1} starts", "held", draw)


def _picture(look: Lens, summary: Remaining) -> None:
    dataset = look.analysis.dataset
    rows = (summary.lowest, summary.value, summary.highest)
    table = pd.concat(
        [
            pd.DataFrame(
                {
                    "component": r + 1,
                    "feature": dataset.features,
                    "share": summary.value[:, k],
                    "lowest": summary.lowest[:, k],
                    "highest": summary.highest[:, k],
                }
            )
            for k, r in enumerate(summary.free)
        ]
    )
    if dataset.image_shape is not None:
        figure = basis_images(
            np.stack(rows),
            dataset.image_shape,
            ["lowest", "this factorization", "highest"],
            title="What remains possible",
            scale="component",
            columns=[str(r + 1) for r in summary.free],
        )
        view.chart(
            figure,
            "Each pixel at its lowest and highest share within the allowed error; the images of a "
            "component share their grey scale.",
            name="remaining",
            origin=look.origin,
            table=table,
        )
        return
    turning = summary.free[np.argsort(-summary.angle, kind="stable")]
    component = st.segmented_control(
        "Component shown",
        turning.tolist(),
        default=turning[0],
        required=True,
        format_func=lambda r: f"{r + 1:d}",
        key=f"held_shown_{len(turning)}_{turning[0]}",
        help="The one that turns most comes first.",
    )
    k = int(np.flatnonzero(summary.free == component)[0])
    columns = (summary.value, summary.lowest, summary.highest)
    value, lowest, highest = (column[:, k] for column in columns)
    largest = np.argsort(-np.maximum(value, highest), kind="stable")[:MOST]
    chosen = largest[np.argsort(-value[largest], kind="stable")]
    figure = range_chart(
        [dataset.features[d] for d in chosen],
        value[chosen],
        lowest[chosen],
        highest[chosen],
        f"What remains possible for component {component + 1}",
        "range within the allowed error",
    )
    view.chart(
        figure,
        f"The {len(chosen)} {dataset.feature_noun} that can be largest; each bar spans what was "
        "found within the allowed error.",
        name="remaining",
        origin=look.origin,
        table=table,
    )
