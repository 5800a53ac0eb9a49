"""The runs and data of a page: selected by id, with distinct labels, "not found" if missing."""

from collections.abc import Callable, Iterable, Mapping

import streamlit as st

from bnmf_core.analysis.described import describe_sample
from bnmf_core.core.errors import BNMFError
from bnmf_core.core.names import distinct_labels
from bnmf_core.registry import ALGORITHMS
from bnmf_core.runs.launch import moment, run_label, run_names
from bnmf_core.store.life import RESUMABLE
from bnmf_core.store.lost import lost_runs
from bnmf_core.store.records import RunRecord
from pages.frame import link, owners, view
from pages.frame.options import pick_one
from pages.frame.services import (
    data_and_rank,
    dataset_names,
    run_words,
    store,
)
from pages.frame.words import labelled, plain

_GONE = "not_found"
_CALLED = "labels_of_runs"


def runs(on_change: Callable[[], None]) -> list[RunRecord]:
    """Select runs in the sidebar; the page ends without a selection.

    The default is the newest run and the others of its launch; if these are
    chains only, which define no modes, also the newest restarts of the same data and model.
    """
    stored = store().runs()
    by_id = {run.id: run for run in stored if run.done > 0 or run.active}
    # Ids, or labels that were sent to the browser.
    called: dict[str, str] = st.session_state.setdefault(_CALLED, {})
    selected = link.get("runs")
    if selected is not None:
        selected = [
            run_id if run_id in by_id else called.get(run_id, run_id) for run_id in selected
        ]
    gone = _gone("runs", [run_id for run_id in selected or [] if run_id not in by_id])
    failed = [run for run in stored if run.id in gone]
    for run in failed:
        st.error(
            f"{plain(run_words(run))}: no factorization yet. {plain(run.message or run.status)}"
        )
    if any(run.status in RESUMABLE for run in failed):
        link.to("runs", "Resume them on the page Runs")
    unreadable = store().unreadable()
    for run_id in gone & unreadable.keys():
        view.problem(unreadable[run_id])
    lost = set(lost_runs(store())) if gone or not by_id else set()
    if gone & lost:
        view.problem(
            "These runs are on disk, but missing from the list, which was lost or damaged."
        )
    not_found("run", gone - unreadable.keys() - {run.id for run in failed} - lost)
    if not by_id:
        if lost:
            view.nothing("The list of runs was lost. The page Runs restores it.", "runs")
        if gone:
            st.stop()
        view.nothing(
            "Nothing has been run yet. Start an example, or run your own data.", "home", "run"
        )
    if selected is None:
        selected = newest(list(by_id.values()))
    link.put("runs", [run_id for run_id in selected if run_id in by_id])
    datasets = dataset_names()
    together = [by_id[run_id] for run_id in link.get("runs")]
    shared = {(run.dataset, run.spec.rank) for run in together}
    # A caption below states common facts once; runs that share them come first.
    alike = [run for run in by_id.values() if shared == {(run.dataset, run.spec.rank)}]
    short = run_names(alike) | (run_names(together) if alike else {})
    # Browsers send labels back: one that changes while runs go on would be lost.
    shown = {run_id: name + _state(by_id[run_id]) for run_id, name in short.items()}
    shown |= {run.id: _describe(run, datasets) for run in by_id.values() if run.id not in short}
    begun = {run.id: f"{shown[run.id]}, {moment(run.created)}" for run in by_id.values()}
    labels = distinct_labels(shown, begun)
    called |= {label: run_id for run_id, label in labels.items()}

    def changed() -> None:
        st.session_state.pop(f"{_GONE}_runs", None)
        on_change()

    st.sidebar.multiselect(
        "Runs",
        list(shown),
        key=link.key("runs"),
        format_func=labelled(labels),
        help="Runs of the same data and rank can be compared; the page Boolean takes "
        "several ranks.",
        on_change=changed,
        placeholder="Choose at least one run",
    )
    chosen = [by_id[run_id] for run_id in link.get("runs")]
    if not chosen:
        view.nothing("Choose at least one run in the panel on the left.")
    _nothing_made(chosen, [run for run in stored if run.id not in gone])
    for sentence in _in_common(chosen[0], datasets, bool(alike)):
        st.sidebar.caption(plain(sentence))
    # Pages on data continue with the dataset of the selected runs.
    if chosen[0].dataset in datasets:
        link.put("data", chosen[0].dataset)
    return chosen


def dataset(label: str, invitation: str = "") -> str:
    """Select a dataset and return its id. The page ends without a selection.

    The default is the dataset of the selected runs, or the newest.
    ``invitation`` : message without data; if empty, the page links to the page Data.
    """
    names = dataset_names()
    selected = link.get("data")
    gone = _gone("data", [selected] if selected and selected not in names else [])
    not_found("dataset", gone)
    if not names:
        if invitation:
            view.nothing(invitation)
        view.nothing("There are no data yet.", "data")
    if gone:
        link.put("data", None)
    else:
        of_runs = [run.dataset for run in store().runs() if run.id in (link.get("runs") or ())]
        known = [dataset_id for dataset_id in of_runs if dataset_id in names]
        link.one_of("data", names, default=known[0] if known else None)
    st.selectbox(
        plain(label),
        list(names),
        format_func=labelled(names),
        key=link.key("data"),
        index=None if gone else 0,
        placeholder="Choose a dataset",
        on_change=lambda: st.session_state.pop(f"{_GONE}_data", None),
    )
    link.share("data")
    if link.get("data") is None:
        st.stop()
    return link.get("data")


def part(label: str, titles: Mapping[str, str]) -> str:
    """Select the part of a page by key; ``label`` is for screen readers."""
    link.one_of("part", titles)
    pick_one(label, titles, key=link.key("part"), label_visibility="collapsed")
    link.share("part")
    return str(link.get("part"))


def not_found(noun: str, ids: Iterable[str]) -> None:
    """Show an error that lists the missing ids, and what to do."""
    if missing := sorted(ids):
        several = len(missing) > 1
        many = f"These {noun}s were not found" if several else f"This {noun} was not found"
        st.error(
            f"{plain(many)}: {plain(', '.join(missing))}. {'They' if several else 'It'} may have "
            f"been deleted, {_elsewhere()}"
        )


def _elsewhere() -> str:
    """End of a sentence: where missing items may be, and what to do."""
    if owners.is_shared():
        return (
            "or belong to another user. Choose another one, or ask its owner for a link "
            "(Show it to others, under Overview)."
        )
    return "or the link was made on another computer. Choose another one, or ask for a new link."


def _nothing_made(chosen: list[RunRecord], stored: list[RunRecord]) -> None:
    """Warn of runs without results when all others of their launch are selected."""
    launches = {run.launch for run in chosen}
    others = [run for run in stored if run.launch in launches and run not in chosen]
    if others and not any(run.done > 0 or run.active for run in others):
        names = ", ".join(plain(run_words(run)) for run in others)
        st.warning(f"Started with these, and made nothing: {names}.")


def newest(runs: list[RunRecord]) -> list[str]:
    """Ids of the default selection, the oldest first; ``runs``: the newest first."""
    first = runs[0]
    found = [run for run in runs if run.launch == first.launch]
    if all(map(samples, found)):

        def problem(run: RunRecord) -> tuple[object, ...]:
            return run.dataset, run.spec.rank, run.spec.holdout, run.spec.model

        others = [run for run in runs if not samples(run) and problem(run) == problem(first)]
        found += [run for run in others if run.launch == others[0].launch]
    return [run.id for run in reversed(found)]


def samples(run: RunRecord) -> bool:
    """Whether a run makes draws of the posterior."""
    key = run.spec.algorithm
    return key in ALGORITHMS and ALGORITHMS[key].family == "sampler"


def _gone(name: str, now: list[str]) -> set[str]:
    """Requested ids that are missing; they are remembered until the selection changes."""
    if now:
        st.session_state[f"{_GONE}_{name}"] = set(now)
    return st.session_state.get(f"{_GONE}_{name}", set())


def _describe(run: RunRecord, datasets: dict[str, str]) -> str:
    return f"{run_label(run)} · {_data_and_rank(run, datasets)}{_state(run)}"


def _in_common(run: RunRecord, datasets: dict[str, str], alike: bool) -> list[str]:
    """Common facts of runs: data and rank if they are ``alike``, and any subsample."""
    parts = [_data_and_rank(run, datasets) if alike else "", _sampled(run, datasets)]
    return list(filter(None, parts))


def _sampled(run: RunRecord, datasets: dict[str, str]) -> str:
    """A sentence on the subsample in memory; "" if all data are in memory, or deleted."""
    try:
        return describe_sample(store().dataset(run.dataset)) if run.dataset in datasets else ""
    except BNMFError:  # damaged; the page that reads the data reports it
        return ""


def _data_and_rank(run: RunRecord, datasets: dict[str, str]) -> str:
    return data_and_rank(datasets.get(run.dataset, "deleted data"), run.spec.rank)


def _state(run: RunRecord) -> str:
    return "" if run.active or run.status == "complete" else f", {run.status}"
