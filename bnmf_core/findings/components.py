"""Which components all modes share, how far each is determined, and what they are called."""

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

# Modes whose components are compared, the largest first.
COMPARED = 12
# Components that all modes have within so many degrees are shared.
SHARED = SAME_MODE
# Degrees: restarts stop where they would turn by less, so that optima this near are one.
UNIQUE = 1.0
# Of the optima, or of the posterior mass, in which a component has to be found again.
AGREED = 0.95
DETERMINED, PROVISIONAL, AMBIGUOUS = "determined", "provisional", "ambiguous"


@dataclass(frozen=True, eq=False)
class ComponentFacts:
    """How far the components of a mode are determined; R of them, the largest first.

    Attributes
    ----------
    found_again : (R,) part of the optima with a partner within 15°; NaN without optima.
    held : (R,) part of the posterior mass in modes with a partner within 15°; NaN while unknown.
    turned : (R,) the angle within which 95 % of the draws in this mode lie, degrees; NaN while
        unknown.
    states : of each "determined", "provisional" or "ambiguous".
    free : (R,) degrees by which other factorizations with the same AW turn it, at least; see
        :func:`~bnmf_core.compare.uniqueness.freedom`. 0 where the member is no optimum.
    """

    found_again: np.ndarray
    held: np.ndarray
    turned: np.ndarray
    states: tuple[str, ...]
    free: np.ndarray


def component_facts(answer: "Answer", row: int | None = None) -> ComponentFacts:
    """Of every component of a mode, how often it is found again, and how far draws turn it.

    ``row`` : the member that is compared with; None: that of the best mode. Components have the
    numbers that they have beside the first mode's.
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
    """(M, R) bool, whether bases (M, D, R) have a partner within 15° of the reference's."""
    return component_angles(A, reference, matching(A, reference)) <= SAME_MODE


def _state(found_again: float, held: float, turned: float) -> str:
    """Determined: by restarts or by the masses, and by draws. Provisional: draws do not say."""
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
    """Which components all modes share, and which change; nothing where there is one mode only.

    They are those of the most probable mode, with the numbers that they have beside mode 1's.
    ``table`` : of the modes, for what they weigh. ``named`` : what components are called.
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
    where = fact(
        {1: "partners.one", 2: "partners.two"}.get(others, "partners.many"),
        angle=SHARED,
        others=others,
        left_out=modes.count > len(rows),
    )
    found = tuple(names[r] for r in np.flatnonzero(largest <= SHARED))
    kind = "all" if len(found) == len(names) else "some" if found else "none"
    said = fact(f"shared.{kind}", mode=first, where=where, shared=found, count=len(names))
    if kind == "all":
        return [said]
    changing = [r for r in np.argsort(-largest, kind="stable") if largest[r] > SHARED]
    farthest = tuple(f"{names[r]} (up to {largest[r]:.0f}°)" for r in changing)
    why = "heaviest" if best else _by_mass(table)
    return [said, fact(f"farthest.{why}", components=farthest, mode=first, little=LITTLE)]


def _by_mass(table: pd.DataFrame | None) -> str:
    """Whether the first mode is the most probable, as far as masses tell."""
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
    """How far draws within the most probable mode are from its optimum, component by component.

    ``found`` : whose first mode has settled. ``named`` : what components are called.
    """
    first = found.modes[0]
    A = comparison.bases([first.row])
    # Numbered as beside the first mode, on every page.
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
    said = [
        fact(f"turned.{where}", mode=mode, widest=widest, component=names[far], angle=turned[far])
    ]
    if turned.size > 1:
        said.append(fact("turned_least", component=names[near], angle=turned[near]))
    r_hat, ess = no_more(first.r_hat, first.ess)
    return [*said, fact("mixed", r_hat=r_hat, ess=ess)]


def component_names(dataset: Dataset, A: np.ndarray, called: Sequence[str] = ()) -> list[str]:
    """Numbers of the components of a basis (D, R), with what they were called.

    Those that nobody has given a name have two words where features have names, and their peak
    where these are places along an axis.
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
