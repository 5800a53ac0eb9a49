"""Study: the published experiments, made again and put beside the published numbers."""

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
st.markdown(
    "Small matrices whose exact factorizations are known (one, two, or infinitely many of them), "
    "the same embedded in 500×50, and six ways to explore them: the comparison of “Measuring "
    "the quality of sampling in NMF”, made again and put beside its published numbers."
)
study, origin = views.choose()
sizes = {"6×6 and 7×9": "_small", "500×50": "_large"}
here = {
    words: [key for key in dict.fromkeys(p for p, _, _ in study.curves) if key.endswith(end)]
    for words, end in sizes.items()
}
here = {words: keys for words, keys in here.items() if keys}
left, right = st.columns(2)
size = left.segmented_control(
    "Size", list(here), default=next(iter(here)), required=True, format_func=plain
)
known = [key for key in QUANTITIES if (study.values["quantity"] == key).any()]
link.one_of("quantity", known, "max_angle_largest")
quantity = right.selectbox(
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
st.header("Persistence", anchor=False)
left, right = st.columns(2)
link.one_of("problem", here[size], here[size][-2])
problem = left.selectbox(
    "Problem", here[size], key=link.key("problem"), format_func=lambda key: study.labels[key]
)
link.share("quantity", "problem")
metric = right.selectbox("Distance", list(study.radii), format_func=lambda key: study.labels[key])
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
    "How many balls of radius ε cover the first 1,000 samples: the mean over the repetitions and "
    "their range. Where “All modes” stays above 1 up to the distance between the modes and a "
    "sampler falls to 1 before, that sampler has seen one mode only.",
    name="study",
    origin=origin,
    table=curves,
)
views.notes(study)
