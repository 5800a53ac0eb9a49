"""Samples: which observations belong together, and who changes group with the factorization?"""

from functools import partial

import streamlit as st

from bnmf_core.analysis.described import of_a_sample
from bnmf_core.compare.classes import class_labels
from bnmf_core.figures.samples import sample_strips
from bnmf_core.findings import verdicts
from pages.frame import focusing, guard, link, panel, view
from pages.parts import maps, observed
from pages.parts.answer import Answer
from pages.samples_parts import (
    applying,
    beside,
    by_class,
    changing,
    exposures,
    grouping,
    over_axis,
    over_time,
    plane,
    texts,
    usages,
)

guard.enter("samples")
look = panel.look()
dataset = look.analysis.seen_dataset
rows, names = look.shown(2, modes=verdicts.leading(Answer.of(look)))
with st.sidebar:
    labels = class_labels(dataset.labels)
    if labels:
        link.one_of("label", labels)
    if len(labels) > 1:
        st.selectbox("Classes", labels, key=link.key("label"))
if labels:
    link.share("label")
found = grouping.of(look, int(rows[0]))
classes = [str(each) for each in dataset.labels[link.get("label")]] if labels else None
called = look.notes.components(found.A)
with st.sidebar:
    bars = exposures.ask(dataset, found)
    chosen = focusing.ask_component(called)
    sample = focusing.ask_sample(dataset.observations)
view.chart(
    sample_strips(
        found.W,
        found.shares,
        bars.order,
        found.groups,
        dataset.observations,
        classes,
        called,
        chosen,
        sample,
        bars.amounts,
    ),
    f"{names[0]}. {bars.reading} {of_a_sample(look.analysis.dataset)}".rstrip(),
    name="samples",
    origin=look.origin,
    table=lambda: grouping.table(look, found, called),
    select=("points",),
    on_select=partial(focusing.sample_clicked, dataset.observations),
)
over_axis.show(look, found, called, chosen)
observed.in_focus(look, rows, names, sample)
if dataset.map_shape is not None:
    maps.show(look, rows, names, difference=False)
beside.typical(look, found, called)
left, right = st.columns(2)
with left:
    beside.changes(look, found, int(rows[0]), called)
changed = Answer.of(look).regrouped(int(rows[0]))
with right:
    compared = changing.ask(look, found, changed)
    beside.consensus(look, compared)
grouping.unsteady(look, compared, called)
changing.folds(look, found, changed, compared, called)
plane.show(look, found, classes, called, sample)
texts.show(look, found, called, chosen)
if classes is not None:
    by_class.show(look, int(rows[0]), called, link.get("label"))
    over_time.show(look, int(rows[0]), called, link.get("label"), chosen)
    usages.show(look, found, classes, chosen or 0, called)
applying.show(look, bars, called)
