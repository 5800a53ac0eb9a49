"""Compare with an analysis of the same data under the other noise: Gaussian or counts."""

from collections.abc import Iterable

from bnmf_core.analysis import structure
from bnmf_core.analysis.basins import METRIC
from bnmf_core.analysis.comparison import Comparison, open_comparison
from bnmf_core.analysis.ranks import noise_of
from bnmf_core.core.errors import BNMFError
from bnmf_core.findings.facts import Fact, fact
from bnmf_core.likelihoods import MODELS
from bnmf_core.store.launches import Launch
from bnmf_core.store.run_store import RunStore


def of_modes(store: RunStore, comparison: Comparison) -> list[Fact]:
    """Both numbers of modes, if the newest analysis under the other noise found another number.

    It must have the same data, the same number of components and stored modes.
    """
    ours = _only_noise(run.spec.model for run in comparison.runs)
    if not any(ours):
        return []
    for launch in store.launches():
        same = (launch.dataset, launch.rank) == (comparison.runs[0].dataset, comparison.rank)
        if same and _only_noise(run.spec.model for run in launch.runs) == ours[::-1]:
            other = _found(store, launch)
            if other is not None:
                return _beside(comparison, other, gaussian=ours[0])
    return []


def _only_noise(models: Iterable[str]) -> tuple[bool, bool]:
    """Whether all have Gaussian noise, and whether all have noise of counts."""
    every = [noise_of(model) if model in MODELS else (False, False) for model in models]
    return all(sized for sized, _ in every), all(counts for _, counts in every)


def _found(store: RunStore, launch: Launch) -> Comparison | None:
    try:
        other = open_comparison(store, launch.shown)
    except BNMFError:  # removed or damaged
        return None
    return other if structure.STAGE.ready(other) and other.optima.any() else None


def _beside(comparison: Comparison, other: Comparison, gaussian: bool) -> list[Fact]:
    counts = [(MODELS[one.runs[0].spec.model].label, _modes(one)) for one in (comparison, other)]
    (first, right), (second, wrong) = counts[::-1] if gaussian else counts
    if right == wrong:
        return []
    return [fact("other_noise_modes", counts=first, right=right, gaussian=second, wrong=wrong)]


def _modes(comparison: Comparison) -> int:
    return structure.modes_at(comparison, METRIC).count
