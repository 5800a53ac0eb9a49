"""The figures of a comparison, each with its caption and data table.

Pages and reports share them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from bnmf_core.analysis import downstream, structure
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.mode_table import share_by_run
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import Distance
from bnmf_core.compare.modes import Modes
from bnmf_core.compare.topics import RELEVANCE, aligned_words
from bnmf_core.compare.unseen import Unseen
from bnmf_core.core.names import listed, numbered
from bnmf_core.figures import bases
from bnmf_core.figures.coverage import persistence_plot
from bnmf_core.figures.downstream import auc_plot
from bnmf_core.figures.factorizations import factorization_map, left_out
from bnmf_core.figures.likelihood_power import mass_by_power
from bnmf_core.figures.modes import discovery_curve, mode_count, mode_counts, mode_share
from bnmf_core.figures.spreads import spreads_of_components
from bnmf_core.figures.style import RunStyle
from bnmf_core.findings import spreads as spread_facts
from bnmf_core.findings import verdicts
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import say
from bnmf_core.findings.spreads import Spreads
from bnmf_core.runs.launch import run_names
from bnmf_core.share.naming import styles_of, styles_of_groups

# Largest numbers of drawn modes, words of a component, and labels.
MODES, WORDS, LABELS = 4, 10, 3
ON_MAP = (
    "Each point is one whole factorization; near points are alike. Circles with numbers mark each "
    "mode's most typical one."
)
BELIEVED = (
    "At 1 the noise model is taken at its word; at 0.1 ten entries of X count as one, at 0.01 a "
    "hundred. A mode that wins everywhere does not depend on it; bars hold 90 %. Modes below 1 % "
    "everywhere are not drawn."
)
COUNTED = (
    "A long flat step is a number of modes that does not depend on the exact threshold; the dashed "
    "line is the threshold in use."
)
SHARED = (
    "A method whose bar fills a single mode was nowhere else: a chain may be stuck in it, or the "
    "posterior may lie there."
)
COVERED = (
    "How many balls of radius ε are needed to cover all factorizations of a run. A curve that "
    "stays high to the right has seen very different ones; one that falls to 1 at once has not. "
    "A run's curve pools its chains; thin lines are single chains."
)

TURNED = (
    "Bars: 90 % of resamples or draws; marks: medians. Discs: other modes, larger with more "
    "posterior mass, hollow where they hardly count. The spreads overlap, as the same noise moves "
    "resamples and draws: they are not shares of anything."
)


@dataclass(frozen=True, eq=False)
class Picture:
    """A figure, or only a table, with its caption.

    key : names its files. title : of a table without a figure. reading : the caption. table : the
    numbers. figure : None for a table only.
    """

    key: str
    reading: str
    table: pd.DataFrame
    figure: go.Figure | None = None
    title: str = ""


@dataclass(frozen=True, eq=False)
class Subject:
    """A comparison with its distance, its modes and the names of its runs."""

    answer: Answer

    @property
    def comparison(self) -> Comparison:
        """The runs."""
        return self.answer.comparison

    @property
    def modes(self) -> Modes:
        """At the threshold in use."""
        return self.answer.modes

    @property
    def distance(self) -> Distance:
        """The distance in use."""
        return DISTANCES[self.answer.metric]

    @cached_property
    def styles(self) -> dict[str, RunStyle]:
        """Colour and marker of every run."""
        return styles_of(self.comparison)

    @cached_property
    def names(self) -> dict[str, str]:
        """Name of every run."""
        return run_names(self.comparison.runs)

    @cached_property
    def members(self) -> pd.DataFrame:
        """The members with the run's name and the mode, counted from 1."""
        members = self.comparison.members
        return members.assign(run=members["run"].map(self.names), mode=self.modes.labels + 1)

    def first_modes(self) -> tuple[np.ndarray, list[str]]:
        """Bases (k, D, R) of the modes with mass and then the largest ones, and their names.

        Components have the numbers of mode 1, as on the pages.
        """
        first = verdicts.leading(self.answer)[:MODES]
        rows = self.modes.representative[[0, *first]]
        return self.comparison.aligned(rows)[1:], [self.answer.mode_names[k] for k in first]


def likelihood_power(weighed: Evidence, modes: Modes, names: Sequence[str]) -> Picture:
    """The masses of modes against the likelihood power."""
    masses = {power: weighed.of_modes(modes.labels, power) for power in weighed.powers}
    rows = [
        part.assign(mode=np.array(names)[part.index], power=power) for power, part in masses.items()
    ]
    return Picture("belief", BELIEVED, pd.concat(rows), mass_by_power(masses, names))


def spreads(found: Spreads, mode_names: Sequence[str]) -> Picture:
    """Angles of components among resamples, among draws and between modes."""
    figure = spreads_of_components(
        found.intervals,
        found.angles,
        found.mass,
        found.weighty,
        found.others,
        [name.removeprefix("component ") for name in found.names],
        mode_names,
    )
    solved = [
        f"{done} of {many} ({spread_facts.LABELS[kind]})"
        for kind, (many, done) in found.resamples.items()
    ]
    counted = [f"Resamples that converged: {listed(solved)}."] if solved else []
    reading = " ".join([TURNED, *counted, *dict.fromkeys(filter(None, found.missing.values()))])
    return Picture("spreads", reading, found.table, figure)


def discovery(unseen: Unseen) -> Picture:
    """The number of modes found against the number of restarts, extrapolated."""
    reading = (
        "A curve that has become flat says that more restarts hardly find anything new. Left of "
        f"the line {unseen.restarts} restarts, on average over their order; right of it what more "
        "would find."
    )
    return Picture("discovery", reading, unseen.curve, discovery_curve(unseen))


def counted(linkage: np.ndarray, threshold: float, distance: Distance) -> Picture:
    """The number of modes at every threshold; ``linkage`` (m − 1, 4) is not empty."""
    heights, counts = mode_counts(linkage)
    figure = mode_count(linkage, threshold, distance.label, distance.unit)
    table = pd.DataFrame({"threshold": heights, "modes": counts})
    return Picture("mode_count", COUNTED, table, figure)


def _map(subject: Subject) -> Iterator[Picture]:
    comparison, modes, distance = subject.comparison, subject.modes, subject.distance
    points, stress = structure.STAGE.of(comparison).projection(distance.key)
    figure = factorization_map(
        points,
        comparison.members,
        modes.labels,
        modes.representative,
        subject.styles,
        np.ones(len(comparison.members), dtype=bool),
        distance.label,
        distance.unit,
        comparison.measure,
    )
    table = subject.members.assign(x=points[:, 0], y=points[:, 1])
    yield Picture("map", ON_MAP + left_out(stress), table, figure)


def _bases(subject: Subject) -> Iterator[Picture]:
    (A, names), dataset = subject.first_modes(), subject.comparison.dataset
    called = subject.answer.named.components(A[0])
    figure, reading = bases.picture(dataset, A, names, called=called)
    yield Picture(
        "components", reading, bases.named_table(dataset.features, A, names, called), figure
    )


def _spreads(subject: Subject) -> Iterator[Picture]:
    found = spread_facts.spreads(subject.answer)
    if found is not None and found.farthest:
        picture = spreads(found, subject.answer.mode_names)
        sentence = say(spread_facts.facts(found), subject.answer.mode_names)
        yield replace(picture, reading=f"{sentence} {picture.reading}")


def _words(subject: Subject) -> Iterator[Picture]:
    dataset = subject.comparison.dataset
    if dataset.image_shape is not None or not dataset.named:
        return
    A, names = subject.first_modes()
    found = aligned_words(A, dataset.features, WORDS, RELEVANCE)
    wide = found.groupby(["component", "factorization"])["word"].agg(", ".join).reset_index()
    table = pd.DataFrame(
        {
            "component": wide["component"].map(
                dict(enumerate(numbered(subject.answer.named.components(A[0]))))
            ),
            "mode": [names[k] for k in wide["factorization"]],
            dataset.feature_noun: wide["word"],
        }
    )
    reading = (
        f"Components in one order for all modes; {dataset.feature_noun} that are both frequent "
        f"in a component and particular to it (relevance {RELEVANCE:g})."
    )
    yield Picture("words", reading, table, title=f"Strongest {dataset.feature_noun}")


def _shares(subject: Subject) -> Iterator[Picture]:
    table = share_by_run(subject.comparison, subject.modes)
    figure = mode_share(table, subject.styles)
    yield Picture("share", SHARED, table.assign(run=table["run"].map(subject.names)), figure)


def _likelihood_power(subject: Subject) -> Iterator[Picture]:
    weighed = subject.answer.evidence
    if weighed is not None and len(weighed.powers) > 1 and not subject.answer.one_family:
        yield likelihood_power(weighed, subject.modes, subject.answer.mode_names)


def _discovery(subject: Subject) -> Iterator[Picture]:
    unseen = subject.answer.unseen
    if unseen is not None and unseen.restarts > 1:
        yield discovery(unseen)


def _counted(subject: Subject) -> Iterator[Picture]:
    linkage = np.asarray(structure.STAGE.of(subject.comparison).linkage(subject.answer.metric))
    if len(linkage):
        yield counted(linkage, subject.modes.threshold, subject.distance)


def _downstream(subject: Subject) -> Iterator[Picture]:
    scores = downstream.STAGE.perhaps(subject.comparison)
    if scores is None or scores.table.empty:
        return
    everything = np.ones(len(subject.comparison.members), dtype=bool)
    found = subject.answer.posterior
    labels = list(dict.fromkeys(scores.table["label"]))
    not_drawn = f" Not drawn: {listed(labels[LABELS:])}." if len(labels) > LABELS else ""
    for label in labels[:LABELS]:
        chosen = scores.table[scores.table["label"] == label]
        mixed = None if found is None else found.scores_of(label)
        figure = auc_plot(chosen, subject.comparison.members, subject.styles, everything, mixed)
        reading = (
            f"{label}: each point is a classifier trained on the weights of one factorization, "
            f"and scored on observations whose label it was not shown.{not_drawn}"
        )
        yield Picture(f"auc_{labels.index(label) + 1}", reading, chosen, figure)


def _coverage(subject: Subject) -> Iterator[Picture]:
    comparison, distance = subject.comparison, subject.distance
    found = structure.STAGE.of(comparison)
    curves, (of_chains, _) = found.coverage(distance.key), found.chains(distance.key)
    figure = persistence_plot(
        curves,
        styles_of_groups(comparison),
        distance.label,
        distance.unit,
        repetitions=comparison.repetitions(),
        chains=of_chains,
    )
    table = curves.assign(run=curves["run"].map(subject.names))
    yield Picture("coverage", COVERED, table, figure)


# In the order of a report; each yields no figure where there is nothing to show.
PICTURES: tuple[Callable[[Subject], Iterator[Picture]], ...] = (
    _map,
    _bases,
    _spreads,
    _words,
    _shares,
    _likelihood_power,
    _discovery,
    _downstream,
    _coverage,
    _counted,
)


def pictures(subject: Subject) -> list[Picture]:
    """All figures of a comparison."""
    return [picture for draw in PICTURES for picture in draw(subject)]
