"""A report of the findings: one HTML file with its pictures, which asks nothing of any host."""

from html import escape
from pathlib import Path

import numpy as np
import plotly.graph_objects as go

from bnmf_core.analysis import structure
from bnmf_core.analysis.findings import Answer
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.figures.belief import belief_chart
from bnmf_core.figures.discovery import discovery_curve
from bnmf_core.figures.factorization_map import factorization_map
from bnmf_core.figures.gallery import MOST_BARS, basis_bars, basis_heatmap, basis_images
from bnmf_core.figures.mode_count import mode_count
from bnmf_core.figures.style import run_styles
from bnmf_core.nouns.errors import StoreError
from bnmf_core.registry import label_of
from bnmf_core.runs.launch import in_words
from bnmf_core.store import files

# Modes whose components are drawn.
MODES = 4
ON_MAP = "One point for each factorization; near points are alike. Numbers stand at modes."
OF_MODES = "Components of the largest modes beside each other, in the order of the first."
COUNTED = (
    "How many modes there are at each threshold; a long flat step does not hang on the threshold."
)
DISCOVERED = "A curve that has become flat says that more restarts hardly find anything new."
BELIEVED = (
    "The posterior mass of modes, by how far the noise model is believed; a mode that wins "
    "everywhere does not hang on it."
)
STYLE = "body{font:16px/1.5 sans-serif;max-width:960px;margin:2rem auto;color:#1B2430}"


def write(path: Path, answer: Answer) -> None:
    """Put the report there, in full or not at all.

    Raises
    ------
    StoreError
        When the file cannot be written.
    """
    comparison = answer.comparison
    name = f"{comparison.dataset.name}, rank {comparison.rank}"
    said = "".join(
        f"<li><b>{escape(finding.said)}</b> {escape(finding.doubt)}</li>"
        for finding in answer.findings
    )
    runs = "".join(
        f"<li>{escape(in_words(run.spec))}, seed {run.spec.seed}</li>" for run in comparison.runs
    )
    pictures = "".join(
        figure.update_layout(template="plotly_white").to_html(
            full_html=False, include_plotlyjs=number == 0
        )
        + f"<p>{escape(reading)}</p>"
        for number, (figure, reading) in enumerate(pictured(answer))
    )
    text = (
        f"<!doctype html><meta charset='utf-8'><title>{escape(name)}</title>"
        f"<style>{STYLE}</style><h1>{escape(name)}</h1><ol>{said}</ol>{pictures}"
        f"<h2>What was run</h2><ul>{runs}</ul>"
    )
    try:
        files.write(path, lambda file: file.write(text.encode()))
    except OSError as error:
        raise StoreError(
            f"The report {str(path)!r} cannot be written: {error.strerror or error}."
        ) from error


def pictured(answer: Answer) -> list[tuple[go.Figure, str]]:
    """Map, components of the largest modes, what more restarts would find, masses; how to read."""
    comparison, modes, distance = answer.comparison, answer.modes, DISTANCES[answer.metric]
    within = structure.STAGE.of(comparison)
    points, _ = within.projection(answer.metric)
    styles = run_styles(
        [(r.id, r.spec.algorithm, label_of(r.spec.algorithm)) for r in comparison.runs]
    )
    rows = modes.representative[:MODES]
    everything = np.ones(len(comparison.members), dtype=bool)
    on_map = factorization_map(
        points,
        comparison.members,
        modes.labels,
        modes.representative,
        styles,
        everything,
        distance.label,
        distance.unit,
    )
    linkage = np.asarray(within.linkage(answer.metric))
    counted = mode_count(linkage, modes.threshold, distance.label, distance.unit)
    figures = [(on_map, ON_MAP), (_bases(answer, rows), OF_MODES), (counted, COUNTED)]
    if answer.unseen is not None and answer.unseen.restarts > 1:
        figures.append((discovery_curve(answer.unseen), DISCOVERED))
    weighed = answer.evidence
    if weighed is not None and len(weighed.beliefs) > 1:
        masses = {belief: weighed.of_modes(modes.labels, belief) for belief in weighed.beliefs}
        figures.append((belief_chart(masses), BELIEVED))
    return figures


def _bases(answer: Answer, rows: np.ndarray) -> go.Figure:
    dataset, A = answer.comparison.dataset, answer.comparison.aligned(rows)
    names = [f"mode {k + 1}" for k in range(len(rows))]
    if dataset.image_shape is not None:
        return basis_images(A, dataset.image_shape, names, False)
    if dataset.D <= MOST_BARS:
        return basis_bars(A, dataset.features, names, dataset.unit, False)
    return basis_heatmap(A, dataset.features, names, dataset.feature_noun)
