"""Posterior: which of these factorizations come nearest to it together, by Stein discrepancy?"""

from bnmf_core.analysis import stein
from pages.frame import guard, panel
from pages.parts import kernel
from pages.posterior_parts import similarity, weighing

guard.enter("posterior")
look = panel.look(stein.STAGE)
form, part = kernel.ask(look)
kept = weighing.ask_kept(look)
weights = weighing.weights(part, kept)
weighing.numbers(look, part, kept, weights)
origin = weighing.origin(look, form, part, kept)
weighing.caveat()
if weighing.trusted(part, weights):
    weighing.bars(look, weights, origin)
    weighing.modes(look, weights, origin)
similarity.show(look, part, kept, origin)
weighing.threshold(look)
