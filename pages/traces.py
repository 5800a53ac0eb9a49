"""Traces: have the chains settled, and how much is a draw worth?"""

import streamlit as st

from bnmf_core.compare.distances.invariants import QUANTITIES
from bnmf_core.figures.trace import trace_plot
from pages.frame import guard, lens, link
from pages.frame.view import chart, header
from pages.parts import mixing_table

MOST_STATES = 1500

guard.enter("traces")
header("Traces", "Have the chains settled, and how much is one of their draws worth?")
look = lens.look("mixing")
analysis = look.analysis
traces = {run.id: analysis.trace(run.id, MOST_STATES) for run in analysis.runs}
traces = {run_id: table for run_id, table in traces.items() if len(table)}
if not traces:
    st.info(
        "None of these runs is a sampler's. Explorers make each factorization on its own: there "
        "is no chain to follow. Run Gibbs or HMC on the same data to see one."
    )
    st.page_link("pages/run.py", label="Set up a run", icon=":material/play_circle:")
    st.stop()
known = [key for key in QUANTITIES if all(key in table for table in traces.values())]
if link.get("quantity") not in known:
    link.put("quantity", known[0])
quantity = st.selectbox(
    "Quantity", known, key=link.key("quantity"), format_func=lambda key: QUANTITIES[key].label,
    help="All of them stay the same when components change places or scale.",
)  # fmt: skip
link.share("quantity")
described = QUANTITIES[quantity]
styles = {run_id: look.styles[run_id] for run_id in traces}
chart(
    trace_plot(traces, styles, quantity, described.label, described.unit),
    f"{described.summary} A chain that has settled wanders around a level that does not drift; "
    "chains at different levels have not met.",
    name="trace", origin=look.origin, table=mixing_table.joined(traces),
)  # fmt: skip
mixing_table.show(look, analysis.mixing())
