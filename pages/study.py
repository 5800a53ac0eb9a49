"""Study: replications of the published experiments, with the published numbers."""

import streamlit as st

from bnmf_core.compare.distances import DISTANCES
from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.figures.style import run_styles
from pages.frame import guard, link, view
from pages.frame.words import plain
from pages.study_parts import published, views
from studies.coverage.findings import QUANTITIES, beside
from studies.coverage.problems import COLUMNS

guard.enter("study")
if (chosen := published.chosen()) != published.COVERAGE:
    published.show(chosen)
    st.stop()
study, origin = views.choose()
sizes = {"6×6 and 7×9": "_small", "500×50": "_large"}
here = {
    words: [key for key in dict.fromkeys(p for p, _, _ in study.curves) if key.endswith(end)]
    for words, end in sizes.items()
}
here = {words: keys for words, keys in here.items() if keys}
size_of, problem_of, metric_of = st.columns(3)
size = size_of.segmented_control(
    "Size", list(here), default=next(iter(here)), required=True, format_func=plain
)
link.one_of("problem", here[size], here[size][-2])
problem = problem_of.selectbox(
    "Problem", here[size], key=link.key("problem"), format_func=lambda key: study.labels[key]
)
metric = metric_of.selectbox(
    "Distance", list(study.radii), format_func=lambda key: study.labels[key]
)
columns = [column for p, column, m in study.curves if p == problem and m == metric]
styles = run_styles([(key, COLUMNS[key].algorithm, study.labels[key]) for key in columns])
curves, groups = views.curves(study, problem, metric, columns)
view.chart(
    persistence_plot(
        curves,
        styles,
        DISTANCES[metric].label,
        DISTANCES[metric].unit,
        repetitions=groups,
        title=f"{study.labels[problem]}: persistence of the covering number",
        logarithmic_radius=True,
    ),
    "The number of balls of radius ε that cover 1,000 samples: mean and range of the repetitions. "
    "A sampler that falls to 1 before “All modes” does has visited one mode only.",
    name="study",
    origin=origin,
    table=curves,
)
known = [key for key in QUANTITIES if (study.values["quantity"] == key).any()]
link.one_of("quantity", known, "max_angle_largest")
quantity = st.selectbox(
    "Quantity", known, key=link.key("quantity"), format_func=lambda key: QUANTITIES[key][0]
)
title, where = QUANTITIES[quantity]
st.header(plain(title), anchor=False)
table = beside(study, quantity)
table = table[table["problem"].isin([study.labels[key] for key in here[size]])]
view.table(table, title)
where = f"; published: {where} of the paper." if where else "."
st.caption(
    plain(f"{origin}. Mean over the repetitions and, of two or more, quartiles in brackets{where}")
)
link.share("quantity", "problem")
views.notes(study)
with st.expander("What is compared"):
    st.markdown(
        "Six ways to explore small matrices whose exact factorizations are known: one, two, or "
        "infinitely many. The same matrices are embedded in 500×50. It is the comparison of "
        "“Measuring the quality of sampling in NMF”, beside its published numbers."
    )
