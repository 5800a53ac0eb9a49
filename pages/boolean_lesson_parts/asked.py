"""The questions of the lesson: what is observed, where it is cut, the prior, the formula."""

import streamlit as st

from bnmf_core.probability.three_variables import ThreeVariables
from pages.frame.words import plain, shown

PRIORS = {"flat": "Flat", "normal": "Normal", "laplace": "Laplace", "beta": "Beta(½, ½)"}
OBSERVED = {"a": ("x and y", 0.0), "b": ("x and z", 1.0), "c": ("y and z", 1.0)}


def ask() -> tuple[ThreeVariables, float]:
    """Draw the questions; what was asked, and the z at which the density is cut."""
    columns = st.columns(4, gap="medium")
    observed = [
        column.slider(
            plain(f"{name}: are {what} both yes?"),
            0.0,
            1.0,
            first,
            0.05,
            key=f"boolean_lesson_{name}",
            help="0 is no, 1 is yes.",
        )
        for column, (name, (what, first)) in zip(columns, OBSERVED.items(), strict=False)
    ]
    z = columns[3].slider(
        "z, where the density is cut",
        0.0,
        1.0,
        0.5,
        0.05,
        key="boolean_lesson_z",
        help="The picture shows x and y for this z. Maximum and mean are over all three.",
    )
    left, right = st.columns([3, 2], gap="medium", vertical_alignment="bottom")
    prior = left.segmented_control(
        "Prior of x, y and z",
        list(PRIORS),
        default="flat",
        required=True,
        format_func=shown(PRIORS),
        key="boolean_lesson_prior",
        help="Flat favours nothing. Normal and Laplace favour small numbers, Beta(½, ½) numbers "
        "near 0 and near 1.",
    )
    printed = right.toggle(
        "Formula as printed",
        key="boolean_lesson_printed",
        help="In the publication two of the three squares have the wrong sign: (xy − a)² − "
        "(xz − b)² − (yz − c)². Off: all three are added.",
    )
    return ThreeVariables(*observed, prior=prior, printed=printed), z
