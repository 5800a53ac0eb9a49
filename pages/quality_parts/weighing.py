"""Weights by Stein discrepancy: excluded particles, weights, modes, the threshold."""

import numpy as np
import pandas as pd
import streamlit as st

from bnmf_core.analysis import stein as stein_stage
from bnmf_core.analysis.stein import SteinPart
from bnmf_core.core.names import distinct_labels
from bnmf_core.core.threshold import threshold_sentence
from bnmf_core.figures.modes import mode_share
from bnmf_core.figures.quality import likelihood_curve, weight_bars
from bnmf_core.figures.style import RunStyle
from bnmf_core.registry import model_of
from pages.frame import focusing, view
from pages.frame.lens import Lens
from pages.frame.words import labelled, plain

# Weights below this are a solver's rounding.
SMALLEST = 1e-4
MOST_BARS = 60
# Least width of a picture on either side of ε, relative to ε.
NARROWEST_EDGE = 0.1
COMBINED = "#6A3FC0"


def ask_members(look: Lens) -> np.ndarray:
    """Select members: a mask (m,) bool."""
    names = distinct_labels({row: look.name(row) for row in range(len(look.analysis.members))})
    dropped = st.multiselect(
        "Leave factorizations out",
        list(names),
        format_func=labelled(names),
        key="stein_dropped",
        help="The discrepancy and the weights are computed again without them.",
    )
    mask = np.ones(len(names), dtype=bool)
    mask[[row for row in dropped if row < mask.size]] = False
    if not mask.any():
        view.nothing("All factorizations are left out; keep at least one.")
    return mask


def weights(part: SteinPart, mask: np.ndarray) -> np.ndarray:
    """Stein weights (m,) of the members in the mask, 0 for the others; shows the residual."""
    solvers = ("HIGHS", "CLARABEL", "SCS")
    solver = st.segmented_control(
        "Solver",
        solvers,
        default="HIGHS",
        required=True,
        key="stein_solver",
        format_func=plain,
        help="All three solve the same quadratic program. If the chosen one finds no solution in "
        "five seconds, another is used.",
    )
    result, used = part.weights, part.solver
    if not mask.all() or solver != "HIGHS":
        result = np.zeros(mask.size)
        result[mask], used = _weighed(part.K[np.ix_(mask, mask)], solver)
    residual = stein_stage.residual(part.K[np.ix_(mask, mask)], result[mask])
    instead = "" if used == solver else f", as {solver} found none in five seconds"
    far = f"largest violation of the optimality conditions {residual:.1e}"
    st.caption(plain(f"Solver of the weights: {used}{instead}; {far}"))
    return result


@st.cache_data(max_entries=16, show_spinner="Weighing the factorizations …")
def _weighed(K: np.ndarray, solver: str) -> tuple[np.ndarray, str]:
    return stein_stage.weigh(K, solver)


def numbers(look: Lens, part: SteinPart, mask: np.ndarray, found: np.ndarray) -> None:
    """The discrepancy of equal and of Stein weights, for each run and for all.

    Unreliable weights are not shown.
    """
    meaningful = not part.too_far(found)
    columns = st.columns(3)
    equal = part.discrepancy(mask / mask.sum())
    columns[0].metric("Stein discrepancy, equal weights", f"{equal:.4g}")
    columns[1].metric("Stein discrepancy, Stein weights", f"{part.discrepancy(found):.4g}")
    if meaningful:
        columns[2].metric("Factorizations with a weight", f"{(found > SMALLEST).sum():d}")
    runs = look.analysis.members["run"].to_numpy()
    if len(look.styles) < 2:
        return
    rows = []
    for run_id, name in look.run_names.items():
        mine = mask & (runs == run_id)
        if mine.any():
            share = float(found[runs == run_id].sum())
            alone = part.discrepancy(mine / mine.sum())
            rows.append((name, int(mine.sum()), alone, share))
    table = pd.DataFrame(rows, columns=["run", "factorizations", "discrepancy", "weight"])
    view.table(
        table if meaningful else table.drop(columns="weight"),
        "Discrepancy and weight of each run",
        column_config={
            "discrepancy": st.column_config.NumberColumn(
                "discrepancy, equal weights", format="%.3e"
            ),
            "weight": st.column_config.NumberColumn(
                "weight in the whole", format="percent", help="Sum of the Stein weights."
            ),
        },
    )


def origin(look: Lens, form: str, part: SteinPart, mask: np.ndarray) -> str:
    """Origin of the numbers."""
    model = look.analysis.runs[0].spec.model
    words = (
        f"{look.origin} · {stein_stage.FORMS[form]}, model {model}, lengths "
        f"{part.lengths[0]:.3g} for A and {part.lengths[1]:.3g} for W"
    )
    left_out = int((~mask).sum())
    return words + (f" · {left_out} left out" if left_out else "")


def table(look: Lens, found: np.ndarray) -> pd.DataFrame:
    """Particles with a weight, the largest first."""
    rows = np.flatnonzero(found > SMALLEST)
    rows = rows[np.argsort(-found[rows], kind="stable")][:MOST_BARS]
    members = look.analysis.members.iloc[rows]
    return pd.DataFrame(
        {
            "run": members["run"].to_numpy(),
            "name": [look.name(int(row)) for row in rows],
            "weight": found[rows],
            "mode": look.modes.labels[rows] + 1,
            "error": members["error"].to_numpy(),
            "log_joint": members["log_joint"].to_numpy(),
        }
    )


def caveat() -> None:
    """The limits of a Stein discrepancy."""
    st.caption(
        "A Stein discrepancy compares slopes: it sees neither a mode that no factorization has "
        "found nor how much of the posterior lies in each. Stein weights are no probabilities of "
        "modes; the posterior mass on the page Overview is."
    )


def trusted(part: SteinPart, found: np.ndarray) -> bool:
    """Whether to show the weights: unreliable ones need the user's consent."""
    words = part.too_far(found)
    if not words:
        return True
    st.warning(plain(words))
    return st.toggle("Show the weights all the same", key="stein_untrusted")


def bars(look: Lens, found: np.ndarray, where: str) -> None:
    """The largest weights, and a button that focuses on them."""
    rows = table(look, found)
    view.chart(
        weight_bars(rows, look.styles),
        "The weights minimize the Stein discrepancy of the factorizations to the posterior. A few "
        "different factorizations with weight represent it better than many similar ones. Those "
        "without a weight add nothing.",
        name="stein_weights",
        origin=where,
        table=rows,
    )
    focus_button(look, found)


def focus_button(look: Lens, found: np.ndarray) -> None:
    """A button that focuses on the weighted factorizations on all pages."""
    rows = np.flatnonzero(found > SMALLEST)
    if st.button(
        "Focus on these",
        key="focus_weighted",
        help="The gallery, the words and the scores then show the factorizations with a weight.",
    ):
        focusing.on(rows)


def modes(look: Lens, found: np.ndarray, where: str) -> None:
    """The Stein weight of every mode."""
    weight = np.bincount(look.modes.labels, found, minlength=look.modes.count)
    shares = pd.DataFrame({"mode": np.arange(1, weight.size + 1), "run": "all", "share": weight})
    style = RunStyle("all runs, Stein weights", COMBINED, "circle", "solid")
    figure = mode_share(shares, {"all": style})
    figure.update_layout(title={"text": "Stein weight of each mode"})
    figure.update_yaxes(title="Stein weight")
    view.chart(
        figure,
        "The sum of the weights in every mode: its share in the nearest weighted sample.",
        name="mode_mass",
        origin=where,
        table=shares.drop(columns="run"),
    )


def threshold(look: Lens) -> None:
    """The likelihood over the objective, for models with a threshold."""
    objective = stein_stage.STAGE.of(look.analysis).objective
    if objective is None:
        return
    found = np.asarray(objective)
    model, chosen = model_of(look.analysis.particles[0])
    of_model = model.threshold
    epsilon, beta = of_model.epsilon(chosen), max(of_model.softness(chosen), NARROWEST_EDGE)
    high = max(float(np.quantile(found, 0.98)), (1 + 2 * beta) * epsilon)
    line = np.linspace(min(float(found.min()), (1 - 2 * beta) * epsilon), high, 400)
    curve = line, of_model.likelihood(chosen, line)
    runs = list(look.analysis.members["run"])
    label = of_model.label(chosen)
    view.chart(
        likelihood_curve(found, curve, epsilon, runs, look.styles, label),
        of_model.help,
        name="threshold",
        origin=look.origin,
        table=look.named(look.analysis.members[["run", "particle"]]).assign(objective=found),
    )
    st.caption(plain(threshold_sentence(found, epsilon)))
