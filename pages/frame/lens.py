"""What the Explore and Compare pages look through: runs, distance, threshold, focus.

One panel in the sidebar serves all of these pages, so that a choice made on one of them holds
on the others, and the address holds it too.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import streamlit as st

from bnmf_core.analysis.comparison import Analysis
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.modes import Modes, find_modes, suggest_threshold
from bnmf_core.figures.style import RunStyle, run_styles
from bnmf_core.nouns.errors import BNMFError
from bnmf_core.store.run_store import RunRecord
from pages.frame import link, watch
from pages.frame.services import algorithm_label, run_label, runner, store
from pages.frame.view import plain

MOST_MODES_LISTED = 30


@dataclass(frozen=True, eq=False)
class Lens:
    """The runs looked at, how far apart they are measured, their modes, and the focus.

    ``focus`` is (m,) bool over the analysis' members; ``focus_name`` says what it is.
    """

    analysis: Analysis
    metric: str
    modes: Modes
    focus: np.ndarray
    focus_name: str

    @property
    def distance(self) -> Distance:
        """The distance in use."""
        return DISTANCES[self.metric]

    @cached_property
    def styles(self) -> dict[str, RunStyle]:
        """Colour and marker of every run."""
        return run_styles([(r.id, r.spec.algorithm, run_label(r)) for r in self.analysis.runs])

    @cached_property
    def origin(self) -> str:
        """Where the numbers come from: data, rank, runs, seeds, how they ended."""
        parts = [f"{self.analysis.dataset.name}, rank {self.analysis.rank}"]
        for run in self.analysis.runs:
            made = "" if run.status == "complete" else f", {run.status} after {run.done}"
            parts.append(
                f"{algorithm_label(run.spec.algorithm)} run {run.id} (seed {run.spec.seed}{made})"
            )
        for run, particles in zip(self.analysis.runs, self.analysis.particles, strict=True):
            if failed := particles.info.get("failed_chains"):
                several = f"{len(failed)} chains of " if len(failed) > 1 else ""
                parts.append(f"{several}run {run.id} ended early")
        shown = len(self.analysis.members)
        total = sum(p.M for p in self.analysis.particles)
        if shown < total:
            parts.append(f"{shown} of {total:,} factorizations, evenly spaced")
        degenerate = int(self.analysis.members["degenerate"].sum())
        if degenerate:
            parts.append(f"{degenerate} with an empty component (counted as 90° away)")
        return " · ".join(parts)

    def name(self, row: int) -> str:
        """A factorization's name: its mode, run and number."""
        member = self.analysis.members.iloc[row]
        mode = int(self.modes.labels[row]) + 1
        return f"mode {mode} · {algorithm_label(member['algorithm'])} {member['particle']}"

    def shown(self, most: int, run: str | None = None) -> tuple[np.ndarray, list[str]]:
        """Rows of ``members`` to look at one by one, and their names.

        Everything in focus: the representatives of the largest modes. Else, or of one run, the
        most central one in focus, then those in focus that differ most from the ones taken.
        """
        if self.focus.all() and run is None:
            rows = self.modes.representative[:most]
        else:
            mine = self.focus if run is None else self.focus & (self.analysis.members["run"] == run)
            inside = np.flatnonzero(mine)
            matrix = np.asarray(self.analysis.distances(self.metric))[np.ix_(inside, inside)]
            taken = [int(matrix.sum(axis=1).argmin())] if inside.size else []
            while len(taken) < min(most, inside.size):
                nearest = matrix[:, taken].min(axis=1)
                nearest[taken] = -1.0
                taken.append(int(nearest.argmax()))
            rows = inside[taken]
        return np.asarray(rows), [self.name(row) for row in rows]

    def shown_of_each(self, most: int) -> tuple[np.ndarray, list[str]]:
        """As :meth:`shown`, of every run in turn; the names say which run."""
        of_each = [self.shown(most, run_id)[0] for run_id in self.styles]
        particle = self.analysis.members["particle"]
        names = [
            f"{run_label(run)}, {particle.iloc[row]}"
            for run, rows in zip(self.analysis.runs, of_each, strict=True)
            for row in rows
        ]
        return np.concatenate(of_each), names

    def aligned(self, rows: np.ndarray) -> np.ndarray:
        """Bases (k, D, R) of the rows, components in one order: the first one's, largest first."""
        A, W = self.analysis.factors(rows)
        largest_first = np.argsort(-A[0].sum(axis=0) * W[0].sum(axis=1), kind="stable")
        order = matching(A, A[0][:, largest_first])
        return np.take_along_axis(A, order[:, None, :], axis=2)


def look(stage: str = "structure") -> Lens:
    """Draw the panel and return what is looked at; designed states stop the page instead.

    ``stage`` is the part of the analysis that the page needs.
    """
    runs = [run for run in store().runs() if run.done > 0 or run.active]
    chosen = _choose_runs(runs)
    waiting = [run.id for run in chosen if run.active]
    if waiting:
        st.info("These runs are still working. This page fills itself when they are done.")
        watch.runs_until_done(waiting)
        st.stop()
    try:
        analysis = runner().analyse([run.id for run in chosen])
    except BNMFError as error:
        st.error(plain(str(error)))
        st.stop()
    for needed in ("structure", stage):
        if not analysis.ready(needed):
            watch.analysis_until(analysis, needed, "Comparing the factorizations")
            st.stop()
    return _panel(analysis)


def _choose_runs(runs: list[RunRecord]) -> list[RunRecord]:
    by_id = {run.id: run for run in runs}
    asked = link.get("runs")
    missing = [run_id for run_id in asked or [] if run_id not in by_id]
    failed = [run for run in store().runs() if run.id in missing]
    if missing:
        for run in failed:
            st.error(f"Run {run.id} made nothing: {plain(run.message or run.status)}")
        if not failed:
            st.warning(f"The link names runs that are not here: {plain(', '.join(missing))}.")
    if not runs:
        if not missing:
            st.info("Nothing has been run yet. Start an example, or run your own data.")
        st.page_link("pages/home.py", label="Start an example", icon=":material/home:")
        st.page_link("pages/run.py", label="Set up a run", icon=":material/play_circle:")
        st.stop()
    if not asked or missing:
        newest = runs[0]
        same = [run.id for run in reversed(runs) if run.study == newest.study]
        found = [run_id for run_id in asked or [] if run_id in by_id]
        link.put("runs", found or same)
    st.sidebar.multiselect(
        "Runs", list(by_id), key=link.key("runs"), format_func=lambda i: _describe(by_id[i]),
        help="Runs of the same data and rank can be looked at together.",
        on_change=_forget, placeholder="Choose at least one run",
    )  # fmt: skip
    chosen = [by_id[run_id] for run_id in link.get("runs")]
    if not chosen:
        st.info("Choose at least one run in the panel on the left.")
        st.stop()
    return chosen


def _describe(run: RunRecord) -> str:
    name = store().datasets().get(run.dataset, "deleted data")
    state = "" if run.status == "complete" else f", {run.status}"
    return f"{run_label(run)} · {name} · R={run.spec.rank}{state}"


def _forget() -> None:
    link.put("threshold", None)
    link.put("focus", "")


def _panel(analysis: Analysis) -> Lens:
    if link.get("metric") not in DISTANCES:
        link.put("metric", "max_angle")
    with st.sidebar:
        st.selectbox(
            "Distance", list(DISTANCES), key=link.key("metric"), on_change=_forget,
            format_func=lambda key: f"{DISTANCES[key].label} ({DISTANCES[key].unit})",
            help="How different two factorizations are; order and scale of components never "
            "count.",
        )  # fmt: skip
        metric = link.get("metric")
        linkage = np.asarray(analysis.linkage(metric))
        largest = float(linkage[-1, 2]) if len(linkage) else 0.0
        threshold = _threshold(linkage, largest, metric)
        weights = analysis.members["weight"].to_numpy() / len(analysis.runs)
        modes = find_modes(analysis.distances(metric), threshold, weights, linkage)
        focus, focus_name = _focus(modes, len(analysis.members))
    link.share("runs", "metric", "threshold", "focus")
    return Lens(analysis, metric, modes, focus, focus_name)


def _threshold(linkage: np.ndarray, largest: float, metric: str) -> float:
    now = link.get("threshold")
    if largest <= 0.0:
        st.caption("All factorizations are the same under this distance.")
        return 0.0
    if now is None or not 0 <= now <= largest:
        link.put("threshold", float(suggest_threshold(linkage)) if len(linkage) else 0.0)
    st.slider(
        "Threshold between modes", 0.0, largest, step=largest / 200, format="%.3g",
        key=link.key("threshold"), on_change=lambda: link.put("focus", ""),
        help=f"Any two factorizations of a mode are at most this far apart "
        f"({DISTANCES[metric].unit}). It starts at the widest gap between merging distances.",
    )  # fmt: skip
    return float(link.get("threshold"))


def _focus(modes: Modes, count: int) -> tuple[np.ndarray, str]:
    options = {"": "all factorizations"}
    for k in range(min(modes.count, MOST_MODES_LISTED)):
        options[f"mode:{k + 1}"] = f"mode {k + 1} ({modes.share[k]:.0%})"
    now = link.get("focus") or ""
    lasso = _lasso_rows(now, count)
    if lasso is not None:
        options[now] = f"{len(lasso)} selected on a chart"
    if now not in options:
        link.put("focus", "")
    else:
        link.put("focus", now)
    st.selectbox(
        "Focus", list(options), key=link.key("focus"), format_func=options.get,
        help="What the gallery, the words and the scores bring forward. Lasso points on a chart "
        "to focus on them.",
    )  # fmt: skip
    now = link.get("focus")
    mask = np.ones(count, dtype=bool)
    if now.startswith("mode:"):
        mask = modes.labels == int(now.removeprefix("mode:")) - 1
    elif lasso is not None and now:
        mask = np.zeros(count, dtype=bool)
        mask[lasso] = True
    return mask, options[now]


def _lasso_rows(text: str, count: int) -> list[int] | None:
    if not text.startswith("rows:"):
        return None
    try:
        rows = [int(part) for part in text.removeprefix("rows:").split(".")]
    except ValueError:
        return None
    return rows if rows and all(0 <= row < count for row in rows) else None


def focus_on_selection(event, chart: str) -> None:
    """Take points lassoed on a chart (their first customdata is the row) as the new focus."""
    if event is None:
        return
    rows = sorted({int(np.atleast_1d(p["customdata"])[0]) for p in event["selection"]["points"]
                   if p.get("customdata") is not None})  # fmt: skip
    text = "rows:" + ".".join(str(row) for row in rows) if rows else ""
    seen = f"selection_{chart}"
    if text == st.session_state.get(seen, ""):
        return
    st.session_state[seen] = text
    link.put_next("focus", text)
