"""Samples whose group changes among weighty modes, settled draws and resamples.

The parts of the modes, of the draws within one mode and of the resamples with a sample in a group
are separate numbers and are not added.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.resampling import COUNTS, SAMPLES
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.samples import sample_groups, sample_shares
from bnmf_core.core.names import numbered
from bnmf_core.findings.components import COMPARED
from bnmf_core.findings.facts import Fact, fact, say
from bnmf_core.findings.spreads import DRAWS, MODES, counting
from bnmf_core.numerics.linalg import evenly_spaced

if TYPE_CHECKING:
    from bnmf_core.findings.answer import Answer

# Largest number of draws of a mode that are used.
MOST = 200


@dataclass(frozen=True, eq=False)
class Regrouped:
    """The groups of N samples in one factorization and in others.

    Components are numbered by mode 1.

    Attributes
    ----------
    mode : of the factorization, 0-based. groups : (N,) in it; −1 for none.
    others : "modes", "draws", "counts", "samples" → (m, N) groups by matched components; without
        unknown kinds, and empty for a mode without weight.
    modes : (K,) of the first kind, 0-based, its own first. shares : (K, N) largest share of each
        sample.
    """

    mode: int
    groups: np.ndarray
    others: dict[str, np.ndarray]
    modes: tuple[int, ...]
    shares: np.ndarray

    @property
    def agreed(self) -> dict[str, np.ndarray]:
        """By kind, (N,) part of the factorizations with the same group of a sample."""
        return {kind: (of == self.groups).mean(axis=0) for kind, of in self.others.items()}

    @cached_property
    def changing(self) -> np.ndarray:
        """Samples that are not always in one group, the least certain first.

        The certainty of a sample is the least agreement among the kinds.
        """
        if not self.others:
            return np.empty(0, dtype=int)
        least = np.min(list(self.agreed.values()), axis=0)
        order = np.argsort(least, kind="stable")
        return order[least[order] < 1]

    def facts(self, n: int, sample: str, called: Sequence[str], rank: int) -> Fact:
        """Groups of a sample in modes, draws and resamples; called : names of R components."""
        names = [f"component {name}" for name in numbered(called, rank)] + ["no component"]
        parts = [*self._in_modes(n, names), *self._in_others(n, names)]
        return fact("regrouped", sample=sample, parts="; ".join(map(say, parts)), said=parts)

    def _in_modes(self, n: int, names: list[str]) -> Iterator[Fact]:
        of = self.others.get(MODES, self.groups[None])[:, n]
        for group in dict.fromkeys(of.tolist()):
            held = np.flatnonzero(of == group)
            numbers = tuple(self.modes[k] + 1 for k in held)
            share = self.shares[held, n].min()
            key = "one" if held.size == 1 else "several"
            yield fact(f"in_modes.{key}", component=names[group], modes=numbers, share=float(share))

    def _in_others(self, n: int, names: list[str]) -> Iterator[Fact]:
        for kind, of in self.others.items():
            if kind != MODES:
                groups, counts = np.unique(of[:, n], return_counts=True)
                most = int(counts.argmax())
                part = float(counts[most] / counts.sum())
                values = {"part": part, "component": names[groups[most]], "mode": self.mode + 1}
                yield fact(f"said_by.{kind}", **values)

    def table(self, samples: Sequence[str], called: Sequence[str], rank: int) -> pd.DataFrame:
        """A row for each changing sample: its group, agreement and sentence."""
        names = [*numbered(called, rank), "none"]
        chosen = self.changing
        rows = {"sample": [samples[n] for n in chosen]}
        rows["group"] = [names[self.groups[n]] for n in chosen]
        agreed = {f"same group in {kind}": part[chosen] for kind, part in self.agreed.items()}
        sentences = [say(self.facts(int(n), samples[n], called, rank)) for n in chosen]
        return pd.DataFrame(rows | agreed | {"sentence": sentences})


def groups_of(comparison: Comparison, row: int, reference: np.ndarray) -> np.ndarray:
    """Groups (N,) of a member by components matched with the reference (D, R)."""
    return sample_groups(_shares(comparison, row, reference))


def _shares(comparison: Comparison, row: int, reference: np.ndarray) -> np.ndarray:
    A, W = comparison.factors([row])
    order = matching(A, reference)[0]
    return sample_shares(A[0][:, order], W[0][order])


def regrouped(answer: "Answer", row: int) -> Regrouped:
    """The groups in a member, in modes, draws and resamples."""
    comparison, labels = answer.comparison, answer.modes.labels
    mode, representative = int(labels[row]), answer.modes.representative
    A = comparison.aligned([int(representative[0]), row])[1]
    counts = counting(answer.table)[1]
    weighty = [int(k) for k in np.flatnonzero(counts) if k != mode][: COMPARED - 1]
    rows, modes = [row, *representative[weighty]], (mode, *weighty)
    shares = np.array([_shares(comparison, int(k), A) for k in rows])
    of_modes, largest = sample_groups(shares), shares.max(axis=1)
    if comparison.of_tiles or not counts[mode]:
        return Regrouped(mode, of_modes[0], {}, modes[:1], largest[:1])
    others = {MODES: of_modes} if weighty else {}
    verdicts = answer.verdicts
    settled = [] if verdicts is None else [v.run for v in verdicts.by_run.values() if v.settled]
    draws = np.flatnonzero(comparison.members["run"].isin(settled) & (labels == mode))
    if draws.size:
        sampled = draws[evenly_spaced(draws.size, MOST)]
        others[DRAWS] = np.array([groups_of(comparison, int(draw), A) for draw in sampled])
    found = answer.resampling
    if found is not None and found.row >= 0 and labels[found.row] == mode:
        # Renumber groups, which are stored by the components of a member.
        numbers = np.argsort(matching(comparison.bases([found.row]), A)[0])
        for kind in (COUNTS, SAMPLES):
            if len(found.groups.get(kind, ())):
                others[kind] = np.append(numbers, -1)[found.groups[kind]]
    return Regrouped(mode, of_modes[0], others, modes, largest)
