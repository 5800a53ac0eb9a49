"""Styles of the runs of a comparison, and the provenance of its numbers."""

from dataclasses import replace

from bnmf_core.analysis import chains
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.figures.style import RunStyle, run_styles, safe
from bnmf_core.registry import label_of
from bnmf_core.runs.launch import group_names, run_names


def styles_of(comparison: Comparison) -> dict[str, RunStyle]:
    """Colour and marker of every run, by its id; its label says where chains have not settled."""
    names, unsettled = run_names(comparison.runs), chains.unsettled_runs(comparison)
    labels = {
        key: f"{name}, not settled" if key in unsettled else name for key, name in names.items()
    }
    return run_styles([(run.id, run.spec.algorithm, labels[run.id]) for run in comparison.runs])


def styles_of_groups(comparison: Comparison) -> dict[str, RunStyle]:
    "As :func:`styles_of`, but the first run of each group of repetitions has the group's name."
    groups = comparison.repetitions()
    names = group_names(comparison.runs, groups, counted=False)
    return {
        run_id: replace(style, label=safe(names[run_id])) if run_id in names else style
        for run_id, style in styles_of(comparison).items()
    }


def origin_of(comparison: Comparison, data: str = "") -> str:
    """The provenance of the numbers: data, rank, runs, seeds, status.

    ``data`` : shown name of the dataset, by default its own.
    """
    names = run_names(comparison.runs)
    parts = [f"{data or comparison.dataset.name}, rank {comparison.rank}"]
    for run in comparison.runs:
        made = "" if run.status == "complete" else f", {run.status} after {run.done}"
        seed = f"seed {run.spec.seed}"
        # A name that tells runs apart has the seed already.
        seed = "" if f", {seed}," in f"{names[run.id]}," else seed
        details = f"{seed}{made}".removeprefix(", ")
        parts.append(f"{names[run.id]} ({details})" if details else names[run.id])
    for run, particles in zip(comparison.runs, comparison.particles, strict=True):
        if failed := particles.info.get("failed_chains"):
            several = f"{len(failed)} chains of " if len(failed) > 1 else ""
            parts.append(f"{several}{names[run.id]} ended early")
        if damage := particles.info.get("damage"):
            parts.append(f"{names[run.id]}: {damage}")
    parts += [f"{label_of(key)} makes no draws" for key in comparison.caveats]
    shown = len(comparison.members)
    total = sum(particles.M for particles in comparison.particles)
    if shown < total:
        parts.append(f"{shown} of {total:,} factorizations, evenly spaced")
    degenerate = int(comparison.members["degenerate"].sum())
    if degenerate:
        parts.append(f"{degenerate} with an empty component (counted as 90° away)")
    return " · ".join(parts)
