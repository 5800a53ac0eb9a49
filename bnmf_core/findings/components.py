"""Components: shared by all modes, how well determined, and their names."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.mode_table import LITTLE, good_left, most_probable
from bnmf_core.analysis.named import NOTHING_NAMED, Named
from bnmf_core.analysis.posterior import Posterior
from bnmf_core.compare.alignment import component_angles, component_stability, matching
from bnmf_core.compare.modes import SAME_MODE, Modes
from bnmf_core.compare.topics import topic_names
from bnmf_core.compare.uniqueness import freedom
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.names import no_more, numbered
from bnmf_core.findings.facts import Fact, fact

if TYPE_CHECKING:
    from bnmf_core.findings.answer import Answer

# Largest number of compared modes, the largest first.
COMPARED = 12
# Components within so many degrees in all modes are shared.
SHARED = SAME_MODE
# Optima within so many degrees are one: the tolerance of restarts.
UNIQUE = 1.0
# Part of the optima, or of the mass, with a component for it to count as determined.
AGREED = 0.95
DETERMINED, PROVISIONAL, AMBIGUOUS = "determined", "provisional", "ambiguous"


@dataclass(frozen=True, eq=False)
class ComponentFacts:
    """How well the R components of a mode are determined, the largest first.

    Attributes
    ----------
    found_again : (R,) part of the optima with a partner within 15°; NaN without optima.
    held : (R,) part of the posterior mass in modes with a partner within 15°; NaN while unknown.
    turned : (R,) angle that contains 95 % of the draws in this mode, degrees; NaN while unknown.
    states : "determined", "provisional" or "ambiguous" for each.
    free : (R,) lower bound in degrees of its rotation at the same AW; see
        :func:`~bnmf_core.compare.uniqueness.freedom`. 0 if the member is no optimum.
    """

    found_again: np.ndarray
    held: np.ndarray
    turned: np.ndarray
    states: tuple[str, ...]
    free: np.ndarray


def component_facts(answer: "Answer", row: int | None = None) -> ComponentFacts:
    """How often each component of a mode is found again, and how far draws turn it.

    ``row`` : the reference member, by default that of the best mode. Components are numbered by the
    first mode.
    """
    comparison, table = answer.comparison, answer.table
    row = int(answer.modes.representative[most_probable(table)]) if row is None else row
    A, W = comparison.aligned_factors([int(answer.modes.representative[0]), row])
    reference, R = A[1], A.shape[2]
    free = np.zeros(R)
    if comparison.optima[row] and not comparison.of_tiles:
        free = freedom(reference.astype(np.float64), W[1].astype(np.float64))
    found_again = held = turned = np.full(R, np.nan)
    if comparison.optima.any():
        optima = comparison.bases(np.flatnonzero(comparison.optima))
        found_again = _partners(optima, reference).mean(axis=0)
    mass = np.nan_to_num(table["mass"].to_numpy(dtype=float))
    if mass.sum() > 0 and not good_left(table):
        heavy = np.flatnonzero(mass > 0)
        bases = comparison.bases(answer.modes.representative[heavy])
        held = mass[heavy] @ _partners(bases, reference) / mass.sum()
    posterior = answer.posterior
    k = None if posterior is None else posterior.within(answer.modes.labels, row)
    if posterior is not None and k is not None:
        order = matching(comparison.bases([posterior.modes[k].row]), reference)[0]
        turned = np.quantile(posterior.draws[k]["turned"], AGREED, axis=0)[order]
    states = tuple(map(_state, found_again, held, turned))
    return ComponentFacts(found_again, held, turned, states, free)


def _partners(A: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """(M, R) bool, whether bases (M, D, R) have a partner within 15° of the reference."""
    return component_angles(A, reference, matching(A, reference)) <= SAME_MODE


def _state(found_again: float, held: float, turned: float) -> str:
    """Determined: by restarts or masses, and by draws. Provisional: without draws."""
    agreed = found_again >= AGREED or held >= AGREED
    if not agreed or turned > SAME_MODE:
        return AMBIGUOUS
    return PROVISIONAL if np.isnan(turned) else DETERMINED


def shared(
    comparison: Comparison,
    modes: Modes,
    table: pd.DataFrame | None = None,
    named: Named = NOTHING_NAMED,
) -> list[Fact]:
    """Components that all modes share, and those that change; nothing for a single mode.

    The components of the most probable mode are numbered by mode 1. ``table`` : of the modes, with
    their masses. ``named`` : names of components.
    """
    best = 0 if table is None or "mass" not in table else most_probable(table)
    ordered = dict.fromkeys([modes.representative[best], *modes.representative])
    rows = [int(row) for row in ordered if comparison.optima[row]][:COMPARED]
    if len(rows) < 2:
        return []
    A = comparison.aligned([int(modes.representative[0]), *rows])[1:]
    largest = component_stability(A[1:], A[0])["max_angle"].to_numpy()
    names = component_names(comparison.dataset, A[0], named.components(A[0]))
    others, first = len(rows) - 1, int(modes.labels[rows[0]]) + 1
    best_fits = [] if table is None else table["as_good_as_best"].iloc[modes.labels[rows]].tolist()
    where = fact(
        {1: "partners.one", 2: "partners.two"}.get(others, "partners.many"),
        angle=SHARED,
        others=others,
        left_out=modes.count > len(rows),
        poorer=best_fits[:1] == [True] and not any(best_fits[1:]),
    )
    found = tuple(names[r] for r in np.flatnonzero(largest <= SHARED))
    kind = "all" if len(found) == len(names) else "some" if found else "none"
    summary = fact(f"shared.{kind}", mode=first, where=where, shared=found, count=len(names))
    if kind == "all":
        return [summary]
    changing = [r for r in np.argsort(-largest, kind="stable") if largest[r] > SHARED]
    farthest = tuple(f"{names[r]} (up to {largest[r]:.0f}°)" for r in changing)
    why = "heaviest" if best else _by_mass(table)
    return [summary, fact(f"farthest.{why}", components=farthest, mode=first, little=LITTLE)]


def _by_mass(table: pd.DataFrame | None) -> str:
    """Key of the sentence on whether the first mode is the most probable."""
    mass = None if table is None or "mass_high" not in table else table["mass_high"]
    if table is None or mass is None:
        return "only_often"
    if mass.isna().any():
        led = np.nan_to_num(table["mass_low"]).max() > 0.5
        return "of_weighed" if led else "only_often"
    return "alone" if mass.iloc[1:].sum() < LITTLE else "only_often"


def uncertainty(
    comparison: Comparison, modes: Modes, found: Posterior, named: Named = NOTHING_NAMED
) -> list[Fact]:
    """Angles between draws within the most probable mode and its optimum, by component.

    ``found`` : with a settled first mode. ``named`` : names of components.
    """
    first = found.modes[0]
    A = comparison.bases([first.row])
    # Numbered by the first mode, as on every page.
    order = matching(A, comparison.aligned([int(modes.representative[0])])[0])[0]
    basis, turned = A[0][:, order], found.turned()[order]
    names = component_names(comparison.dataset, basis, named.components(basis))
    far, near = int(turned.argmax()), int(turned.argmin())
    where, widest = "among_others", 0.0
    if np.unique(modes.labels[comparison.optima]).size == 1:
        optima = comparison.bases(np.flatnonzero(comparison.optima))
        widest = float(component_angles(optima, A[0], matching(optima, A[0])).max())
        # Equally good fits may form a ridge within the threshold.
        where = "unique" if widest <= UNIQUE else "ridge"
    mode = int(modes.labels[first.row]) + 1
    facts = [
        fact(f"turned.{where}", mode=mode, widest=widest, component=names[far], angle=turned[far])
    ]
    if turned.size > 1:
        facts.append(fact("turned_least", component=names[near], angle=turned[near]))
    r_hat, ess = no_more(first.r_hat, first.ess)
    return [*facts, fact("mixed", r_hat=r_hat, ess=ess)]


def component_names(dataset: Dataset, A: np.ndarray, called: Sequence[str] = ()) -> list[str]:
    """Numbers and names of the components of a basis (D, R).

    A component without a user-given name has its two strongest words, or its peak along an axis.
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
    words = topic_names(A, dataset.features)
    if dataset.axis is not None:
        words = [f"largest at {dataset.features[d]}" for d in A.argmax(axis=0)]
    return [f"{number} ({some})" for number, some in zip(numbers, words, strict=True)]
