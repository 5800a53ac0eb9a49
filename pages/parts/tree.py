"""Views of trees: the growing map, the simplex picture, the table of nodes, reasons of ending."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.core.names import percent
from bnmf_core.figures.style import RunStyle
from bnmf_core.rrt.analysis.tree import METRIC, TreePart, trees
from bnmf_core.rrt.figures import tree as tree_figures
from bnmf_core.rrt.tree import KINDS
from bnmf_core.runs.launch import run_label
from pages.frame.view import chart
from pages.frame.words import plain

SHOWN = {
    "run": "run",
    "ids": "number",
    "parent": "parent",
    "kind": "kind",
    "turn": "turn",
    "to_parent": "distance to parent (°)",
    "least_angle": "least angle (°)",
    "log_joint": "log joint",
    "error": "error",
    "seconds": "seconds",
}


def growing_map(part: TreePart, styles: Mapping[str, RunStyle], origin: str) -> None:
    """The map with its play button."""
    distance = DISTANCES[METRIC]
    chart(
        tree_figures.tree_map(part.table, styles, distance.label, distance.unit),
        "Press play: each node grows from its parent, dark ones first. Other runs appear at the "
        "times of their draws. Close points are similar. The map preserves "
        f"{percent(part.quality)} of the squared distances.",
        name="tree_map",
        origin=origin,
        table=nodes(part, everything=True),
    )


def simplex(
    part: TreePart, styles: Mapping[str, RunStyle], origin: str, name: str = "tree_simplex"
) -> None:
    """The triangles of these runs, at rank 3."""
    if part.bases is None:
        return
    mine = part.table["run"].isin([*styles, ""])
    corners = pd.DataFrame(part.bases[mine].reshape(-1, 2), columns=["x", "y"])
    corners.insert(0, "run", np.repeat(part.table.loc[mine, "run"].to_numpy(), 3))
    chart(
        tree_figures.tree_simplex(part.table, part.bases, part.data, styles),
        "Crosses are columns of X. A triangle that contains all of them explains them exactly; "
        "its corners are the columns of A. Dashed: known exact solutions.",
        name=name,
        origin=origin,
        table=corners,
    )


def nodes(part: TreePart, everything: bool = False) -> pd.DataFrame:
    """A short table of nodes; with ``everything``, all points and their positions."""
    points = part.table if everything else part.table[part.table["tree"]]
    kinds = dict(enumerate(KINDS))
    words = points.assign(
        kind=points["kind"].map(kinds).fillna("known" if everything else "node"),
        parent=points["parent"].where(points["parent"] >= 0).astype("Int64"),
        ids=points["ids"].where(points["ids"] >= 0).astype("Int64"),
        turn=points["turn"].where(points["turn"] >= 0).astype("Int64"),
    )
    if everything:
        other = ~points["tree"] & (points["run"] != "")
        words.loc[other, "kind"] = "particle"
        words.loc[points["run"] == "", "run"] = points["name"]
    position = ["x", "y"] if everything else []
    return words[[*SHOWN, *position]].rename(columns=SHOWN)


def endings(analysis: Comparison) -> None:
    """Reasons why trees stopped before the requested number of nodes."""
    for i in trees(analysis):
        run, particles = analysis.runs[i], analysis.particles[i]
        for failed in particles.info.get("failed_chains", ()):
            st.info(
                f"**{plain(run_label(run))}** ended with {particles.M:d} of "
                f"{run.spec.particles:d} nodes. {plain(failed['reason'])}"
            )
