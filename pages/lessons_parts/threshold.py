"""Lesson 6: the threshold model (paper 3, figure 2)."""

from functools import cache

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.figures.losses import losses
from bnmf_core.likelihoods.silf import MARGIN, silf
from pages.lessons_parts import charts, touch
from pages.lessons_parts.lesson import Lesson, Question, Say
from pages.lessons_parts.stored import stored

# ε in units of the largest misfit of the restarts, and β, of each step.
SHOWN = {1: (MARGIN, 0.1), 2: (0.5, 0.9), 3: (0.98, 0.01)}
C = 2.0
MISFIT = np.linspace(0.0, 2.0, 401)


@cache
def misfits() -> np.ndarray:
    """Misfits of the restarts, the largest being 1."""
    found = np.array(stored("threshold")["objective"])
    return found / found.max()


@cache
def facts() -> dict[str, float | str]:
    """Nats between restarts under a Gaussian model, and the data of the restarts."""
    data = stored("threshold")
    f = np.array(data["objective"])
    nats = float((f.max() - f.min()) / (2.0 * data["sigma"] ** 2))
    return {
        "name": data["name"],
        "rank": data["rank"],
        "restarts": f.size,
        "nats": nats,
        "zeros": nats / np.log(10.0),
        "spread": float(1.0 - f.min() / f.max()),
        "margin": MARGIN,
        "steepness": C,
    }


def free(epsilon: float, beta: float) -> int:
    """Number of restarts without loss."""
    return int((silf(misfits(), epsilon, beta) == 0.0).sum())


def sentence(epsilon: float, beta: float) -> str:
    """Number of restarts below the threshold, compared with Gaussian noise."""
    known, count = facts(), free(epsilon, beta)
    enough = f"{count} of {known['restarts']} restarts are good enough, and equally likely"
    if count == 0:
        enough = f"none of {known['restarts']} restarts is wholly good enough"
    return (
        f"With ε = {epsilon:.2f}, {enough}; under Gaussian noise the best would be "
        f"{known['zeros']:.0f} powers of ten more likely than the worst."
    )


def show(step: int, say: Say) -> None:
    """The losses, with sliders of ε and β."""
    epsilon, beta = SHOWN[step]
    drawn = charts.first()
    if not touch.presenting():
        left, right = st.columns(2, gap="medium")
        epsilon = left.slider(
            "Threshold ε",
            0.5,
            1.5,
            epsilon,
            0.01,
            key=f"threshold_epsilon_{step}",
            help="In units of the largest misfit of the restarts.",
        )
        beta = right.slider("Smoothness β", 0.01, 0.9, beta, 0.01, key=f"threshold_beta_{step}")
    say(sentence(epsilon, beta))
    curves = {
        f"threshold, β = {beta:g}": silf(MISFIT, epsilon, beta),
        "Gaussian noise": MISFIT,
    }
    with drawn:
        charts.chart(
            losses(MISFIT, curves, misfits(), epsilon, "largest of the restarts = 1"),
            "Ticks below: one for each restart. Up to (1 − β)ε the threshold costs nothing.",
            name="lesson_threshold",
            origin=(
                f"{facts()['name']}, {facts()['rank']} components, {facts()['restarts']} restarts"
            ),
            table=pd.DataFrame({"misfit": MISFIT, **curves}),
        )


LESSON = Lesson(
    "threshold",
    "What the threshold model does",
    "Factorizations that are good enough are equally good, and you say what is enough.",
    "Masood and Doshi-Velez, A particle-based variational approach to Bayesian NMF, section 5.2 "
    "and figure 2",
    (
        "The ticks: {restarts:d} restarts on {name}, whose misfits differ by at most "
        "{spread:.1%}. A Gaussian model turns that into {nats:,.0f} nats: the best would have all "
        "the weight. The threshold model costs nothing up to (1 − β)ε, with ε = {margin:g} times "
        "the largest misfit of fifty restarts, so all of them count.",
        "This is figure 2 of the paper, ε = 0.5: β says how far on either side of ε the loss "
        "bends, from (1 − β)ε, where it is flat, to (1 + β)ε, where its slope is 1. Under "
        "Gaussian noise the loss is a straight line without a flat part: every improvement "
        "counts, however small.",
        "ε is yours to choose. Set just below the largest misfit it splits the restarts into "
        "good enough and not good enough; beyond it the log-likelihood falls by {steepness:g} for "
        "each unit of loss. Conclusions should not depend on exactly where it is set.",
    ),
    (
        Question(
            "Does good enough mean equally probable?",
            "Equally likely: the likelihood is the same. The prior, and how many factorizations "
            "there are nearby, still tell them apart.",
        ),
        Question(
            "What if ε is very large?",
            "Then everything is good enough, and the posterior is the prior.",
        ),
        Question(
            "Why is the scale fixed in this model?",
            "Columns of A sum to 1, so that scalings of one factorization do not count as many "
            "(lesson 2).",
        ),
    ),
    show,
    "run",
    "On the page Analyse, under Advanced, choose the model Soft ε-threshold (SILF).",
    facts,
)
