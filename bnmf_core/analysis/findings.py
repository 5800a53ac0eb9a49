"""The answer first: at most nine findings, each a sentence, its doubt, and the page that shows it.

Every finding comes from one function below, which returns None where there is nothing true to say.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from bnmf_core.analysis import (
    answer,
    chains,
    conclusions,
    evidence,
    islands,
    likelihood_power,
    posterior,
    ranks,
)
from bnmf_core.analysis.chains import Verdicts
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.conclusions import Conclusions
from bnmf_core.analysis.evidence import Evidence
from bnmf_core.analysis.islands import Islands
from bnmf_core.analysis.named import NOTHING_NAMED, Named, in_words
from bnmf_core.analysis.posterior import Posterior
from bnmf_core.compare.alignment import component_angles, component_stability, matching
from bnmf_core.compare.modes import SAME_MODE, Modes
from bnmf_core.compare.topics import naming_relevance, top_words
from bnmf_core.compare.unseen import Unseen
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import numbered, percent
from bnmf_core.core.registry import Registry
from bnmf_core.evidence import verdict
from bnmf_core.evidence.rank_study import RankStudy

MOST = 9
# What gives way first where there is more to say.
GIVE_WAY = ("fit", "labels")
# Labels whose conclusions are told, and components that are named.
LABELS, NAMED = 2, 4
# Explanations whose components are compared, the largest modes first.
COMPARED = 12
# Components that all explanations have within so many degrees are shared.
SHARED = SAME_MODE
# A chance above this that the next restart finds something new is worth more restarts.
NEW = 0.05
# Modes that have less of the posterior mass, all together, hardly count.
LITTLE = 0.01
# Degrees: restarts stop where they would turn by less, so that optima this near are one.
UNIQUE = 1.0


@dataclass(frozen=True)
class Finding:
    """What was found.

    key : what it is about. said : the finding. doubt : what it does not know or depends on, "" for
    nothing. page : the key of the page whose picture it rests on.
    """

    key: str
    said: str
    doubt: str
    page: str


@dataclass(frozen=True)
class Source:
    """Where a plug-in's finding comes from.

    key, label : of the finding, and what it is about, in words. find : what is to be said of a
    comparison, None where there is nothing.
    """

    key: str
    label: str
    find: Callable[[Comparison], Finding | None]


# They come first; those of this file are in :attr:`Answer.findings`.
FINDINGS: Registry[Source] = Registry("finding", Source, (), "bnmf.findings")


@dataclass(frozen=True, eq=False)
class Answer:
    """What the stages of a comparison say of its modes; what is not computed yet is left out.

    comparison : whose structure is stored. metric : key of the distance. modes : at some threshold.
    passing : other runs of the same launch are being made, so what to do next is to wait.
    named : what people have called components and modes of these data.
    """

    comparison: Comparison
    metric: str
    modes: Modes
    passing: bool = False
    named: Named = NOTHING_NAMED

    @cached_property
    def evidence(self) -> Evidence | None:
        """The masses, at lower likelihood powers too where they are there; None without any."""
        with_powers = likelihood_power.STAGE.perhaps(self.comparison)
        return with_powers or evidence.STAGE.perhaps(self.comparison)

    @cached_property
    def islands(self) -> Islands | None:
        """The paths between modes."""
        return islands.STAGE.perhaps(self.comparison)

    @cached_property
    def conclusions(self) -> Conclusions | None:
        """What labels say."""
        return conclusions.STAGE.perhaps(self.comparison)

    @cached_property
    def weighty(self) -> np.ndarray | None:
        """(S,) which explanations of :attr:`conclusions` have mass; None while it is unknown."""
        mass = self.table["mass"].fillna(0.0).to_numpy()
        if self.conclusions is None or not self.conclusions.rows or not mass.any():
            return None
        held = mass[self.table["joined"].to_numpy(dtype=int)] >= conclusions.LIGHT
        chosen: np.ndarray = held[self.modes.labels[list(self.conclusions.rows)]]
        return chosen if chosen.any() else None

    @cached_property
    def unseen(self) -> Unseen | None:
        """What restarts say of modes that none has found; None without restarts."""
        return answer.unseen(self.modes.labels, self.comparison.optima)

    @cached_property
    def rank_study(self) -> RankStudy | None:
        """The newest comparison of numbers of components for these data."""
        return ranks.newest(self.comparison.root, self.comparison.runs[0].dataset)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per mode, see :func:`answer.mode_table`."""
        return answer.mode_table(self.comparison, self.metric, self.modes, self.evidence)

    @cached_property
    def mode_names(self) -> list[str]:
        """What every mode is called: its number, and the name it was given."""
        return self.named.modes(self.comparison, self.modes)

    @cached_property
    def told(self) -> dict[str, list[str]]:
        """The answer of the modes in sentences, by what it is about."""
        return {
            about: [in_words(sentence, self.mode_names) for sentence in sentences]
            for about, sentences in self.sentences.items()
        }

    @cached_property
    def sentences(self) -> dict[str, list[str]]:
        """The same, where modes have their numbers only."""
        return answer.sentences(
            self.comparison,
            self.metric,
            self.table,
            self.modes,
            self.evidence,
            self.islands,
            self.unseen,
            self.verdicts,
        )

    @cached_property
    def verdicts(self) -> Verdicts | None:
        """Whether the chains of the runs have settled; None while that is computed."""
        return chains.STAGE.perhaps(self.comparison)

    @cached_property
    def posterior(self) -> Posterior | None:
        """Draws within every mode that has mass; None while they are made."""
        return posterior.STAGE.perhaps(self.comparison)

    @property
    def chains(self) -> Finding | None:
        """Whether the chains of the runs have settled; None where there are none."""
        if self.verdicts is None or self.verdicts.settled is None:
            return None
        verdicts = list(self.verdicts.by_run.values())
        said, *others = sorted(verdicts, key=lambda verdict: verdict.settled)
        doubt = [other.sentence for other in others]
        if not self.verdicts.settled:
            doubt.append("Nothing is concluded from draws that have not settled.")
        elif any(verdict.modes > 1 for verdict in verdicts):
            doubt.append("Chains that stay in one mode each do not show how probable each mode is.")
        return Finding("chains", said.sentence, " ".join(doubt), "traces")

    @property
    def uncertainty(self) -> Finding | None:
        """How far the posterior turns each component of the most probable mode.

        None where its chains have not settled: see :attr:`withheld`.
        """
        found = self.posterior
        if found is None or not found.modes or not found.modes[0].settled:
            return None
        return uncertainty(self.comparison, self.modes, found, self.named)

    @cached_property
    def withheld(self) -> list[dict[str, str]]:
        """What would rest on draws that have not settled, and why it is not said: said, reason."""
        found = []
        if self.verdicts is not None:
            found += [
                {"said": f"Where the {one.label} draws lie", "reason": one.sentence}
                for one in self.verdicts.unsettled
            ]
        if self.posterior is not None and self.posterior.modes and not self.posterior.settled:
            found.append(
                {"said": "How far the posterior turns components", "reason": self.posterior.reason}
            )
        return found

    @cached_property
    def findings(self) -> list[Finding]:
        """The most general first, ``MOST`` of them at most; see ``GIVE_WAY``."""
        told = self.told
        # Without optima nobody can compare what would be concluded; that is said of the masses.
        of_labels = self.conclusions if self.comparison.optima.any() else None
        possible = [
            *(source.find(self.comparison) for source in FINDINGS.values()),
            in_a_finding("found", told["found"] + told["separate"], "overview"),
            in_a_finding("probable", told["probable"], "overview"),
            self.uncertainty,
            self.chains,
            in_a_finding("missing", told["missing"], "overview"),
            components(self.comparison, self.modes, self.table, self.named),
            *labels(of_labels, self.weighty),
            rank(self.rank_study, self.comparison.rank),
            fit(self.comparison),
            None
            if self.passing
            else what_next(self.comparison, self.unseen, self.table, self.rank_study is not None),
        ]
        found = [finding for finding in possible if finding is not None]
        for key in GIVE_WAY:
            last = [i for i, finding in enumerate(found) if finding.key == key][-1:]
            if len(found) > MOST and last:
                del found[last[0]]
        return found[:MOST]


def in_a_finding(key: str, sentences: list[str], page: str) -> Finding | None:
    """The first of these sentences as a finding and the others as its doubt; None without any."""
    return Finding(key, sentences[0], " ".join(sentences[1:]), page) if sentences else None


def components(
    comparison: Comparison,
    modes: Modes,
    table: pd.DataFrame | None = None,
    named: Named | None = None,
) -> Finding | None:
    """Which components all explanations share, and which change; None where there is one only.

    They are those of the most probable mode, with the numbers that they have beside mode 1's.
    ``table`` : of the modes, for what they weigh. ``named`` : what components are called.
    """
    best = 0 if table is None or "mass" not in table else most_probable(table)
    ordered = dict.fromkeys([modes.representative[best], *modes.representative])
    rows = [int(row) for row in ordered if comparison.optima[row]][:COMPARED]
    if len(rows) < 2:
        return None
    A = comparison.aligned([int(modes.representative[0]), *rows])[1:]
    largest = component_stability(A[1:], A[0])["max_angle"].to_numpy()
    shared, changing = largest <= SHARED, np.argsort(-largest, kind="stable")
    called = () if named is None else named.components(A[0])
    names = component_names(comparison.dataset, A[0], called)
    others = len(rows) - 1
    compared = " that were compared" * (modes.count > len(rows))
    where = {1: "the other mode", 2: "both other modes"}.get(others, f"all {others} other modes")
    everywhere = f"within {SHARED:g}° in {where}{compared}"
    first = f"mode {modes.labels[rows[0]] + 1}"
    if shared.all():
        said = f"Every component of {first} has a partner {everywhere}."
        return Finding("components", said, "", "components")
    kept = [names[r] for r in np.flatnonzero(shared)]
    said = (
        f"{len(kept)} of {len(names)} components of {first} have a partner {everywhere}: "
        f"{_listed(kept)}."
        if kept
        else f"No component of {first} has a partner {everywhere}."
    )
    most = [f"{names[r]} (up to {largest[r]:.0f}°)" for r in changing if not shared[r]]
    why = " because restarts find it most often" + _by_mass(table)
    if best:
        why = ", which has the largest posterior mass of those that were weighed."
    doubt = f"Farthest from their partners: {_listed(most)}. Compared with {first}{why}"
    return Finding("components", said, doubt, "components")


def most_probable(table: pd.DataFrame) -> int:
    """The mode that the others are compared with; the first while no mass is known."""
    mass = table["mass"].to_numpy(dtype=float)
    return int(np.nanargmax(mass)) if np.isfinite(mass).any() else 0


def uncertainty(
    comparison: Comparison, modes: Modes, found: Posterior, named: Named | None = None
) -> Finding:
    """How far draws within the most probable mode are from its optimum, component by component.

    ``found`` : whose first mode has settled. ``named`` : what components are called.
    """
    first = found.modes[0]
    A = comparison.bases([first.row])
    # Numbered as beside the first mode, on every page.
    order = matching(A, comparison.aligned([int(modes.representative[0])])[0])[0]
    turned = found.turned()[order]
    names = component_names(
        comparison.dataset,
        A[0][:, order],
        () if named is None else named.components(A[0][:, order]),
    )
    far, near = int(turned.argmax()), int(turned.argmin())
    number = int(modes.labels[first.row]) + 1
    beginning = f"Within mode {number} the"
    if np.unique(modes.labels[comparison.optima]).size == 1:
        optima = comparison.bases(np.flatnonzero(comparison.optima))
        widest = float(component_angles(optima, A[0], matching(optima, A[0])).max())
        # Equally good fits may form a ridge within the threshold.
        apart = f"All optima lie within {widest:.2g}° of the best fit"
        beginning = f"{'The best fit is unique' if widest <= UNIQUE else apart}; the"
    said = f"{beginning} posterior turns {names[far]} by {turned[far]:.2g}°."
    doubt = [
        f"{names[near][:1].upper()}{names[near][1:]} turns least, by {turned[near]:.2g}°."
        if turned.size > 1
        else "",
        "These are median angles between draws and the best fit.",
        f"Chains within this mode have settled (R̂ ≤ {first.r_hat:.2f}, ESS ≥ {first.ess:.0f}).",
    ]
    return Finding("uncertainty", said, " ".join(filter(None, doubt)), "components")


def _by_mass(table: pd.DataFrame | None) -> str:
    """Whether the first mode is the most probable, as far as masses tell; ends a sentence."""
    mass = None if table is None or "mass_high" not in table else table["mass_high"]
    if mass is None or mass.isna().any():
        low = np.zeros(1) if table is None or mass is None else np.nan_to_num(table["mass_low"])
        if low.max() <= 0.5:
            return ", which does not make it the most probable."
        return "; it is also the most probable of those that were weighed."
    if mass.iloc[1:].sum() < LITTLE:
        return (
            f"; it is also the most probable: all others together have less than {LITTLE:.0%} of "
            "the posterior mass, so that what they say hardly counts."
        )
    return ", which does not make it the most probable."


def component_names(dataset: Dataset, A: np.ndarray, called: Sequence[str] = ()) -> list[str]:
    """Numbers of the components of a basis (D, R), with what they were called.

    Those that nobody has given a name have two words where features have names.
    """
    numbers = [f"component {one}" for one in numbered(called, A.shape[1])]
    if any(called):
        others = component_names(dataset, A)
        return [
            number if name else other
            for number, name, other in zip(numbers, called, others, strict=True)
        ]
    if dataset.image_shape is not None or not dataset.named:
        return numbers
    words = top_words(A, dataset.features, count=2, relevance=naming_relevance(A))
    return [
        f"{number} ({', '.join(word for word in some if word)})"
        for number, some in zip(numbers, words, strict=True)
    ]


def labels(found: Conclusions | None, weighty: np.ndarray | None = None) -> list[Finding]:
    """Whether the conclusion from each label depends on the choice."""
    if found is None:
        return []
    return [
        Finding("labels", said, " ".join(details), "downstream")
        for said, *details in found.sentences(weighty)[:LABELS]
    ]


def rank(study: RankStudy | None, in_use: int) -> Finding | None:
    """Whether the number of components in use is settled; None where ranks were not compared."""
    if study is None:
        return None
    said, doubt = verdict.of_rank(study, in_use)
    return Finding("rank", said, doubt, "rank")


def fit(comparison: Comparison) -> Finding | None:
    """How well the explanations fit, and whether they have converged."""
    errors = comparison.members["error"].to_numpy()[comparison.optima]
    if not errors.size:
        return None
    low, high = errors.min(), errors.max()
    said = (
        f"The relative errors of the optima, ‖X − AW‖/‖X‖, are {low:#.3g} to {high:#.3g}."
        if f"{low:.3g}" != f"{high:.3g}"
        else f"All optima have the same relative error to three digits, {low:#.3g} (‖X − AW‖/‖X‖)."
    )
    return Finding("fit", said, comparison.convergence, "quality")


def what_next(
    comparison: Comparison, unseen: Unseen | None, table: pd.DataFrame, ranks_compared: bool = False
) -> Finding | None:
    """The one thing to do that would tell most; None where nothing is missing."""
    if not comparison.optima.any() and not comparison.advised:
        return None
    if unseen is None or not comparison.optima.any():
        said = (
            f"Run {comparison.advised} next: without converged optima there are no modes to "
            "compare."
        )
        return Finding("next", said, "", "run")
    weighed = table["weighed"] > 0
    if (
        not ranks_compared
        and weighed.sum() > 1
        and (weighed & ~table["stays"]).sum() > 0.5 * weighed.sum()
    ):
        said = (
            f"Compare numbers of components next: at {comparison.rank} the posterior does not "
            "separate most of these modes, as happens with too many components."
        )
        return Finding("next", said, "", "rank")
    if unseen.new_probability > NEW:
        said = (
            f"Run more restarts next: after {unseen.restarts}, the next one finds a new mode with "
            f"probability {percent(unseen.new_probability)}."
        )
        return Finding("next", said, "", "run")
    if comparison.dataset.labels and not comparison.holdout:
        said = (
            "Cross-validate next: hold observations out (Analyse, Advanced), so that labels are "
            "scored on data that no factorization has seen."
        )
        return Finding("next", said, "", "run")
    return None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names[:NAMED]) + f" and {len(names) - NAMED} more" * (len(names) > NAMED)
