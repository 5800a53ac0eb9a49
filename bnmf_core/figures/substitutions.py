"""Single-base substitutions in their context, in the order and the colours of the field.

Mutational signatures are read by these six classes: whoever knows them finds a signature by where
its bars stand and by their colour, so a figure of such data has both.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bnmf_core.data.channels import CHANNELS, channels
from bnmf_core.figures.style import safe

# The field's colours, each a little off where it would vanish on a light or a dark ground: its
# black is grey, its pale pink and its pale grey are stronger.
SUBSTITUTIONS = {
    "C>A": "#03A4D1",
    "C>G": "#5F6972",
    "C>T": "#E32926",
    "T>A": "#9C9C9C",
    "T>C": "#83B53A",
    "T>G": "#D99A97",
}
# Pixels that the name of a class takes, and its letters.
NAME, LETTERS = 22, 9


@dataclass(frozen=True)
class Block:
    """A class of substitutions: where its features stand once they are in order."""

    name: str
    first: int
    end: int

    @property
    def color(self) -> str:
        """As the field draws it."""
        return SUBSTITUTIONS[self.name]

    @property
    def middle(self) -> float:
        """The middle of its places, of which the first is 0."""
        return (self.first + self.end - 1) / 2


@dataclass(frozen=True, eq=False)
class Substitutions:
    """Features from left to right: ``order`` (D,) of them, and a block for each class found."""

    order: np.ndarray
    blocks: tuple[Block, ...]

    @property
    def colors(self) -> list[str]:
        """(D,) in order."""
        return [block.color for block in self.blocks for _ in range(block.first, block.end)]

    def fit(self, pixels: float) -> bool:
        """Whether the names of classes stand beside each other above bars of this width."""
        least = min(block.end - block.first for block in self.blocks)
        return pixels * least / self.order.size >= NAME

    def names_above(self, left: float, step: float, **place: object) -> list[dict[str, object]]:
        """Notes with the class above each block.

        ``left`` : the middle of the first bar, and ``step`` to the next. ``place`` : of the notes.
        """
        look = {"showarrow": False, "font": {"size": LETTERS}, "xanchor": "center"}
        return [
            {"text": safe(block.name), "x": left + step * block.middle, **look, **place}
            for block in self.blocks
        ]

    def key(self, in_line: int = len(SUBSTITUTIONS)) -> str:
        """The classes from left to right beside their colours, so many in a line."""
        entries = [
            f'<span style="color:{block.color}">■</span> {safe(block.name)}'
            for block in self.blocks
        ]
        starts = range(0, len(entries), in_line)
        return "<br>".join(" ".join(entries[start : start + in_line]) for start in starts)


def substitutions(features: Sequence[str]) -> Substitutions | None:
    """How features are ordered by substitution and context; None where any is something else.

    Spellings are those of :func:`bnmf_core.data.channels.channel`.

    >>> substitutions(["A[T>G]C", "C>A A.A"]).order.tolist()
    [1, 0]
    >>> substitutions(["A[T>G]C", "TP53"]) is None
    True
    """
    if not 0 < len(features) <= len(CHANNELS):
        return None
    found = channels(features)
    if found.unmatched:
        return None
    order = np.array(found.drawn_order, dtype=int)
    names = [one.substitution for d in order if (one := found.found[d]) is not None]
    blocks = [
        Block(name, names.index(name), names.index(name) + names.count(name))
        for name in dict.fromkeys(names)
    ]
    return Substitutions(order, tuple(blocks))
