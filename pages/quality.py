"""Quality: is each factorization good enough?"""

import streamlit as st

from bnmf_core.analysis import quality
from bnmf_core.figures.quality import hidden_plot, quality_plot
from bnmf_core.registry import model_of
from pages.frame import focusing, guard, panel, view
from pages.frame.words import plain, with_unit

LOGARITHMIC = ("movement", "kkt")

guard.enter("quality")
look = panel.look(quality.STAGE)
analysis = look.analysis
found = quality.STAGE.of(analysis)
table = found.table(look.metric)
model, settings = model_of(analysis.particles[0])
threshold = None
if model.threshold is not None:
    level = model.threshold.relative_error(settings, analysis.seen_squared_norm)
    threshold = None if level is None else (level, "threshold ε of the model")
st.markdown(plain(analysis.convergence))
pictures = {
    "movement": (
        "How far each factorization still turns",
        "movement (°)",
        "Degrees by which a factorization would turn, at most, if its iterations doubled. "
        "Differences below this are no differences.",
    ),
    "kkt": (
        "How far each factorization is from a stationary point",
        "KKT residual",
        "The part of the factorization by which its entries are away from where each would go by "
        "itself; 0 at a minimum.",
    ),
    "log_joint": (
        "Joint density of every factorization",
        "log joint (nats)",
        "Higher is more probable under the run's own model; compare runs of the same model only. "
        "The black bar is the median.",
    ),
    "error": (
        "Error of every factorization",
        "‖X − AW‖/‖X‖ on what the run saw",
        "Lower fits better. Points far above the rest are poor local minima.",
    ),
    "held_out": (
        "Error on observations that no run saw",
        "‖X − AW‖/‖X‖, held out",
        "Weights of the unseen observations are solved with A fixed. Where the error of a run is "
        "low and this is high, its basis fits noise.",
    ),
    "diversity": (
        "Difference from the rest of the run",
        with_unit(f"mean distance to the others, {look.distance.label}", look.distance.unit),
        "Higher points are unlike the other factorizations of their run: another mode, or a poor "
        "fit. Compare with the error.",
    ),
}
columns = st.columns(2)
shown = [key for key in pictures if key in table and table[key].notna().any()]
for number, key in enumerate(shown):
    title, axis, reading = pictures[key]
    with columns[number % 2]:
        event = view.chart(
            quality_plot(
                table,
                look.styles,
                key,
                title,
                axis,
                look.focus,
                threshold if key == "error" else None,
                logarithmic=key in LOGARITHMIC,
            ),
            look.reading(reading),
            name=f"quality_{key}",
            origin=look.origin,
            table=table[["run", "particle", key]],
            select=view.MARKS[1:],
        )
        focusing.on_selection(event, f"quality_{key}")
if "hidden" in table:
    with columns[len(shown) % 2]:
        event = view.chart(
            hidden_plot(table, look.styles, look.focus, found.hidden_by_means),
            look.reading(
                "Entries that were hidden on purpose. Where this error is far above that on seen "
                "entries, a factorization fits what it saw rather than what there is; the mean of "
                "each feature in every gap is what it has to beat."
            ),
            name="quality_hidden",
            origin=look.origin,
            table=table[["run", "particle", "error", "hidden"]],
            select=view.MARKS[1:],
        )
        focusing.on_selection(event, "quality_hidden")
if "held_out" not in table:
    st.caption("Hold observations out on the Run page to see the error on unseen ones as well.")
if "hidden" not in table:
    st.caption("Hide entries on the Data page to see how well factorizations tell them.")
