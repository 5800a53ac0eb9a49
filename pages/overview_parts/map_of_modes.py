"""The map of all modes."""

import numpy as np
import pandas as pd

from bnmf_core.core.names import listed
from bnmf_core.figures.factorizations import left_out
from bnmf_core.figures.modes import mode_map
from bnmf_core.findings.modes import mass_in_words
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.parts.answer import Answer

# Least posterior mass with a label on the map.
LEAST = 0.01


def show(look: Lens, found: Answer) -> None:
    """Draw the map; a click on a circle focuses on its mode on all pages."""
    analysis, table = look.analysis, found.table
    points, stress = look.structure.projection(look.metric)
    known = table["mass"].notna() & (table["weighed"] > 0)
    masses = [
        mass_in_words(row) if known[k] and known.sum() > 1 else "" for k, row in table.iterrows()
    ]
    # The mass of a single mode means nothing.
    heavy = ((table["mass"] >= LEAST) & (known.sum() > 1)).to_numpy()
    drawn = analysis.members["algorithm"].isin(analysis.exact_samplers).to_numpy()
    kinds = ["draws"] * bool(drawn.any())
    kinds += ["what has not converged"] * bool((~analysis.optima & ~drawn).any())
    dots = f" Dots: {listed(kinds)}." if kinds else ""
    others = "other factorizations" if analysis.optima.any() else "factorizations"
    measured = left_out(stress) if dots or len(table) > 1 else ""
    view.chart(
        mode_map(
            points,
            analysis.members,
            look.modes.labels,
            look.modes.representative,
            analysis.optima,
            masses,
            heavy,
            look.mode_names,
            look.distance.unit,
            look.focus,
            analysis.measure,
            dots_are="draws" if kinds == ["draws"] else others,
            one_family=found.one_family,
        ),
        f"Circle: a mode, its area the restarts that end there.{dots}{measured}",
        name="map",
        origin=look.origin,
        table=lambda: placed(look, points),
        select=view.MARKS,
        on_select=focusing.selected(look.modes),
    )


def placed(look: Lens, points: np.ndarray) -> pd.DataFrame:
    """The table behind a map: every factorization, its mode and position (m, 2)."""
    return look.named(look.analysis.members).assign(
        mode=look.modes.labels + 1, x=points[:, 0], y=points[:, 1]
    )
