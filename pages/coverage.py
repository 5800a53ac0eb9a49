"""Coverage: which method saw more of the posterior?"""

import pandas as pd
import streamlit as st

from bnmf_core.analysis import exact, mixing, structure
from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.share.naming import styles_of_groups
from bnmf_core.share.pictures import COVERED
from pages.coverage_parts import poor_fits, spreads
from pages.frame import guard, panel, view
from pages.frame.options import pick_one
from pages.frame.words import plain
from pages.parts import mixing_table, unfinished

METHODS = {"greedy": "Greedy", "exact": "Exact"}

guard.enter("coverage")
look = panel.look(mixing.STAGE, exact.STAGE, meanwhile=unfinished.show)
analysis, distance = look.analysis, look.distance
groups = analysis.repetitions()
repeated = any(len(ids) > 1 for ids in groups.values())
with st.sidebar:
    mask, left_out = poor_fits.ask(look)
    method = pick_one(
        "Covering numbers",
        METHODS,
        "greedy",
        "coverage_method",
        help="Greedy never needs fewer balls than exact, and at most 1 + ln(n) times as many. "
        "Exact is offered for runs of up to 60 factorizations.",
        disabled=bool(left_out),
    )
    logarithmic = st.toggle("Logarithmic counts", True, key="coverage_log")
    together = repeated and st.toggle(
        "Repetitions together",
        True,
        key="coverage_together",
        help="Runs that differ only in the seed: their mean and range.",
    )
if left_out:
    method = "greedy"
    curves, spread, (of_chains, chain_spread) = structure.coverage_of(analysis, look.metric, mask)
    st.warning(plain(left_out))
else:
    found = exact.STAGE.of(analysis) if method == "exact" else look.structure
    curves, spread = found.coverage(look.metric), look.structure.spread(look.metric)
    of_chains, chain_spread = look.structure.chains(look.metric)
if curves.empty:
    view.nothing(
        f"Exact covering numbers are for at most {exact.EXACT_LIMIT} factorizations; these runs "
        "have more. Choose greedy."
    )
spreads.warn(look, spread, chain_spread)
view.chart(
    persistence_plot(
        curves,
        styles_of_groups(analysis) if together else look.styles,
        distance.label,
        distance.unit,
        logarithmic,
        groups if together else None,
        "Persistence of the covering number" + ", poor fits left out" * bool(left_out),
        chains=of_chains if method == "greedy" else None,
    ),
    COVERED,
    name="persistence",
    origin=look.origin,
    table=look.named(pd.concat([curves, of_chains.assign(chain=of_chains["chain"] + 1)])),
)
spreads.show(look, spread, chain_spread)
st.caption(plain(f"{METHODS[method]} covering numbers at {structure.COVERAGE_POINTS} radii."))
if reports := mixing.STAGE.of(analysis):
    mixing_table.show(look, reports)
