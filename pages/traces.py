"""Traces: have the chains settled, and how much is a draw worth?"""

import pandas as pd
import streamlit as st

from bnmf_core.analysis import chains, mixing
from bnmf_core.compare.distances.invariants import QUANTITIES, Invariant, quantities
from bnmf_core.compare.settled import FOLLOWED
from bnmf_core.figures.chains import trace_plot
from pages.frame import guard, link, panel, view
from pages.frame.words import NATS
from pages.parts import chain_pictures, mixing_table, settled

MOST_STATES = 1500

guard.enter("traces")
look = panel.look(mixing.STAGE, chains.STAGE)
analysis = look.analysis
traces = {run.id: analysis.trace(run.id, MOST_STATES) for run in analysis.runs}
traces = {run_id: table for run_id, table in traces.items() if len(table)}
if not traces and look.passing:
    view.nothing("No run with chains has ended yet. Traces are drawn when one has.")
if not traces:
    view.nothing(
        "None of these runs is from a sampler. Explorers make each factorization independently, "
        "so there is no chain. Run Gibbs or HMC on the same data to see one.",
        "run",
    )
settled.show(look)
verdicts = chains.STAGE.of(analysis)
followed = {
    key: known
    for key, known in quantities(analysis.loss).items()
    if all(key in table for table in traces.values())
} | {
    f"{name} {r}": Invariant(f"{name} {r}", f"{name} {r}".capitalize(), unit, summary)
    for r in range(1, 1 + (analysis.runs[0].spec.rank if verdicts.by_run else 0))
    for name, unit, summary in FOLLOWED
}
worst = [verdict.worst for verdict in verdicts.unsettled if verdict.worst in followed]
link.one_of("quantity", followed, *worst[:1])
quantity = st.sidebar.selectbox(
    "Quantity",
    followed,
    key=link.key("quantity"),
    format_func=lambda key: followed[key].label,
    help="All are invariant to the order and scale of components.",
)
link.share("quantity")
described = followed[quantity]
if quantity not in QUANTITIES:  # known of draws, not of every state
    traces = {
        run_id: verdicts.series(run_id).assign(warm_up=False)[
            ["chain", "sweep", "warm_up", quantity]
        ]
        for run_id in verdicts.by_run
    }
view.chart(
    trace_plot(
        traces,
        {run_id: look.styles[run_id] for run_id in traces},
        quantity,
        described.label,
        described.unit,
    ),
    f"{described.summary} A chain that has settled wanders around a level that does not drift; "
    f"chains at different levels have not mixed.{f' {NATS}' if described.unit == 'nats' else ''}",
    name="trace",
    origin=look.origin,
    table=look.named(pd.concat([table.assign(run=run) for run, table in traces.items()]))[
        ["run", *next(iter(traces.values())).columns]
    ],
)
chain_pictures.show(look, traces, verdicts, quantity, described.label)
mixing_table.show(look, mixing.STAGE.of(analysis))
