"""Mutational signatures of 21 breast cancer genomes: their number and their shapes by the noise."""

import time
from dataclasses import dataclass

import numpy as np

from bnmf_core.compare.alignment import component_angles, largest_first, matching
from bnmf_core.core.dataset import Dataset
from bnmf_core.data.channels import channels
from bnmf_core.data.samples import load_sample
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.evidence.variation import variation
from bnmf_core.findings.ranks import recommend
from studies.counts.planted import RESTARTS, Row, of_study

MODELS = ("gaussian", "poisson", "negative_binomial")
DIGITS = 5


@dataclass(frozen=True)
class Signatures:
    """What decides the numbers of signatures.

    Attributes
    ----------
    most : largest rank, from 1. published : the number of signatures in the literature.
    modes : number of modes in the evidence.
    """

    most: int
    published: int
    modes: int
    seed: int


def genomes() -> Dataset:
    """Counts (96, 21): kinds of substitution by tumours."""
    return load_sample("signatures")


def measured(model: str, plan: Signatures) -> dict[str, object]:
    """``rows`` as of :func:`of_study`; ``A`` (96, R) and ``parts`` (R,) at the published rank.

    Columns of A sum to 1; ``parts`` of all counts are explained by each, in descending order.
    """
    data, began = genomes(), time.process_time()
    rng = np.random.default_rng(plan.seed)
    options = {"restarts": RESTARTS, "most_modes": plan.modes}
    study = rank_study(data, range(1, plan.most + 1), model=model, rng=rng, **options)
    found = recommend(study)
    rows: list[Row] = [("seconds", 0, time.process_time() - began), *of_study(study, found)]
    fit = variation(data)
    rows += [("variation", 0, fit.ratio), ("dispersion", 0, fit.dispersion)]
    A, W = study.best[plan.published]
    order = largest_first(A, W)
    size = (A.sum(axis=0) * W.sum(axis=1))[order]
    A = (A / A.sum(axis=0))[:, order]
    return {
        "rows": [list(row) for row in rows],
        "reason": found.reason,
        "A": [[float(f"{a:.{DIGITS}g}") for a in row] for row in A],
        "parts": [float(f"{part:.{DIGITS}g}") for part in size / size.sum()],
    }


def shapes(A: np.ndarray) -> dict[str, np.ndarray]:
    """Features (R,) of columns of A (96, R), which sum to 1, that distinguish signatures.

    ``cpg`` : share of C>T at NCG. ``tct`` and ``tcg`` : shares of C>T and of C>G at TCN.
    ``ct`` : share of C>T anywhere. ``kinds`` : the most frequent of the six substitutions.
    ``even`` : overlap with the uniform distribution, 1 at most.
    """
    found = channels(genomes().features).found
    mutations = [(channel.context, channel.substitution) for channel in found if channel]
    first, last = ("".join(context[i] for context, _ in mutations) for i in (0, 2))
    kind = np.array([substitution for _, substitution in mutations])
    before, behind = np.array(list(first)), np.array(list(last))
    chosen = {
        "cpg": (kind == "C>T") & (behind == "G"),
        "tct": (kind == "C>T") & (before == "T"),
        "tcg": (kind == "C>G") & (before == "T"),
        "ct": kind == "C>T",
    }
    shares = {key: A[where].sum(axis=0) for key, where in chosen.items()}
    names = np.unique(kind)
    of_kinds = np.array([A[kind == name].sum(axis=0) for name in names])
    shares["kinds"] = names[of_kinds.argmax(axis=0)]
    return shares | {"even": np.minimum(A, 1.0 / A.shape[0]).sum(axis=0)}


def turned(A: np.ndarray, reference_A: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The order of A's columns (R,) that belongs to the reference's, and the angles, degrees."""
    order = matching(A[None], reference_A)
    return order[0], component_angles(A[None], reference_A, order)[0]
