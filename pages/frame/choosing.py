"""Which runs and which data a page looks at: chosen by id, told apart, "not found" when gone."""

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
    """Ask in the sidebar for the runs to look at; the page ends while there are none.

    Without a choice these are the newest one and those that were started with it; where they are
    chains alone, which know of no modes, also the newest restarts of the same data and model.
    """
    kept = store().runs()
    by_id = {run.id: run for run in kept if run.done > 0 or run.active}
    # Ids, or labels that runs had when the browser was sent them.
    called: dict[str, str] = st.session_state.setdefault(_CALLED, {})
    asked = link.get("runs")
    if asked is not None:
        asked = [run_id if run_id in by_id else called.get(run_id, run_id) for run_id in asked]
    gone = _gone("runs", [run_id for run_id in asked or [] if run_id not in by_id])
    failed = [run for run in kept if run.id in gone]
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
        view.problem("These runs are on the disk, but not in the list, which was lost or damaged.")
    not_found("run", gone - unreadable.keys() - {run.id for run in failed} - lost)
    if not by_id:
        if lost:
            view.nothing("The list of runs was lost. The page Runs brings them back.", "runs")
        if gone:
            st.stop()
        view.nothing(
            "Nothing has been run yet. Start an example, or run your own data.", "home", "run"
        )
    if asked is None:
        asked = newest(list(by_id.values()))
    link.put("runs", [run_id for run_id in asked if run_id in by_id])
    datasets = dataset_names()
    together = [by_id[run_id] for run_id in link.get("runs")]
    shared = {(run.dataset, run.spec.rank) for run in together}
    # What the runs have in common is said once, below; those of the same come first.
    alike = [run for run in by_id.values() if shared == {(run.dataset, run.spec.rank)}]
    short = run_names(alike) | (run_names(together) if alike else {})
    # A label that changed while runs go on would be lost: browsers send labels back.
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
        help="Runs of the same data and rank can be looked at together; the page Boolean takes "
        "several ranks.",
        on_change=changed,
        placeholder="Choose at least one run",
    )
    chosen = [by_id[run_id] for run_id in link.get("runs")]
    if not chosen:
        view.nothing("Choose at least one run in the panel on the left.")
    _nothing_made(chosen, [run for run in kept if run.id not in gone])
    for sentence in _in_common(chosen[0], datasets, bool(alike)):
        st.sidebar.caption(plain(sentence))
    # Pages that look at data go on with those of the runs that were looked at.
    if chosen[0].dataset in datasets:
        link.put("data", chosen[0].dataset)
    return chosen


def dataset(label: str, invitation: str = "") -> str:
    """Ask for a dataset; its id. The page ends while there is none, or none is chosen.

    Without a choice these are the data of the runs that are looked at, or the newest.
    ``invitation`` is said where there are no data; left out, a link leads to where they come in.
    """
    names = dataset_names()
    asked = link.get("data")
    gone = _gone("data", [asked] if asked and asked not in names else [])
    not_found("dataset", gone)
    if not names:
        if invitation:
            view.nothing(invitation)
        view.nothing("There are no data yet.", "data")
    if gone:
        link.put("data", None)
    else:
        looked_at = [run.dataset for run in store().runs() if run.id in (link.get("runs") or ())]
        known = [dataset_id for dataset_id in looked_at if dataset_id in names]
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
    """Ask which part of a page is shown, of these keys; ``label`` is read out, not seen."""
    link.one_of("part", titles)
    pick_one(label, titles, key=link.key("part"), label_visibility="collapsed")
    link.share("part")
    return str(link.get("part"))


def not_found(noun: str, ids: Iterable[str]) -> None:
    """Say which of the things that were asked for are not here, and what to do."""
    if missing := sorted(ids):
        several = len(missing) > 1
        many = f"These {noun}s were not found" if several else f"This {noun} was not found"
        st.error(
            f"{plain(many)}: {plain(', '.join(missing))}. {'They' if several else 'It'} may have "
            f"been deleted, {_elsewhere()}"
        )


def _elsewhere() -> str:
    """Where what was not found may be, and what to do; ends a sentence."""
    if owners.is_shared():
        return (
            "or belong to somebody else. Choose another one, or ask for a link that its owner "
            "makes with Show it to others, under Overview."
        )
    return "or the link was made on another computer. Choose another one, or ask for a new link."


def _nothing_made(chosen: list[RunRecord], kept: list[RunRecord]) -> None:
    """Say which runs of a launch have made nothing, where all others of it are looked at."""
    launches = {run.launch for run in chosen}
    others = [run for run in kept if run.launch in launches and run not in chosen]
    if others and not any(run.done > 0 or run.active for run in others):
        names = ", ".join(plain(run_words(run)) for run in others)
        st.warning(f"Started with these, and made nothing: {names}.")


def newest(runs: list[RunRecord]) -> list[str]:
    """Ids of what is looked at without a choice, the oldest first; ``runs``: the newest first."""
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
    """What was asked for and is not there; it is told until something else is chosen."""
    if now:
        st.session_state[f"{_GONE}_{name}"] = set(now)
    return st.session_state.get(f"{_GONE}_{name}", set())


def _describe(run: RunRecord, datasets: dict[str, str]) -> str:
    return f"{run_label(run)} · {_data_and_rank(run, datasets)}{_state(run)}"


def _in_common(run: RunRecord, datasets: dict[str, str], alike: bool) -> list[str]:
    """What runs have in common: data and rank where they are ``alike``, and what is of a sample."""
    said = [_data_and_rank(run, datasets) if alike else "", _sampled(run, datasets)]
    return list(filter(None, said))


def _sampled(run: RunRecord, datasets: dict[str, str]) -> str:
    """What of a run's data is of a sample; "" where all are in memory, or gone."""
    try:
        return describe_sample(store().dataset(run.dataset)) if run.dataset in datasets else ""
    except BNMFError:  # damaged, which is told where they are read
        return ""


def _data_and_rank(run: RunRecord, datasets: dict[str, str]) -> str:
    return data_and_rank(datasets.get(run.dataset, "deleted data"), run.spec.rank)


def _state(run: RunRecord) -> str:
    return "" if run.active or run.status == "complete" else f", {run.status}"
