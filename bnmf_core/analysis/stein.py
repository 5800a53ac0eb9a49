"""Stein kernels of all members under one model, and their weights."""

import math
from dataclasses import dataclass, fields
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bnmf_core import registry
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.core.errors import BNMFError, RunError, raise_if_cancelled
from bnmf_core.core.particles import Particles
from bnmf_core.posterior import stein
from bnmf_core.posterior.places import problem_of
from bnmf_core.posterior.weights import SOLVERS, kkt_residual, stein_weights
from bnmf_core.store import files

FORMS = {
    "interior": "in log coordinates",
    "paper": "in A and W as they are",
}
LENGTHS = {
    "suggested": "median distances",
    "published": "published (0.01 for A, 1000 for W)",
}

# Weights are meaningless from this multiple of the discrepancy of one stationary particle on.
MANY = math.sqrt(10.0)


class SteinPart(NamedTuple):
    """Kernels of the members under one form and one choice of length scales.

    K : (m, m) Stein kernel. similarity : (2, m, m) base kernels of A and of W.
    weights : (m,) of all members; solver : which found them.
    lengths : c of A and of W. sentence : whether they tell the members apart.
    at_rest : wᵀKw of a single factorization where the density has no slope.
    """

    K: np.ndarray
    similarity: np.ndarray
    weights: np.ndarray
    solver: str
    lengths: tuple[float, float]
    sentence: str
    at_rest: float

    def discrepancy(self, weights: np.ndarray) -> float:
        """The kernel Stein discrepancy √(wᵀKw) of weights (m,) of the members."""
        return math.sqrt(max(stein.ksd(self.K, weights), 0.0))

    def too_far(self, weights: np.ndarray) -> str:
        """Warning that the best weights (m,) mean nothing; "" where they may."""
        discrepancy, alone = self.discrepancy(weights), math.sqrt(self.at_rest)
        if discrepancy <= MANY * alone:
            return ""
        return (
            f"Even the best weights leave a Stein discrepancy of {discrepancy:.3g}. One "
            "factorization where the density has no slope would have "
            f"{alone:.2g}. Together, these factorizations do not represent the "
            "posterior, and the weights do not say how probable they are. The posterior mass on "
            "Overview does."
        )


@dataclass(frozen=True)
class SteinKernels:
    """The stored products of kernels of every form.

    problems : form → the sentence that says why there are none.
    objective : f of every member where the model has a threshold on it, else None.
    """

    folder: Path
    problems: dict[str, str]
    objective: list[float] | None

    def part(self, form: str, choice: str | tuple[float, float]) -> SteinPart | str:
        """The kernels of one form, or the sentence that says why there are none.

        ``choice`` is a key of ``LENGTHS``, or c of A and of W: any lengths, from the same products.

        Raises
        ------
        SettingsError
            When a length is not a finite number above 0.
        """
        if form in self.problems:
            return self.problems[form]
        stored = files.read_arrays(self.folder / f"{form}.npz")
        names = [field.name for field in fields(stein.Products)]
        found = stein.Products(**{name: stored[name] for name in names})
        lengths = _lengths(found, choice)
        stein.check_lengths(*lengths)
        K = found.kernel(*lengths)
        if isinstance(choice, str):
            weights, solver = stored[f"weights_{choice}"], str(stored[f"solver_{choice}"])
        else:
            weights, solver = weigh(K)
        similarity, sentence = found.similarities(*lengths), found.sentence(*lengths)
        at_rest = found.at_rest(*lengths)
        return SteinPart(K, similarity, weights, solver, lengths, sentence, at_rest)


def members_of(comparison: Comparison) -> Particles:
    """All members under the first run's model, at the scale that it demands; same AW."""
    rows = np.arange(len(comparison.members))
    first = comparison.particles[0]
    A, W = registry.model(first.spec.model).scale(*comparison.factors(rows))
    table = comparison.members
    return Particles(
        A,
        W,
        ids=rows,
        chain=table["chain"].to_numpy(),
        draw=table["draw"].to_numpy(),
        weights=np.full(rows.size, 1 / rows.size),
        log_joint=table["log_joint"].to_numpy(),
        error=table["error"].to_numpy(),
        seconds=table["seconds"].to_numpy(),
        spec=first.spec,
        info=first.info,
    )


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store what kernels of every form are made of, weights, and what cannot be had."""
    members = members_of(comparison)
    problems: dict[str, str] = {}
    for i, form in enumerate(FORMS):
        raise_if_cancelled(stopped, "the Stein kernels")
        try:
            found = stein.products(members, comparison.dataset, form)
            arrays = dict(vars(found))
            for choice in LENGTHS:
                weights, solver = weigh(found.kernel(*_lengths(found, choice)))
                arrays |= {f"weights_{choice}": weights, f"solver_{choice}": np.array(solver)}
            files.write_arrays(folder / f"{form}.npz", arrays)
        except BNMFError as error:
            problems[form] = str(error)
        report((i + 1) / len(FORMS))
    threshold, objective = registry.model(members.spec.model).threshold, None
    if threshold is not None:
        problem = problem_of(members, comparison.dataset)
        objective = threshold.values(problem, members.A, members.W).tolist()
    result = {"problems": problems, "objective": objective}
    files.write_json(folder / "stein.json", result)


def _lengths(found: stein.Products, choice: str | tuple[float, float]) -> tuple[float, float]:
    if not isinstance(choice, str):
        return choice
    return found.median_lengths() if choice == "suggested" else (stein.LENGTH_A, stein.LENGTH_W)


def weigh(K: np.ndarray, first: str = "HIGHS") -> tuple[np.ndarray, str]:
    """Stein weights (m,) and the solver that found them: the first one, or else another.

    Raises
    ------
    BNMFError
        When none finds an answer.
    """
    others = [solver for solver in SOLVERS if solver != first]
    for solver in (first, *others[:-1]):
        try:
            return stein_weights(K, solver), solver
        except RunError:
            continue
    return stein_weights(K, others[-1]), others[-1]


def residual(K: np.ndarray, weights: np.ndarray) -> float:
    """How far weights (m,) are from the conditions of an optimum, 0 there."""
    return kkt_residual(K, weights)


def read(comparison: Comparison, folder: Path) -> SteinKernels:
    """The stored kernels."""
    return SteinKernels(folder, **files.read_json(folder / "stein.json"))


STAGE = Stage(
    key="stein",
    label="Weighing factorizations by their Stein discrepancy",
    needs=(),
    version=1,
    compute=compute,
    read=read,
    weight=0.5,
)
