"""Weights that bring the factorizations nearest to the posterior by Stein discrepancy."""

from bnmf_core.analysis import stein
from pages.frame import panel
from pages.parts import kernel
from pages.quality_parts import similarity, weighing


def show() -> None:
    """The discrepancy with equal and with Stein weights."""
    look = panel.look(stein.STAGE)
    form, part = kernel.ask(look)
    mask = weighing.ask_members(look)
    weights = weighing.weights(part, mask)
    weighing.numbers(look, part, mask, weights)
    origin = weighing.origin(look, form, part, mask)
    weighing.caveat()
    if weighing.trusted(part, weights):
        weighing.bars(look, weights, origin)
        weighing.modes(look, weights, origin)
    similarity.show(look, part, mask, origin)
    weighing.threshold(look)
