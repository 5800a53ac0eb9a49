"""Posterior: which of these factorizations make it up, and with what probability?"""

from bnmf_core.figures.stein_weights import weight_bars
from pages.frame import guard, lens
from pages.frame.view import chart, header
from pages.parts import kernel_view, posterior_view

guard.enter("posterior")
header(
    "Posterior",
    "Which of these factorizations make up the posterior, and with what probability?",
)
look = lens.look("stein")
form, part = kernel_view.ask_kernel(look)
kept = posterior_view.ask_kept(look)
weights = posterior_view.weights(part, kept)
posterior_view.numbers(look, part, kept, weights)
origin = posterior_view.origin(look, form, part, kept)
table = posterior_view.table(look, weights)
chart(
    weight_bars(table, look.styles),
    "The weights bring the particles as near to the posterior as their Stein discrepancy allows. "
    "Few and different ones with a weight each say more than many alike. Those without a weight "
    "add nothing that the others do not say already.",
    name="stein_weights", origin=origin, table=table,
)  # fmt: skip
posterior_view.focus_button(look, weights)
posterior_view.modes(look, weights, origin)
kernel_view.similarity(look, part, kept, origin)
posterior_view.threshold(look)
