"""Quality: is each factorization good enough?"""

import streamlit as st

from bnmf_core.analysis import answer, quality
from bnmf_core.figures.quality import hidden_plot, quality_plot
from bnmf_core.registry import model_of
from pages.frame import focusing, guard, panel, view
from pages.frame.words import plain
from pages.quality_parts.pictures import LOGARITHMIC, pictures_of

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
if told := answer.draws_beside_optima(analysis):
    st.markdown(plain(told))
pictures = pictures_of(look.distance)
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
