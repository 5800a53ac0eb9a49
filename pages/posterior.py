"""Posterior: which of these factorizations make it up, and with what probability?"""

from bnmf_core.analysis import stein
from bnmf_core.figures.stein_weights import weight_bars
from pages.frame import guard, panel, view
from pages.parts import kernel
from pages.posterior_parts import similarity, weighing

guard.enter("posterior")
look = panel.look(stein.STAGE)
form, part = kernel.ask(look)
kept = weighing.ask_kept(look)
weights = weighing.weights(part, kept)
weighing.numbers(look, part, kept, weights)
origin = weighing.origin(look, form, part, kept)
table = weighing.table(look, weights)
view.chart(
    weight_bars(table, look.styles),
    "The weights bring the particles as near to the posterior as their Stein discrepancy allows. "
    "Few and different ones with a weight each say more than many alike. Those without a weight "
    "add nothing that the others do not say already.",
    name="stein_weights",
    origin=origin,
    table=table,
)
weighing.focus_button(look, weights)
weighing.modes(look, weights, origin)
similarity.show(look, part, kept, origin)
weighing.threshold(look)
