"""Coverage: which method saw more of the posterior?"""

import pandas as pd
import streamlit as st

from bnmf_core.analysis import exact, mixing, structure
from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.share.naming import styles_of_groups
from bnmf_core.share.pictures import COVERED
from pages.coverage_parts import poor_fits
from pages.frame import guard, panel, view
from pages.frame.words import plain, shown, with_unit
from pages.parts import growing, mixing_table

guard.enter("coverage")
look = panel.look(mixing.STAGE, exact.STAGE, meanwhile=growing.show)
analysis, distance = look.analysis, look.distance
methods = {"greedy": "Greedy", "exact": "Exact"}
groups = analysis.repetitions()
repeated = any(len(ids) > 1 for ids in groups.values())
with st.sidebar:
    kept, left_out = poor_fits.ask(look)
    method = st.segmented_control(
        "Covering numbers",
        list(methods),
        default="greedy",
        required=True,
        format_func=shown(methods),
        key="coverage_method",
        help="Greedy never needs fewer balls than exact, and at most a factor of 1 + ln(n) more. "
        "Exact is offered for runs of up to 60 factorizations.",
        disabled=bool(left_out),
    )
    logarithmic = st.toggle("Logarithmic counts", True, key="coverage_log")
    together = repeated and st.toggle(
        "Repetitions together",
        True,
        key="coverage_together",
        help="Runs that differ in nothing but the seed: their mean, and the range between them.",
    )
if left_out:
    method = "greedy"
    curves, spread, (of_chains, chain_spread) = structure.coverage_of(analysis, look.metric, kept)
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
for run in structure.pooled_only(spread, chain_spread).itertuples():
    pooled, single = (f"{far:.3g}{distance.unit_behind}" for far in (run.largest, run.widest))
    st.warning(
        plain(
            f"{look.run_names[run.run]} has not mixed: its {run.chains} chains together span "
            f"{pooled}, no single chain more than {single}."
        )
    )
title = "Persistence of the covering number" + (", poor fits left out" if left_out else "")
view.chart(
    persistence_plot(
        curves,
        styles_of_groups(analysis) if together else look.styles,
        distance.label,
        distance.unit,
        logarithmic,
        groups if together else None,
        title,
        chains=of_chains if method == "greedy" else None,
    ),
    COVERED,
    name="persistence",
    origin=look.origin,
    table=look.named(pd.concat([curves, of_chains.assign(chain=of_chains["chain"] + 1)])),
)
st.header("Spread of each run", anchor=False)
numbers = st.column_config.NumberColumn
columns_shown = {
    "largest": numbers(with_unit("largest distance", distance.unit), format="%.4g"),
    "mean": numbers(
        with_unit("mean pairwise distance, itself included", distance.unit),
        format="%.4g",
        help="Over all ordered pairs, a factorization with itself included, as published; Fit and "
        "weights has the mean distance to the others.",
    ),
    "members": numbers("factorizations compared"),
    "widest": numbers(with_unit("largest distance within one chain", distance.unit), format="%.4g"),
}
widest = chain_spread.groupby("run")["largest"].max()
shown_spread = look.named(spread.assign(widest=spread["run"].map(widest)))
if widest.empty:
    shown_spread = shown_spread.drop(columns="widest")
shown_spread = shown_spread.style.format(
    {"largest": "{:.4g}", "mean": "{:.4g}", "widest": "{:.4g}"}, na_rep="–"
)
view.table(shown_spread, "Spread of each run", column_config=columns_shown)
st.caption(plain(f"{methods[method]} covering numbers at {structure.COVERAGE_POINTS} radii."))
if spread["members"].nunique() > 1:
    st.warning("The runs have different numbers of factorizations; more of them cover more.")
if reports := mixing.STAGE.of(analysis):
    mixing_table.show(look, reports)
