"""Selection, start and description of coverage studies."""

import pandas as pd
import streamlit as st

from pages.frame.options import pick_one
from pages.frame.words import plain
from pages.parts import make_study
from studies.coverage.findings import differences
from studies.coverage.plan import SHORT
from studies.result import StudyResult
from studies.result import full as full_study


def choose() -> tuple[StudyResult, str]:
    """The selected study and its source; ends the page without one."""
    full = full_study("coverage")
    options = {"full": "Full study", "short": "Short study, made here"}
    if full is None:
        del options["full"]
    which = pick_one(
        "Study",
        options,
        next(iter(options)),
        "study_which",
        help="The full study comes with the program and took about an hour; the short one "
        "is made here in about half a minute.",
    )
    if which == "full":
        return full, _origin(full, "Made with python -m studies coverage")
    plan = SHORT.plan
    words = f"{plan.repetitions} repetitions of {plan.samples} samples of the small problems"
    short = make_study.result(SHORT, f"Make the short study ({words})", "study")
    return short, _origin(short, "Made here")


def _origin(study: StudyResult, made: str) -> str:
    plan = study.settings
    return (
        f"{made}: {plan['repetitions']} repetitions of {plan['samples']:,} samples, "
        f"noise σ = {plan['sigma']:g}, seed {plan['seed']}"
    )


def curves(
    study: StudyResult, problem: str, metric: str, columns: list[str]
) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """The curve of every repetition as a run, and their groups.

    A repetition without samples has no curve.
    """
    parts, groups = [], {}
    for column in columns:
        names = [column]
        for repetition, covering in enumerate(study.curves[problem, column, metric]):
            if covering.min() < 1:
                continue
            name = f"{column} {repetition + 1}"
            names.append(name)
            radii = study.radii[metric]
            parts.append(pd.DataFrame({"run": name, "epsilon": radii, "covering": covering}))
        groups[column] = names
    return pd.concat(parts, ignore_index=True), groups


def notes(study: StudyResult) -> None:
    """Reductions of the study, and a reading help for the published numbers."""
    with st.expander("What differs from the publication, and why"):
        for note in (*study.notes, *differences(study)):
            st.markdown(f"- {plain(note)}")
