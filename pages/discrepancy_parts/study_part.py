"""The packaged study: a figure for one data set, model, M and form, and its tables."""

import streamlit as st

from bnmf_core.figures.quality import discrepancy_over_time
from bnmf_core.figures.style import run_styles
from pages.frame import view
from pages.frame.options import pick_one
from pages.frame.words import plain
from studies.result import StudyResult
from studies.stein import findings
from studies.stein.arrival import WEIGHTS
from studies.stein.findings import QUANTITIES, Selection
from studies.stein.problems import COLUMNS

DIVERSITY = ("max_angle", "frobenius_A", "frobenius_W")


def show(study: StudyResult) -> None:
    """The packaged study: a figure for one data set, model, M and form, and the tables below it."""
    chosen, problem = _ask(study)
    left, right = st.columns(2)
    form = pick_one("Form", findings.SHORT_FORMS, "interior", "study_form", place=left)
    weights = pick_one("Weights", WEIGHTS, "weighted", "study_weights", place=right)
    quantity = f"{form}_{weights}"
    points = findings.over_time(study, chosen, problem, quantity)
    points = points.rename(columns={"column": "run"}).assign(M=chosen.M)
    keys = list(dict.fromkeys(points["run"]))
    plan = study.settings
    origin = (
        f"Made with python -m studies stein: {plan['repetitions']} repetitions, seed "
        f"{plan['seed']}, {plan['holdout']:.0%} of the observations held out, one thread; chains "
        f"and descents stopped after {plan['seconds']:g} s"
    )
    label = f"{study.labels[problem]}, {findings.MODELS[chosen.model]}, M = {chosen.M}"
    view.chart(
        discrepancy_over_time(
            points,
            run_styles([(key, COLUMNS[key].algorithm, study.labels[key]) for key in keys]),
            f"{label}: {findings.SHORT_FORMS[form]}, {WEIGHTS[weights]}",
            "squared Stein discrepancy wᵀKw",
        ),
        "Lower and further left is better. One line for each repetition: solvers make M "
        "factorizations once; a chain is thinned to M at several times; a descent is made with "
        "more and more iterations.",
        name="stein_study",
        origin=origin,
        table=points,
    )
    _tables(study, chosen, quantity)


def _ask(study: StudyResult) -> tuple[Selection, str]:
    columns = st.columns(3)
    every = findings.selections(study)
    models = list(dict.fromkeys(selection.model for selection in every))
    model = columns[0].selectbox(
        "Model", models, format_func=findings.MODELS.get, key="study_model"
    )
    sizes = [selection.M for selection in every if selection.model == model]
    M = columns[1].segmented_control(
        "Factorizations M",
        sizes,
        default=sizes[0],
        required=True,
        key="study_size",
        format_func=plain,
    )
    values = study.values
    here = values[(values["model"] == model) & (values["particles"] == M)]
    problem = columns[2].selectbox(
        "Data", list(here["problem"].unique()), format_func=study.labels.get, key="study_problem"
    )
    return Selection(model, M), problem


def _tables(study: StudyResult, chosen: Selection, quantity: str) -> None:
    form, _ = quantity.split("_")
    offered = (quantity, "seconds", "error", "held_out", "hidden", f"{form}_similarity", *DIVERSITY)
    here = study.values[study.values["model"] == chosen.model]
    measured = set(here[here["particles"] == chosen.M]["quantity"])
    which = st.selectbox(
        "Table",
        [key for key in offered if key in measured],
        key="study_table",
        format_func=lambda key: QUANTITIES[key][0],
    )
    title, where = QUANTITIES[which]
    view.table(findings.table(study, chosen, which), title)
    words = f"{title}, M = {chosen.M}. Mean over the repetitions and, in brackets, the range"
    st.caption(plain(words + (f"; published: {where} of the paper." if where else ".")))


def notes(study: StudyResult) -> None:
    """The study's findings on the published ordering, and what was left out or stopped."""
    fold = st.expander("Does the published ordering hold?", key="study_fold", on_change="rerun")
    if view.is_open(fold):  # it takes a quarter of a second to find out
        with fold:
            for sentence in findings.findings(study):
                st.markdown(f"- {plain(sentence)}")
    with st.expander("What was left out or cut short"):
        for note in study.notes:
            st.markdown(f"- {plain(note)}")
