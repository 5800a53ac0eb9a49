"""Fit new samples by the components of stored factorizations, in the background."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from bnmf_core.analysis.by_hand import Exploration
from bnmf_core.compare.alignment import matching
from bnmf_core.compare.new_samples import NewSamples, apply_components, features_used
from bnmf_core.compare.samples import sample_shares
from bnmf_core.core.dataset import Dataset


@dataclass(frozen=True, eq=False)
class AppliedExploration(Exploration):
    """Fit new samples by the components of several factorizations, one part for each.

    See :func:`apply_components`. ``rows`` : of the members. ``row`` : the first of them.
    """

    label = "Fitting new samples"
    doing = "Fitting the weights, and the analysed samples without themselves"

    rows: tuple[int, ...]
    new: Dataset
    leave_out: bool = False

    @property
    def options(self) -> dict[str, Any]:
        """The other factorizations, the samples, and whether features are left out."""
        members = self.comparison.members.iloc[list(self.rows)]
        each = zip(members["run"].tolist(), members["particle"].tolist(), strict=True)
        return {"of": list(each), "new": self.new.hash, "leave_out": self.leave_out}

    @property
    def parts(self) -> list[range]:
        """The factorizations, one by one."""
        return [range(k, k + 1) for k in range(len(self.rows))]

    def part(
        self, numbers: range, report: Callable[[float], None], stopped: Callable[[], bool]
    ) -> dict[str, np.ndarray]:
        """Weights by the components of one factorization, and the misfits."""
        at = self.comparison
        A = at.aligned([self.rows[numbers.start]])
        found = apply_components(
            A, at.seen_dataset, self.new, at.fit.loss, leave_out=self.leave_out
        )
        return {"A": A, "W": found.W, "misfit": found.misfit, "usual": found.usual}

    def check(self) -> None:
        """Check the request before anything is computed.

        Raises
        ------
        DataError
            As :func:`apply_components` does.
        """
        features_used(self.comparison.dataset, self.new, self.leave_out)

    def found(self, A: np.ndarray) -> NewSamples | None:
        """The complete result, components in the order of A (K, D, R); None until all is stored."""
        if not self.ready():
            return None
        every = self.pieces()
        order = [matching(piece["A"], basis)[0] for piece, basis in zip(every, A, strict=True)]
        W = np.stack([piece["W"][0, own] for piece, own in zip(every, order, strict=True)])
        misfit, usual = (
            np.concatenate([piece[name] for piece in every]) for name in ("misfit", "usual")
        )
        sentence = features_used(self.comparison.dataset, self.new, self.leave_out)[1].summary
        measure = self.comparison.fit.loss.measure
        return NewSamples(W, sample_shares(A, W), misfit, usual, measure, sentence)
