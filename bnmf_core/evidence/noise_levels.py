"""The noise that a rank study assumes at each rank, and the sentence that describes it."""

from collections.abc import Mapping
from typing import Any

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import in_digits
from bnmf_core.core.problem import Problem
from bnmf_core.data.kinds import Kind, numbers_of
from bnmf_core.evidence.noise import most_probable_noise, residual_noise
from bnmf_core.evidence.parts import Work
from bnmf_core.evidence.restarts import Restarts
from bnmf_core.samplers import sources


def noise_levels(
    problems: Mapping[int, Problem],
    found: Mapping[int, Restarts],
    noise: str,
    sigma: float | None,
    work: Work,
) -> dict[str, Any]:
    """``sigma`` of every rank, and ``told``: the sentence that describes its source."""
    if noise == "free":
        generators = work.rng.spawn(len(problems))
        arguments = []
        for (rank, problem), generator in zip(problems.items(), generators, strict=True):
            best = found[rank].best
            A, W = found[rank].A[best], found[rank].W[best]
            arguments.append((problem, A, W, float(found[rank].f[best]), generator))
        sentence = (
            "σ is free: at every rank the one at which the evidence of its best fit is largest. "
            "Noise that is not alike in all entries can then pass for components."
        ) + _of_counts(problems[max(problems)].dataset)
        return {"sigma": work.make(1.0, most_probable_noise, arguments), "told": sentence}
    largest = max(problems)
    level = residual_noise(problems[largest], found[largest]) if sigma is None else sigma
    source = (
        "as given"
        if sigma is not None
        else f"from the residual of rank {largest}, while a run takes σ from its own rank"
    )
    sentence = f"σ is {level:.4g} at every rank, {source}."
    sentence += _of_counts(problems[largest].dataset)
    return {"sigma": [level] * len(problems), "told": sentence}


def own_noise(problems: Mapping[int, Problem]) -> str:
    """Sentence on the size of the noise of a model without σ."""
    priors = {
        rank: sources.of(one).dispersion for rank, one in problems.items() if sources.serve(one)
    }
    fits = [f"{in_digits(prior.median)} at rank {rank}" for rank, prior in priors.items() if prior]
    if not fits:
        return "The size of the noise follows from the mean."
    size = "The variance of a count with the mean y is y + y²/k; k is expected around that of a fit"
    return f"{size}: {', '.join(fits)}."


def _of_counts(dataset: Dataset) -> str:
    """A warning where X holds counts, whose noise is not alike in all entries."""
    if numbers_of(dataset).kind is not Kind.COUNTS:
        return ""
    return " X holds counts: their noise grows with their mean, and Gaussian noise does not."
