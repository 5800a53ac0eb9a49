"""Notebook representations: a small table, and a picture in SVG where one is cheap."""

from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from bnmf_core.core.dataset import Dataset
    from bnmf_core.core.particles import Particles

# Rows and columns of blocks that a matrix is drawn as, bars of a histogram, height of pictures.
BLOCKS, BARS, HEIGHT = (12, 24), 24, 96
# Maximum number of stored entries of a matrix that is drawn.
MOST_ENTRIES = 20_000_000


def of_dataset(dataset: "Dataset") -> str:
    """Size, unit, gaps and labels of data, and an image of block means of X."""
    noun = dataset.feature_noun
    entries = {
        "X": f"{dataset.D:,} {noun} × {dataset.all_N:,} observations",
        "in memory": f"a random sample of {dataset.N:,}" if dataset.whole else "",
        "unit": dataset.unit,
        "missing": f"{dataset.missing:,} entries" if dataset.missing else "",
        "not 0": f"{dataset.stored_entries:,} entries" if dataset.is_sparse else "",
        "labels": ", ".join(dataset.labels),
        "source": dataset.source,
    }
    small = dataset.stored_entries <= MOST_ENTRIES
    return table(dataset.name, entries, _matrix(dataset) if small else "")


def of_particles(particles: "Particles") -> str:
    """Origin and number of factorizations, and a histogram of their errors."""
    info, error = particles.info, np.asarray(particles.error)
    entries = {
        "factorizations": f"{particles.M:,} of {particles.R} components",
        "A, W": f"{particles.A.shape[1]:,} × {particles.R}, {particles.R} × "
        f"{particles.W.shape[2]:,}",
        "model": particles.spec.model,
        "data": info.get("dataset", ""),
    }
    if particles.M:
        entries["error"] = f"{error.min():.4g} to {error.max():.4g}, median {np.median(error):.4g}"
    if "converged" in particles.diagnostics:
        entries["converged"] = f"{int(np.sum(particles.diagnostics['converged'])):,}"
    title = info.get("algorithm_label", particles.spec.algorithm)
    differ = np.unique([f"{one:.4g}" for one in error]).size > 1
    return table(title, entries, _histogram(error) if differ else "")


def table(title: str, entries: Mapping[str, str], picture: str = "") -> str:
    """A titled table of two columns, all escaped, and a picture; entries of "" are left out."""
    rows = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(text)}</td></tr>"
        for name, text in entries.items()
        if text
    )
    return (
        "<div style='display:flex;gap:2em;align-items:center'>"
        f"<table><caption style='text-align:left'><b>{escape(title)}</b></caption>{rows}</table>"
        f"{picture}</div>"
    )


def _matrix(dataset: "Dataset") -> str:
    """Mean of the seen entries of X in blocks, the largest one black."""
    of_rows, of_columns = (
        np.arange(size) * min(most, size) // size
        for size, most in zip(dataset.X.shape, BLOCKS, strict=True)
    )
    rows, columns = (np.eye(of[-1] + 1)[of] for of in (of_rows, of_columns))
    seen = np.outer(rows.sum(0), columns.sum(0))
    if dataset.mask is not None:
        seen = np.maximum(rows.T @ dataset.mask @ columns, 1.0)
    means = np.asarray(rows.T @ (dataset.X @ columns)) / seen
    dark = means / max(float(means.max()), np.finfo(float).tiny)
    cells = "".join(
        f"<rect x='{x}' y='{y}' width='1' height='1' fill-opacity='{value:.2g}'/>"
        for (y, x), value in np.ndenumerate(dark)
        if value >= 0.005
    )
    title = "Means of blocks of X: features from top to bottom, observations from left to right"
    return _svg(dark.shape[1], dark.shape[0], title, cells)


def _histogram(values: np.ndarray) -> str:
    count, _ = np.histogram(values[np.isfinite(values)], BARS)
    bars = "".join(
        f"<rect x='{x}' y='{12 - 12 * n / count.max():.2f}' width='0.9' "
        f"height='{12 * n / count.max():.2f}'/>"
        for x, n in enumerate(count)
        if n
    )
    return _svg(BARS, 12, "Number of factorizations by error, the smallest on the left", bars)


def _svg(width: int, height: int, title: str, content: str) -> str:
    return (
        f"<svg viewBox='0 0 {width} {height}' width='{2 * HEIGHT}' height='{HEIGHT}' "
        f"preserveAspectRatio='none' fill='currentColor' role='img'><title>{title}</title>"
        f"{content}</svg>"
    )
