"""Downstream: does the choice of factorization change my conclusion?"""

import streamlit as st

from bnmf_core.analysis import conclusions, downstream, posterior
from bnmf_core.compare.conclusions import MATTERS
from bnmf_core.figures.downstream import MOST_FOLLOWED, auc_plot
from bnmf_core.findings.labels import sentences as labels_said
from pages.downstream_parts import by_class, classes
from pages.frame import focusing, guard, link, panel, view
from pages.frame.words import plain
from pages.parts.answer import Answer

guard.enter("downstream")
look = panel.look(downstream.STAGE, conclusions.STAGE)
analysis = look.analysis
found = downstream.STAGE.of(analysis)
scores = found.table
if scores.empty:
    view.nothing(
        "No label can be scored: at least two of its classes need five members each."
        if analysis.dataset.labels
        else "These data have no labels. A column of words in a CSV file becomes a label.",
        "data",
    )
labels = list(dict.fromkeys(scores["label"]))
link.one_of("label", labels)
if len(labels) > 1:
    st.segmented_control("Label", labels, key=link.key("label"), required=True, format_func=plain)
link.share("label")
of_label = classes.of(analysis.cache_key, link.get("label"), found)
chosen, spread = of_label.scores, of_label.spread
followed = " Dotted lines connect the scores of the same factorization." * (
    1 < len(spread) <= MOST_FOLLOWED
)
explained = conclusions.STAGE.of(analysis)
sentences = labels_said(explained, Answer.of(look).weighty)
st.markdown("  \n".join(f"**{plain(sentence)}**" for sentence, *_ in sentences))
mixture = posterior.STAGE.perhaps(analysis)
mixed = None if mixture is None else mixture.scores_of(link.get("label"))
view.chart(
    auc_plot(chosen, analysis.members, look.styles, look.focus, mixed),
    "Each point scores the weights of one factorization on observations whose label was not "
    f"shown. Stars mark the best of each class.{followed}",
    name="auc",
    origin=look.origin,
    table=chosen,
    select=view.MARKS,
    on_select=focusing.selected(look.modes),
)
if explained.table is not None and (explained.table["verdict"] == MATTERS).any():
    st.metric(
        "Winners that suffice",
        f"{of_label.suffice:d} for {len(of_label.best):d} classes",
        help="The smallest number of factorizations that contains one of the best for every "
        "class; 1 if a single one is the best, or as good as the best, for all classes.",
    )
if mixture is not None and mixed is None and mixture.reason:
    st.caption(plain(f"The posterior's AUC is not shown. {mixture.reason}"))
by_class.show(look, of_label, mixed)
with st.expander("What this rests on"):
    classes.rests_on(analysis.holdout, of_label, [" ".join(details) for _, *details in sentences])
    if left_out := found.left_out.get(link.get("label")):
        st.markdown(f"- Too few members to score: {plain(', '.join(left_out))}.")
