"""The parts of the Mixture page: which run, its numbers, bounds, fates, spread, components."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.core.names import listed
from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.rrt.analysis import variational as stage
from bnmf_core.rrt.analysis.variational import Mixtures, Proposals
from bnmf_core.rrt.figures.elbo import FATES, bound_over_proposals, fate_bars
from bnmf_core.rrt.online import REASONS
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.frame.options import pick_one
from pages.frame.words import NATS, plain

QUANTITIES = {"elbo": "Bound", "entropy": "Entropy", "energy": "Energy"}


def without(look: Lens, reasons: dict[str, str]) -> None:
    """Explain why runs have no mixture, and which runs ended early and why."""
    names = look.run_names
    for why in dict.fromkeys(reasons.values()):
        runs = [names[run_id] for run_id, reason in reasons.items() if reason == why]
        st.info(plain(f"No mixture for {listed(runs)}. {why}"))
    for run, particles in zip(look.analysis.runs, look.analysis.particles, strict=True):
        endings = dict.fromkeys(c["reason"] for c in particles.info.get("failed_chains") or [])
        for reason in endings:
            st.caption(plain(f"{names[run.id]} ended early. {reason}"))


def ask(look: Lens, found: dict[str, Proposals]) -> tuple[str, str]:
    """Select the scale of proposals, a key of ``VARIANTS``, and the run.

    The default is the run with the largest bound.
    """
    variant = pick_one(
        "Scale of A and W",
        stage.VARIANTS,
        "best",
        "mixture_variant",
        help="The scale changes no product AW, but how flat the posterior is around it, and so "
        "the bound. At the best one, columns of A are equally long, and as long as makes the "
        "posterior flattest.",
        place=st.sidebar,
    )
    best = max(found, key=lambda run_id: np.nan_to_num(elbo(found[run_id]), nan=-np.inf))
    run_id = st.sidebar.selectbox(
        "Mixture of",
        list(found),
        index=list(found).index(best),
        format_func=look.run_names.get,
        key="mixture_run",
    )
    return variant, run_id


def elbo(of_run: Proposals) -> float:
    """The bound of the final mixture, NaN without one."""
    return float(of_run.decisions["elbo"].iloc[-1])


def _nats(value: float) -> str:
    """A short number of nats: decimals of small ones only."""
    return f"{value:,.3f}" if abs(value) < 1000 else f"{value:,.0f}"


def numbers(mixtures: dict[str, dict[str, Proposals]], variant: str, run_id: str) -> None:
    """Bound, entropy, energy, components and proposals, and the gain from the scale alone.

    ``mixtures`` : variant → run id → proposals.
    """
    of_run = mixtures[variant][run_id]
    last = of_run.decisions.iloc[-1]
    if np.isnan(last["elbo"]):
        st.info(
            "The model gives every factorization of this run probability 0, so none could join."
        )
        return
    columns = st.columns(5)
    for column, (key, label) in zip(columns, QUANTITIES.items(), strict=False):
        column.metric(f"{plain(label)} (nats)", _nats(last[key]))
    columns[3].metric("Components", f"{int(last['components']):d}")
    columns[4].metric("Proposals", f"{len(of_run.decisions):,}")
    worth = elbo(mixtures["best"][run_id]) - elbo(mixtures["found"][run_id])
    words = (
        f"Scale alone is worth {_nats(worth)} nats here: the bound at the scale of least "
        "curvature, less that of the same factorizations as they were found. One factorization "
        "whose columns come in another order is a component of its own; the curve of covering "
        "numbers below says how many differ."
    )
    if len(of_run.decisions) < of_run.total:
        words += f" Proposed: {len(of_run.decisions):,} of {of_run.total:,}, evenly spaced."
    if of_run.fixed_variance is not None:
        words += (
            f" The likelihood is flat, so that all components share σ = "
            f"{np.sqrt(of_run.fixed_variance):.3g}, in all runs of this model. This σ comes from "
            "Gaussian noise of size ε/√3 and grows with ε. A smaller σ can keep more components."
        )
    if of_run.own_bounds:
        count = len(of_run.own_bounds)
        of_which = "" if count == 1 else f" (the largest of {count} mixtures)"
        words += (
            " With equal weights and its own variances, the mixture that this run fitted has a "
            f"bound of {max(of_run.own_bounds):,.3f} nats{of_which}."
        )
    with st.expander("What this rests on"):
        st.markdown(plain(f"{words} {NATS}"))


def bounds(look: Lens, found: dict[str, Proposals], where: str) -> None:
    """ELBO, entropy or energy over proposals."""
    key = pick_one("Quantity", QUANTITIES, "elbo", "mixture_quantity", place=st.sidebar)
    from_best = st.sidebar.toggle(
        "Log scale, relative to the best",
        True,
        key="mixture_from_best",
        help="Early gains can be millions of nats; a log scale keeps later ones readable.",
    )
    parts = []
    for run_id, of_run in found.items():
        part = of_run.decisions[["number", "joined", "gain"]].copy()
        part.insert(0, "run", run_id)
        part.insert(1, "proposal", np.arange(1, len(part) + 1))
        part["value"], part["model"] = of_run.decisions[key], of_run.model
        part["reason"] = of_run.decisions["reason"].map(REASONS)
        parts.append(part)
    table = pd.concat(parts, ignore_index=True)
    table["best"] = table.groupby("model")["value"].transform("max")
    view.chart(
        bound_over_proposals(table, look.styles, QUANTITIES[key], from_best),
        "The closer the mixture is to the posterior, the higher the bound (ELBO). A mark is a "
        "factorization that joined. "
        + (
            "At the bottom a run is within 1 nat of the best."
            if from_best
            else "Where the line is level, proposals were rejected."
        ),
        name="bound_over_proposals",
        origin=where,
        table=look.named(table),
    )
    if table["model"].nunique() > 1:
        st.caption(
            "These runs have different models or settings, and their bounds cannot be compared. "
            "The best is the best of the runs with the same model."
        )


def fates(look: Lens, found: dict[str, Proposals], where: str) -> None:
    """Counts of joined, removed and rejected proposals, with reasons."""
    rows = []
    for run_id, of_run in found.items():
        made = of_run.decisions
        fate = made["reason"].where(~made["joined"], "remain")
        counts = fate.mask(made["joined"] & (made["left"] >= 0), "left").value_counts()
        rows += [(run_id, fate, int(counts.get(fate, 0))) for fate in FATES]
    table = pd.DataFrame(rows, columns=["run", "fate", "count"])
    near = " Too near: moving a component by σ in every dimension would gain more."
    fixed = any(of_run.fixed_variance is not None for of_run in found.values())
    view.chart(
        fate_bars(table, look.styles),
        f"A factorization joins when it raises the bound by {stage.TOLERANCE:g} nats at least, and "
        "leaves when its loss costs less." + near * fixed,
        name="fates",
        origin=where,
        table=look.named(table),
    )


def spread(look: Lens, stored: Mixtures, variant: str, where: str) -> None:
    """Persistence of the components of each run under the distance in use."""
    kind = pick_one("Components", stage.KINDS, "remain", "mixture_kind")
    curves, table = stored.coverage(look.metric, variant, kind)
    if curves.empty:
        return
    words = (
        "The number of balls of radius ε that cover all components. A single component needs one "
        "ball."
    )
    if table["compared"].max() >= stage.MOST_COMPARED:
        words += f" Of a run at most {stage.MOST_COMPARED} are compared, evenly spaced."
    distance = look.distance
    styles = {run_id: look.styles[run_id] for run_id in table["run"]}
    title = f"Persistence of the components {stage.KINDS[kind]}"
    view.chart(
        persistence_plot(curves, styles, distance.label, distance.unit, title=title),
        words,
        name="component_persistence",
        origin=where,
        table=look.named(table),
    )


def components(look: Lens, run_id: str, of_run: Proposals) -> None:
    """The components of one run's mixture, and a button that brings them into focus."""
    ids = [run.id for run in look.analysis.runs]
    particles = look.analysis.particles[ids.index(run_id)]
    measure = look.analysis.losses[ids.index(run_id)].measure
    table = of_run.components.rename(columns={"variance": "deviation"})
    table["deviation"] = np.sqrt(table["deviation"])
    place = pd.Series(np.arange(particles.M), index=np.asarray(particles.ids))
    table["error"] = np.asarray(particles.error)[place[table["number"]].to_numpy()]
    st.header("Components that remain", anchor=False)
    view.table(
        table,
        "Components that remain",
        height=min(38 + 35 * max(len(table), 1), 360),
        column_config={
            "number": st.column_config.NumberColumn("factorization"),
            "weight": st.column_config.NumberColumn("mixture weight", format="%.3g"),
            "deviation": st.column_config.NumberColumn(
                "standard deviation σ", format="%.3g", help="The same for every entry of A and W."
            ),
            "log_joint": st.column_config.NumberColumn(
                "log joint at this scale (nats)",
                format="%.3f",
                help="At the scale chosen above, which other pages do not use.",
            ),
            "error": st.column_config.NumberColumn(measure, format="%.4g"),
        },
    )
    st.caption(
        "The weights of the Gaussians that maximize the bound. They are not probabilities of "
        "modes; Overview has the posterior mass."
    )
    members = look.analysis.members
    mine = (members["run"] == run_id) & members["particle"].isin(table["number"])
    rows = np.flatnonzero(mine)
    if rows.size < len(table):
        st.caption(
            f"{rows.size:d} of these {len(table):d} are among the factorizations that other pages "
            "show, which are at most 200 of a run, evenly spaced."
        )
    if st.button(
        "Focus on these",
        key="focus_components",
        disabled=not rows.size,
        help="All other pages then highlight these components.",
    ):
        focusing.on(rows)
