"""Components: what are they, which are determined, and where do factorizations differ?"""

import streamlit as st

from bnmf_core.findings import verdicts
from pages.components_parts import (
    catalogue,
    gene_lists,
    grid,
    profiles,
    regions,
    spectra,
    stability,
    topic,
    words,
)
from pages.frame import focusing, guard, panel
from pages.frame.words import plain
from pages.parts import bases, by_hand, maps, naming, observed
from pages.parts.answer import Answer

guard.enter("components")
look = panel.look()
dataset = look.analysis.dataset
with st.sidebar:
    most = int(st.number_input("Factorizations shown", 2, 12, 4, key="components_count"))
    by_run = len(look.styles) > 1 and st.toggle(
        "Run by run",
        key="components_by_run",
        help="Number of factorizations of each run: its representative, then those that differ "
        "most. A run that shows the same components again and again visited one mode only.",
    )
    difference = st.toggle(
        "Differences",
        key="components_difference",
        help="Each factorization minus the first one shown.",
    )
    options = words.ask(dataset)
    place = st.container()
found = Answer.of(look)
rows, names = (
    look.shown_of_each(most) if by_run else look.shown(most, modes=verdicts.leading(found))
)
called = look.notes.components(look.aligned(rows[:1])[0])
with place:
    chosen = focusing.ask_component(called)
    sample = focusing.ask_sample(look.analysis.seen_dataset.observations)
grid.show(look, found, rows, names, by_run, options.relevance, chosen)
observed.in_focus(look, rows, names, sample)
if not look.focus.all() or by_run:
    st.caption(
        f"In focus: {plain(look.focus_name)}. The most typical factorization comes first, then "
        "those that differ most."
    )
elif look.modes.count > len(rows):
    st.caption(
        f"{len(rows):d} of {look.modes.count:d} modes, those with posterior mass first. "
        "Factorizations shown, on the left, adds more."
    )
maps.show(look, rows, names, difference)
if dataset.axis is not None:
    spectra.show(look, rows, names, chosen)
    bases.notes(look, rows, look.aligned(rows[:1])[0])
elif dataset.image_shape is None:
    words.show(look, rows, names, options)
    bases.show(look, rows, names, "bases", difference, found.posterior)
    words.key_terms_of(look, rows, options)
    topic.show(look, rows, names, options, chosen)
elif difference:
    bases.show(look, rows, names, "bases", difference)
else:
    bases.notes(look, rows, look.aligned(rows[:1])[0])
profiles.show(look, int(rows[0]), names[0])
stability.show(look, found, rows[0], names[0])
regions.show(look, rows, names)
catalogue.show(look, rows, names)
gene_lists.show(look, rows, names, options.relevance)
naming.show(look)
by_hand.show(look, rows, names)
