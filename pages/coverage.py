"""Coverage: which method saw more of the posterior?"""

import streamlit as st

from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.runs.analysis import COVERAGE_POINTS, EXACT_LIMIT
from pages.common import guard, lens
from pages.common.services import algorithm_label
from pages.common.view import chart, header

guard.enter("coverage")
header("Coverage", "Which method saw more different factorizations?")
look = lens.look()
analysis, distance = look.analysis, look.distance
left, right = st.columns(2, vertical_alignment="bottom")
methods = {"greedy": "Greedy", "exact": "Exact"}
method = left.segmented_control(
    "Covering numbers", list(methods), default="greedy", required=True, format_func=methods.get,
    key="coverage_method", help="Greedy never needs fewer balls than exact, and at most a factor "
    "of 1 + ln(n) more. Exact is offered for runs of up to 60 factorizations.",
    disabled=not analysis.ready("exact"),
)  # fmt: skip
logarithmic = right.toggle("Logarithmic counts", True, key="coverage_log")
curves = analysis.coverage(look.metric, method)
if curves.empty:
    st.info(
        f"Exact covering numbers are for at most {EXACT_LIMIT} factorizations; these runs have "
        "more. Choose greedy."
    )
    st.stop()
chart(
    persistence_plot(curves, look.styles, distance.label, distance.unit, logarithmic),
    "How many balls of radius ε are needed to cover all factorizations of a run. A curve that "
    "stays high to the right has seen very different ones; one that falls to 1 at once has not.",
    name="persistence", origin=look.origin, table=curves,
)  # fmt: skip
st.subheader("Spread of each run", anchor=False)
spread = analysis.spread(look.metric)
names = {run.id: algorithm_label(run.spec.algorithm) for run in analysis.runs}
spread.insert(1, "algorithm", [names[run] for run in spread["run"]])
st.dataframe(
    spread, hide_index=True,
    column_config={
        "largest": st.column_config.NumberColumn(
            f"largest distance ({distance.unit})", format="%.4g"
        ),
        "mean": st.column_config.NumberColumn(
            f"mean distance ({distance.unit})", format="%.4g",
            help="Over all ordered pairs, a factorization with itself included.",
        ),
        "members": st.column_config.NumberColumn("factorizations compared"),
    },
)  # fmt: skip
st.caption(f"{look.origin} · {method} covering numbers, {COVERAGE_POINTS} radii")
if analysis.members.groupby("run").size().nunique() > 1:
    st.warning("The runs have different numbers of factorizations; more of them cover more.")
