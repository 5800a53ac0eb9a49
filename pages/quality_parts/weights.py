"""Which of these factorizations come nearest to the posterior together, by Stein discrepancy."""

from bnmf_core.analysis import stein
from pages.frame import panel
from pages.parts import kernel
from pages.quality_parts import similarity, weighing


def show() -> None:
    """The discrepancy with equal and with Stein weights, with the panel beside it."""
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
