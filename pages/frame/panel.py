"""The panel in the sidebar of the pages that compare: runs, distance, threshold, focus.

One panel serves all of these pages, so that a choice made on one of them holds on the others,
and the address holds it too.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from bnmf_core.analysis import stages, structure
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.named import Named
from bnmf_core.analysis.stage import Stage
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.modes import NEGLIGIBLE, Modes
from bnmf_core.findings.facts import IDENTICAL, rotation
from bnmf_core.store.records import RunRecord
from pages.frame import choosing, declared, focusing, link, view, watch
from pages.frame.lens import Compared, Lens
from pages.frame.services import run_words, runner, store
from pages.frame.words import plain, with_unit


def look(*needed: Stage[Any], meanwhile: Callable[[list[RunRecord]], None] | None = None) -> Lens:
    """Draw the panel and return the selection; empty and waiting states stop the page.

    ``needed`` are the parts of the analysis that the page needs beside the modes; ``meanwhile``
    draws partial results of runs that are still running, or not compared yet.
    """
    ended, passing = _ended(meanwhile)
    analysis = analysed(ended, structure.STAGE, *needed, meanwhile=meanwhile)
    with st.sidebar:
        lens = _panel(analysis, passing)
        st.caption(plain(lens.origin))
    link.share(*declared.LENS)
    return lens


def runs_by_rank(*needed: Stage[Any]) -> dict[int, Compared]:
    """Selected runs of a page without distances and modes, where ranks may differ.

    Rank → its runs, in rising order.
    """
    ended, _ = _ended()
    runs = [store().run(run_id) for run_id in ended]
    groups: dict[int, list[str]] = {}
    for run in sorted(runs, key=lambda run: run.spec.rank):
        groups.setdefault(run.spec.rank, []).append(run.id)
    if len({(run.dataset, run.spec.holdout) for run in runs}) > 1:
        analysed(ended, *needed)  # which says why not
    link.share("runs")
    return {rank: Compared(analysed(ids, *needed)) for rank, ids in groups.items()}


def _ended(
    meanwhile: Callable[[list[RunRecord]], None] | None = None,
) -> tuple[list[str], bool]:
    """Ids of finished runs, and whether others are running; draw their progress."""
    chosen = choosing.runs(forget)
    if waiting := [run.id for run in chosen if run.active]:

        def of_all(_: list[RunRecord]) -> None:
            ids = {run.id for run in chosen}
            now = [run for run in store().runs() if run.id in ids]
            # When all have ended, the page draws their results below, once.
            if meanwhile is not None and any(run.active for run in now):
                meanwhile(now)

        watch.runs_until_done(waiting, each=True, meanwhile=of_all)
        if not _tells(chosen):
            st.caption("This page updates as soon as a run ends.")
            st.stop()
        st.caption("The results below are from the finished runs; the others will be added.")
    return [run.id for run in chosen if not run.active], bool(waiting)


def _tells(runs: list[RunRecord]) -> bool:
    """Whether the finished runs suffice for modes: draws alone do not."""
    ended = [run for run in runs if not run.active]
    if all(map(choosing.samples, runs)):
        return bool(ended)
    return not all(map(choosing.samples, ended))


def analysed(
    run_ids: list[str],
    *needed: Stage[Any],
    meanwhile: Callable[[list[RunRecord]], None] | None = None,
) -> Comparison:
    """The comparison of the runs with these stages; shows progress until they are done."""
    with view.report_errors():
        analysis = runner().analyse(run_ids, needed[0].key)
    for stage in needed:
        if not stage.ready(analysis):
            watch.analysis_until(analysis, stage, "Comparing the factorizations")
            if meanwhile is not None:
                meanwhile(list(analysis.runs))
            st.stop()
    with st.sidebar:
        for run, particles in zip(analysis.runs, analysis.particles, strict=True):
            if damage := particles.info.get("damage"):
                st.warning(plain(f"{run_words(run)}: {damage}."))
        for sentence in stages.repaired(analysis):
            st.caption(plain(sentence))
    return analysis


def forget() -> None:
    """Reset the threshold for other runs, or another distance."""
    link.put("threshold", None)
    link.put("focus", "")


def _panel(analysis: Comparison, passing: bool) -> Lens:
    metric = link.one_of("metric", analysis.metrics, "max_angle")
    st.selectbox(
        "Distance",
        list(analysis.metrics),
        key=link.key("metric"),
        on_change=forget,
        format_func=lambda key: with_unit(DISTANCES[key].label, DISTANCES[key].unit),
        help="How different two factorizations are. Their components are paired so that the pairs "
        "differ least in sum; their order and scale never count. "
        f"{plain(DISTANCES[metric].label)}: {plain(DISTANCES[metric].summary)}",
    )
    linkage = np.asarray(structure.STAGE.of(analysis).linkage(metric))
    largest = _in_address(float(linkage[-1, 2])) if len(linkage) else 0.0
    suggested = _suggested(analysis.cache_key, metric, analysis)
    unfinished = structure.finest_threshold(analysis, metric)
    finest = max(unfinished, IDENTICAL) if unfinished else 0.0
    threshold = _threshold(suggested, finest, largest)
    modes = _modes(analysis.cache_key, metric, threshold, analysis)
    if damaged := store().notes.damaged(analysis.runs[0].dataset):
        st.caption(plain(damaged))
    named = Named.on(analysis.dataset, store().notes.of(analysis.runs[0].dataset))
    names = named.modes(analysis, modes)
    focus, focus_name = focusing.ask(modes, names)
    return Lens(analysis, metric, modes, focus, focus_name, names, passing, named)


@st.cache_data(max_entries=32, show_spinner=False)
def _suggested(cache_key: str, metric: str, _analysis: Comparison) -> float:
    return structure.suggested_threshold(_analysis, metric)


@st.cache_data(max_entries=64, show_spinner=False)
def _modes(cache_key: str, metric: str, threshold: float, _analysis: Comparison) -> Modes:
    return structure.modes_at(_analysis, metric, threshold)


def _in_address(distance: float) -> float:
    """The distance, rounded up to the digits of an address."""
    near = float(f"{distance:g}")
    return near if near >= distance else float(f"{distance * (1 + 1e-5):g}")


def _threshold(suggested: float, finest: float, largest: float) -> float:
    """Select the threshold, from ``finest`` to ``largest``: closer members may yet merge."""
    now = link.get("threshold")
    if largest <= NEGLIGIBLE:
        st.caption("All factorizations are the same under this distance.")
        return largest
    if finest >= largest:
        st.caption(
            "No two optima differ by more than their remaining rotation, "
            f"{plain(rotation(finest))}: they are one mode."
        )
        return finest
    largest = max(largest, suggested)  # where all are one mode, at what people call different
    if now is None or not finest <= now <= largest:
        link.put("threshold", suggested)
    limit = (
        f" It cannot be below {plain(rotation(finest))}, the remaining rotation of converged "
        "factorizations."
        if finest
        else ""
    )
    st.slider(
        "Threshold between modes",
        finest,
        largest,
        step=(largest - finest) / 200,
        format="%.3g",
        key=link.key("threshold"),
        on_change=lambda: link.put("focus", ""),
        help="Any two optima of a mode are at most this far apart. A draw belongs to the mode that "
        "a solver reaches from it. It starts at 15° for angles, or lower if a gap separates groups."
        f"{limit}",
    )
    return float(link.get("threshold"))
