"""The picture with a column per run, and numbers below each column."""

import math
from collections.abc import Callable, Sequence

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import chains
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.scoreboard import number
from bnmf_core.analysis.sessions import Session, sessions
from bnmf_core.core.names import no_more
from bnmf_core.figures import sessions as figures
from bnmf_core.figures.factorizations import left_out
from bnmf_core.figures.style import BESIDE, rounded
from pages.frame import focusing, link, view
from pages.frame.lens import Lens
from pages.frame.words import plain
from pages.parts import settled

# Pixels from the edge of a chart to its plot.
INSET = 5
READING = (
    "The number counts the balls of {radius} that cover a run. Pale curves and points belong to "
    "other runs. Where chains do not change mode, shares are not posterior masses."
)


def found(look: Lens, board: Board) -> list[Session]:
    """Results of each run, cached between redraws."""
    # A run that was resumed in vain has taken longer and made nothing.
    busy = [run.busy for run in look.analysis.runs]
    ready = chains.STAGE.ready(look.analysis)
    return _sessions(look.analysis.cache_key, look.metric, board.radius, ready, busy, board)


@st.cache_data(max_entries=32, show_spinner=False)
def _sessions(
    cache_key: str, metric: str, radius: float, ready: bool, busy: list[float], _board: Board
) -> list[Session]:
    return sessions(_board)


def show(look: Lens, runs: Sequence[Session]) -> None:
    """Pictures and numbers of all runs, at most six per row."""
    points, stress = look.structure.projection(look.metric)
    shared = figures.Shared(
        look.analysis.dataset,
        look.structure.coverage(look.metric),
        points,
        look.analysis.members["run"].to_numpy(),
        look.modes.labels,
        look.focus,
        look.modes.threshold,
        look.distance.unit,
    )
    radius = f"{look.modes.threshold:.3g}{look.distance.unit_behind}"
    for at, band in enumerate(figures.bands(len(runs))):
        name, columns = f"sessions_{at}" if at else "sessions", runs[band]
        view.chart(
            figures.session_columns(
                columns, [look.run_names[session.run] for session in columns], shared
            ),
            f"{READING.format(radius=radius)}{left_out(stress)}",
            name=name,
            origin=look.origin,
            table=lambda columns=columns: _table(look, columns),
            select=view.MARKS,
            on_select=focusing.selected(look.modes),
        )
        # A row for each group below the columns of the picture; its name links to its page.
        wide = (figures.WIDTH - figures.LABEL) / max(len(columns), figures.FEWEST)
        rest = figures.WIDTH - figures.LABEL - wide * len(columns) + BESIDE
        widths = [figures.LABEL + INSET, *[wide] * len(columns), rest - INSET + figures.GAP]
        # Streamlit takes the gap from every column, and gives each the same part of what is left.
        widths = [width - figures.GAP / len(widths) for width in widths]
        rows: dict[str, tuple[str, Callable[[Lens, Session], None]]] = {
            "quality": ("Fit", _fit),
            "coverage": ("Coverage", _coverage),
            "traces": ("Chains", _chains),
            "scoreboard": ("Cost", _cost),
        }
        for page, (label, say) in rows.items():
            places = st.columns(widths, gap="small")
            with places[0]:
                link.to(page, label, runs=",".join(look.analysis.run_ids))
            for place, column in zip(places[1:], columns, strict=False):
                with place:
                    say(look, column)


def _fit(look: Lens, one: Session) -> None:
    measure = look.analysis.format_measure(one.error)
    st.markdown(f"**{plain(measure)}** :small[{plain(look.analysis.measure_heading)}]")


def _coverage(look: Lens, one: Session) -> None:
    far = float(rounded(np.array(one.largest), look.distance.unit))
    apart = f"up to {far:.3g}{plain(look.distance.unit_behind)}"
    of = f"of {one.every:,} modes" if one.every > 1 else "mode"
    st.markdown(f"**{one.reached:,}** :small[{of}, {apart}]")


def _chains(look: Lens, one: Session) -> None:
    if one.verdict is None:
        st.markdown(f":small[{plain(one.kind)}]")
        return
    r_hat = "" if math.isnan(one.verdict.r_hat) else f"R̂ ≤ {no_more(one.verdict.r_hat, 0)[0]:.2f}; "
    with st.container(gap=None):
        settled.word(one.verdict)
        st.markdown(f":small[{r_hat}{plain(one.changes or 'one chain')}]")


def _cost(look: Lens, one: Session) -> None:
    text = (
        "not measured"
        if math.isnan(one.busy)
        else f"**{plain(_two(one.busy))} s** :small[CPU time]"
    )
    if not math.isnan(one.effective):
        why = f"; {plain(one.doubt)}" if one.doubt else ""
        text += f"  \n:small[{plain(_two(one.effective))} ESS per CPU second{why}]"
    st.markdown(text)


def _two(value: float) -> str:
    return number(float(f"{value:.2g}"))


def _table(look: Lens, columns: Sequence[Session]) -> pd.DataFrame:
    rows = [
        {
            "run": look.run_names[session.run],
            "made": session.made,
            "covering number": session.covering,
            "modes reached": session.reached,
            "largest distance": session.largest,
            f"best {look.analysis.measure}": session.error,
            "chains": session.changes or session.kind,
            "settled": None if session.verdict is None else session.verdict.settled,
            "worst R̂": math.nan if session.verdict is None else session.verdict.r_hat,
            "CPU seconds": session.busy,
            "ESS per CPU second": session.effective,
        }
        | {f"share of mode {k + 1}": share for k, share in enumerate(session.shares)}
        for session in columns
    ]
    return pd.DataFrame(rows)
