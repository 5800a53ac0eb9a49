"""The table: a row per criterion, a column per method; every number links to its page."""

import pandas as pd
import streamlit as st

from bnmf_core.analysis.board import Board
from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.analysis.scoreboard import scoreboard, stages
from bnmf_core.runs.launch import group_names
from pages.frame import declared, link, view, watch
from pages.frame.lens import Lens
from pages.frame.words import plain, with_unit

FAVOURS = {"optimizers": "optimizers", "draws": "draws", "": "nobody"}
# Visible in light and dark mode, and for colour-blind users.
BEST = "font-weight: 700; background-color: rgba(46, 139, 87, 0.28)"
BETTER = {"more": "more", "less": "less", "": "–"}


def ask(look: Lens) -> tuple[Board, dict[str, str]]:
    """Select the radius of the board; return it with the names of its groups of runs."""
    largest = float(look.matrix().max(initial=0.0))
    with st.sidebar:
        radius = st.number_input(
            plain(with_unit("Radius ε of balls", look.distance.unit)),
            0.0,
            max(largest, look.modes.threshold),
            float(look.modes.threshold),
            key=f"board_radius_{look.metric}",
            help="The covering number counts balls of this radius. The default is the threshold "
            "between modes.",
        )
    board = Board(look.analysis, look.metric, look.modes, float(radius))
    return board, group_names(look.analysis.runs, board.groups)


def table(look: Lens, board: Board, names: dict[str, str]) -> None:
    """All numbers; a click on one opens its page."""
    found = _scored(board)
    wide = found.pivot(index="criterion", columns="group", values="text")
    best = found.pivot(index="criterion", columns="group", values="best")
    criteria = {key: criterion.of(look.analysis) for key, criterion in CRITERIA.items()}
    keys = [key for key in criteria if key in wide.index]
    units = {"distance": look.distance.unit}
    shown = wide.loc[keys, list(names)].rename(columns=names)
    shown = shown.where(shown.notna(), "–")
    shown.insert(
        0,
        "criterion",
        [with_unit(criteria[k].label, units.get(criteria[k].unit, criteria[k].unit)) for k in keys],
    )
    shown["better"] = [BETTER[criteria[key].better] for key in keys]
    shown["requires"] = [criteria[key].requires for key in keys]
    shown["biased towards"] = [FAVOURS[criteria[key].favours] for key in keys]
    marks = best.loc[keys, list(names)].rename(columns=names).eq(True)
    styled = shown.style.apply(
        lambda column: [
            BEST if mark else "" for mark in marks.get(column.name, [False] * len(keys))
        ]
    )
    several = any(len(ids) > 1 for ids in board.groups.values())
    event = view.table(
        styled,
        "One row per criterion, one column per method",
        height=38 + 35 * len(shown),
        key="scoreboard",
        on_select="rerun",
        selection_mode="single-cell",
        column_config={
            name: st.column_config.TextColumn(width=_width(shown[name]), pinned=name == "criterion")
            for name in shown.columns
        }
        | {
            "better": st.column_config.TextColumn(help="Whether more of it is better, or less."),
            "biased towards": st.column_config.TextColumn(
                help="The methods that a criterion favours by design: optimizers, which search "
                "for the best fit, or samplers, whose draws lie where the posterior has its mass."
            ),
        },
    )
    for row, column in event.selection.cells:
        ids = {name: board.groups[group] for group, name in names.items()}
        runs = ids.get(column, look.analysis.run_ids)
        criterion = criteria[keys[row]]
        where = f"{criterion.label}, {column if column in ids else 'all runs'}"
        label = f"{where}: open {declared.page(criterion.page).title}"
        link.to(
            criterion.page,
            label,
            runs=",".join(runs),
            metric=look.metric,
            threshold=f"{look.modes.threshold:.6g}",
        )
    words = "The best of each row is shaded. Click a number to open its page."
    if several:
        words += " Of repetitions: the median, and from least to most."
    if found["doubt"].any():
        words += " A number with a reason behind it cannot be the best."
    st.caption(plain(words))
    with st.expander("What each row is"):
        st.markdown(
            "\n".join(f"- **{plain(criteria[k].label)}**: {plain(criteria[k].about)}" for k in keys)
        )
    written = found.assign(group=found["group"].map(names)).to_csv(index=False)
    st.download_button("Table (CSV)", written, "scoreboard.csv", "text/csv")


def _scored(board: Board) -> pd.DataFrame:
    comparison = board.comparison
    ready = [stage.key for stage in stages() if stage.ready(comparison)]
    # A run that was resumed in vain has taken longer and made nothing.
    took = [(run.seconds, run.busy) for run in comparison.runs]
    seen = (board.metric, board.modes.threshold, board.radius)
    return _scores(comparison.cache_key, *seen, ready, took, board)


@st.cache_data(max_entries=32, show_spinner=False)
def _scores(
    cache_key: str,
    metric: str,
    threshold: float,
    radius: float,
    ready: list[str],
    took: list[tuple[float, float]],
    _board: Board,
) -> pd.DataFrame:
    return scoreboard(_board)


def _width(column: pd.Series) -> int:
    """Pixels that show a whole column."""
    return 24 + round(6.3 * max(len(str(column.name)), int(column.str.len().max())))


def wait(look: Lens) -> None:
    """Progress of the first unfinished stage."""
    if look.passing:
        st.caption("The remaining numbers are computed when the other runs have ended.")
        return
    for stage in stages():
        if not watch.beside(look.analysis, stage, stage.label):
            break
