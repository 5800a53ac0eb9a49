"""Every stage there is, one line each, in the order in which they are computed."""

from collections.abc import Callable, Sequence
from functools import partial

from bnmf_core.analysis import (
    basins,
    chains,
    conclusions,
    distances,
    downstream,
    evidence,
    exact,
    islands,
    likelihood_power,
    mixing,
    posterior,
    quality,
    resampling,
    stacking,
    stein,
    structure,
)
from bnmf_core.analysis.comparison import Comparison, write_about
from bnmf_core.analysis.stage import Cluster, Report, Stage, Stopped
from bnmf_core.core.errors import Cancelled
from bnmf_core.core.registry import Registry
from bnmf_core.numerics.threads import one_blas_thread

STAGES: Registry[Stage[object]] = Registry(
    "stage of an analysis",
    Stage,
    (
        distances.STAGE,
        basins.STAGE,
        structure.STAGE,
        chains.STAGE,
        islands.STAGE,
        exact.STAGE,
        mixing.STAGE,
        stein.STAGE,
        quality.STAGE,
        downstream.STAGE,
        conclusions.STAGE,
        evidence.STAGE,
        posterior.STAGE,
        likelihood_power.STAGE,
        resampling.STAGE,
        stacking.STAGE,
    ),
    "bnmf.stages",
)


def in_order(wanted: Sequence[str] | None = None) -> list[str]:
    """The keys of these stages (None: of all) with what they need, each after what it needs."""
    found: dict[str, None] = {}

    def add(key: str) -> None:
        for needed in STAGES[key].needs:
            add(needed.key)
        found[key] = None

    for key in STAGES if wanted is None else wanted:
        add(key)
    return list(found)


def complete(comparison: Comparison) -> bool:
    """Whether the results of every stage are stored."""
    return all(stage.stored(comparison) for stage in STAGES.values())


def missing(comparison: Comparison, wanted: Sequence[str] | None = None) -> list[Stage[object]]:
    """The stages among these (None: all) and their needs that are not stored, in order."""
    chosen = [STAGES[key] for key in in_order(wanted)]
    ready: set[str] = set()
    for stage in chosen:
        if ready.issuperset(need.key for need in stage.needs) and stage.stored(comparison):
            ready.add(stage.key)
    return [stage for stage in chosen if stage.key not in ready]


def repaired(comparison: Comparison) -> list[str]:
    """A sentence for each stored result that was damaged and has been computed again."""
    return [words for stage in STAGES.values() if (words := stage.repaired(comparison))]


def compute(
    comparison: Comparison,
    on_progress: Callable[[float, str], None],
    stopped: Stopped,
    wanted: Sequence[str] | None = None,
    cluster: Cluster | None = None,
) -> None:
    """Compute the missing ones of these stages (None: all), and of their needs.

    ``cluster`` : where parts of the work are made; None: in threads of this process. Stops
    between blocks of work when ``stopped()``; stored results stay.
    """
    todo = missing(comparison, wanted)
    total = sum(stage.weight for stage in todo)
    before = 0.0
    for stage in todo:
        if stage.ready(comparison):  # only what it needs was missing, and is there now
            continue

        def report(part: float, before: float = before, stage: Stage[object] = stage) -> None:
            on_progress((before + part * stage.weight) / total, stage.label)

        try:
            make(comparison, stage, report, stopped, cluster)
        except Cancelled:
            return
        before += stage.weight


def make(
    comparison: Comparison,
    stage: Stage[object],
    report: Report,
    stopped: Stopped,
    cluster: Cluster | None = None,
) -> None:
    """Compute one stage, whose needs are stored; ``cluster`` as of :func:`compute`.

    Raises
    ------
    Cancelled
        When ``stopped()`` returned True.
    """
    report(0.0)
    write_about(comparison)
    with one_blas_thread():
        if cluster is None or not stage.spread:
            stage.make(comparison, report, stopped)
        else:
            cluster.make(partial(stage.make, comparison, report, stopped))
