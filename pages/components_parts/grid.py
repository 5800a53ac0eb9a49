"""The grid of components: a row per factorization, with how far each component is determined."""

import numpy as np

from bnmf_core.analysis.mode_table import most_probable
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.core.names import percent
from bnmf_core.figures.bases import named_table
from bnmf_core.figures.component_grid import Bands, component_grid
from bnmf_core.figures.modes import mode_color
from bnmf_core.figures.style import safe
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.parts.answer import Answer


def show(
    look: Lens,
    found: Answer,
    rows: np.ndarray,
    names: list[str],
    by_run: bool,
    relevance: float,
    chosen: int | None,
) -> None:
    """Draw the grid; below a single factorization, the median of its settled draws.

    ``chosen`` : the highlighted component; a click changes it.
    """
    dataset, A = look.analysis.dataset, look.aligned(rows)
    facts = found.facts_of(int(rows[0]))
    modes = look.modes.labels[rows].tolist()
    titles = [
        safe(name, 34) if by_run else _titled(look, found, row)
        for row, name in zip(rows, names, strict=True)
    ]
    median = _median(look, found, int(rows[0]), A[0]) if len(rows) == 1 else None
    if median is not None:
        A = np.concatenate([A, median[None]])
        modes, names = [*modes, modes[0]], [*names, "posterior median"]
        titles.append("entrywise median<br>of the draws")
    called = look.notes.components(A[0])
    is_known = not (np.isnan(facts.found_again).all() and np.isnan(facts.held).all())
    bands = Bands(facts.states, facts.turned) if is_known else None
    reading, best = _reading(len(A), bands), most_probable(found.table)
    if best != modes[0]:
        reading += (
            f" They judge {look.mode_names[modes[0]]}, the first row; the most probable is "
            f"{look.mode_names[best]}: focus on it to judge its components."
        )
    view.chart(
        component_grid(
            dataset,
            A,
            component_angles(A, A[0]),
            titles,
            modes,
            bands,
            called,
            relevance,
            chosen,
        ),
        reading,
        name="components",
        origin=look.origin,
        table=lambda: named_table(dataset.features, A, names, called),
        select=("points",),
        on_select=focusing.component_clicked,
    )


def _reading(rows: int, bands: Bands | None) -> str:
    sentences = [] if rows == 1 else ["Angles to the first row, bold beyond 15°."]
    if bands is not None:
        marks = [] if rows == 1 else ["dots are the other rows"]
        marks += [] if np.isnan(bands.turned).all() else ["the bar is 95 % of the draws"]
        sentence = ", ".join([*marks, "green reaches to 15°"])
        sentences += [
            f"{sentence[0].upper()}{sentence[1:]}.",
            "Circles: full for determined, half for not confirmed by draws, open for ambiguous "
            "components.",
        ]
    return " ".join(sentences)


def _titled(look: Lens, found: Answer, row: int) -> str:
    """Title in three lines: mode, its restarts and its measure of fit."""
    mode = int(look.modes.labels[row])
    dot = f'<span style="color:{mode_color(mode)}">●</span>'
    lines = [f"{dot} <b>{safe(look.mode_names[mode], 20)}</b>"]
    share = found.table["found_by"].iloc[mode]
    if np.isfinite(share) and look.analysis.optima[row]:
        lines.append(f"{percent(share)} of restarts")
    measure = look.analysis.format_measure(look.analysis.members["error"].iloc[row])
    lines.append(f"explains {measure}" if look.analysis.explains else f"error {measure}")
    return "<br>".join(lines)


def _median(look: Lens, found: Answer, row: int, reference: np.ndarray) -> np.ndarray | None:
    """(D, R) the median of each loading over settled draws in the mode of a member."""
    posterior = found.posterior
    k = None if posterior is None else posterior.within(look.modes.labels, row)
    if posterior is None or k is None:
        return None
    median = np.asarray(posterior.draws[k]["loadings"][1], dtype=np.float64)
    return median[:, matching(median[None], reference)[0]]
