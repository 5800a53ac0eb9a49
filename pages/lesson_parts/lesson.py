"""A lesson: the same problem walked by a chain and explored by a tree."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from bnmf_core import RunSpec, registry
from bnmf_core.analysis import distances
from bnmf_core.analysis import tree as tree_stage
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.compare.coverage import largest_so_far
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.data.synthetic import laurberg
from bnmf_core.figures.style import run_styles
from bnmf_core.figures.tree import arrival, range_over_time
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.registry import ALGORITHMS, label_of
from pages.frame.view import chart
from pages.frame.words import duration, plain, shown
from pages.parts import tree

RANK = 3
PROBLEMS = {
    "two": "Two solutions (a = 0.5)",
    "near": "Near two",
    "continuum": "Continuum (a = 0.55)",
}
MODELS = {"uniform": "Every entry within ε", "gaussian": "Gaussian noise"}
OTHERS = ("gibbs", "q_transform")
CHAIN = {"start": "known", "chains": 1, "warm_up": 200}
TREE = {"start": "known", "attempts": 3000}


def ask() -> tuple[Dataset, list[RunSpec]]:
    """Draw the questions; the matrix and the runs that were chosen."""
    left, right = st.columns(2, gap="medium")
    problem = left.segmented_control(
        "Problem",
        list(PROBLEMS),
        default="two",
        required=True,
        format_func=shown(PROBLEMS),
        key="lesson_problem",
    )
    a = {"two": 0.5, "continuum": 0.55}.get(problem)
    if a is None:
        a = left.slider(
            "a",
            0.45,
            0.6,
            0.52,
            0.01,
            key="lesson_a",
            help="The number the matrix is made of: below 0.5 one solution, at 0.5 two, above it "
            "a continuum.",
        )
    model = right.segmented_control(
        "Model",
        list(MODELS),
        default="uniform",
        required=True,
        format_func=shown(MODELS),
        key="lesson_model",
    )
    columns = st.columns([1, 1, 1, 2])
    noise = columns[0].number_input(
        "Noise in the data",
        0.0,
        0.1,
        0.0,
        0.005,
        format="%.3f",
        key="lesson_noise",
        help="Standard deviation of what is added to every entry of X.",
    )
    if model == "uniform":
        epsilon = columns[1].number_input(
            "ε",
            0.001,
            1.0,
            0.05,
            0.01,
            format="%.3f",
            key="lesson_epsilon",
            help="A factorization is possible when it misses no entry by more.",
        )
        level = {"epsilon": epsilon}
    else:
        sigma = columns[1].number_input(
            "σ",
            0.005,
            1.0,
            0.02,
            0.005,
            format="%.3f",
            key="lesson_sigma",
            help="The standard deviation of noise that the model expects.",
        )
        level = {"sigma": sigma}
    seed = int(columns[2].number_input("Seed", 0, 10_000, 0, key="lesson_seed"))
    offered = [key for key in OTHERS if ALGORITHMS[key].works_with(registry.model(model))]
    others = columns[3].pills(
        "Beside them",
        offered,
        selection_mode="multi",
        format_func=shown({key: label_of(key) for key in offered}),
        key="lesson_others",
        help="The chain of HMC and the tree of RRT are always there.",
    )
    return matrix(a, noise, seed), specs(model, level, seed, others)


def matrix(a: float, noise: float, seed: int) -> Dataset:
    """The 6×6 problem; the same choices give the same matrix."""
    kind = "unique" if a < 0.5 else "two"
    return laurberg(kind, a=round(a, 4), noise=noise, rng=np.random.default_rng(seed))


def specs(model: str, level: dict[str, float], seed: int, others: Sequence[str]) -> list[RunSpec]:
    """The chain and the tree, from the same known factorization, and what is asked for beside."""
    growth = dict(TREE)
    if model == "gaussian":
        # As far below its start as the draws of a posterior in 3 · (6 + 6) dimensions lie.
        growth |= {"way": "diversity", "allowance": 18.0}
    chosen = {
        "hmc": (300, CHAIN),
        "rrt": (150, growth),
        "gibbs": (300, CHAIN),
        "q_transform": (30, {}),
    }
    return [
        RunSpec(key, RANK, model, particles, seed, settings, level)
        for key, (particles, settings) in chosen.items()
        if key in ("hmc", "rrt", *others)
    ]


def show(analysis: Comparison) -> None:
    """What the runs have found, side by side."""
    styles = run_styles(
        [(run.id, run.spec.algorithm, label_of(run.spec.algorithm)) for run in analysis.runs]
    )
    first = analysis.runs[0].spec
    noise = ", ".join(f"{key} = {value:g}" for key, value in first.model_settings.items())
    origin = f"{analysis.dataset.name}, rank {RANK}, {noise}, seed {first.seed}"
    part, distance = tree_stage.STAGE.of(analysis), DISTANCES[tree_stage.METRIC]
    matrix_of_all = np.asarray(distances.STAGE.of(analysis).matrix(tree_stage.METRIC))
    members = analysis.members.assign(when=arrival(analysis.members))
    curves = {}
    for run, column in zip(analysis.runs, st.columns(len(analysis.runs)), strict=True):
        rows = np.flatnonzero((members["run"] == run.id).to_numpy())
        largest = largest_so_far(matrix_of_all[np.ix_(rows, rows)])
        curves[run.id] = members["when"].to_numpy()[rows], largest
        column.metric(
            f"{plain(label_of(run.spec.algorithm))}: largest angle",
            f"{largest[-1]:.3g}°",
            help="Between any two of its factorizations.",
        )
        column.caption(f"{run.done:d} factorizations in {duration(run.seconds)}")
    left, right = st.columns([5, 4], gap="medium")
    with left:
        if part is not None:
            tree.growing_map(part, styles, origin)
    with right:
        chart(
            range_over_time(
                curves, styles, distance.label, distance.unit, part.between_known if part else 0.0
            ),
            "The largest angle between any two factorizations that a run has made by then; the "
            "axis is logarithmic.",
            name="lesson_range",
            origin=origin,
            table=members.assign(largest=np.concatenate([c[1] for c in curves.values()]))[
                ["run", "algorithm", "particle", "when", "largest"]
            ],
        )
        tree.endings(analysis)
    if part is None:
        return
    st.subheader("The same in the plane of the data", anchor=False)
    for first_run in range(0, len(analysis.runs), 2):
        pair = analysis.runs[first_run : first_run + 2]
        for run, column in zip(pair, st.columns(2, gap="medium"), strict=False):
            with column:
                st.markdown(f"**{plain(label_of(run.spec.algorithm))}**")
                tree.simplex(part, {run.id: styles[run.id]}, origin, f"simplex_{run.id}")
