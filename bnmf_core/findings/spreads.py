"""Rotation of each component of the best mode among resamples, modes and draws."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from bnmf_core.analysis.mode_table import LITTLE, largest_mass, most_probable
from bnmf_core.analysis.resampling import COUNTS, SAMPLES
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.findings.components import COMPARED, UNIQUE, component_names
from bnmf_core.findings.facts import Fact, fact, say

if TYPE_CHECKING:
    from bnmf_core.findings.answer import Answer

DRAWS, MODES = "draws", "modes"
# Quantiles of resamples and draws that are shown.
QUANTILES = (0.05, 0.5, 0.95)
# Least ratio of the smallest to the largest rotation of components that turn alike.
ALIKE = 0.95
KINDS = (COUNTS, SAMPLES, DRAWS)
# Names of the kinds in a table.
LABELS = {
    COUNTS: "counts drawn again",
    SAMPLES: "samples left out",
    DRAWS: "posterior draws",
    MODES: "another mode",
}


@dataclass(frozen=True, eq=False)
class Spreads:
    """Rotation of the R components of a mode, the largest first.

    The kinds overlap, because the same noise affects resamples and draws: they do not add up.

    Attributes
    ----------
    mode : 0-based. names : of its components.
    intervals : "counts", "samples", "draws" → (R, 3) degrees: 5 %, median, 95 %; without unknown
        kinds.
    missing : kind → why it is unknown, in a sentence; "" until computed.
    resamples : number of resamples of each kind, and number of converged ones.
    others : (K,) other modes, 0-based. angles : (K, R) degrees to the partners there.
    mass : (K,) their posterior mass; NaN if unknown.
    weighty : (K,) whether a mode has mass or, if no mass is known, fits as well as the best.
    """

    mode: int
    names: list[str]
    intervals: dict[str, np.ndarray]
    missing: dict[str, str]
    resamples: dict[str, tuple[int, int]]
    others: np.ndarray
    angles: np.ndarray
    mass: np.ndarray
    weighty: np.ndarray
    unsettled: bool

    @property
    def farthest(self) -> dict[str, np.ndarray]:
        """(R,) by kind: the 95 % quantile, or for modes the largest angle of weighty ones."""
        found = {kind: self.intervals[kind][:, 2] for kind in KINDS if kind in self.intervals}
        if self.weighty.any():
            found[MODES] = self.angles[self.weighty].max(axis=0)
        order = (COUNTS, SAMPLES, MODES, DRAWS)
        return {kind: found[kind] for kind in order if kind in found}

    @property
    def table(self) -> pd.DataFrame:
        """Columns component, over, mode, low, median, high (degrees) and mass."""
        rows = [
            {"component": name, "over": LABELS[kind], "low": low, "median": median, "high": high}
            for kind, interval in self.intervals.items()
            for name, (low, median, high) in zip(self.names, interval, strict=True)
        ]
        rows += [
            {
                "component": name,
                "over": LABELS[MODES],
                "mode": int(mode) + 1,
                "median": self.angles[k, r],
                "mass": self.mass[k],
            }
            for k, mode in enumerate(self.others)
            for r, name in enumerate(self.names)
        ]
        columns = ["component", "over", "mode", "low", "median", "high", "mass"]
        return pd.DataFrame(rows, columns=columns)


def spreads(answer: "Answer") -> Spreads | None:
    """Rotation of the components of the best mode; None for tiles or without optima."""
    comparison, table, labels = answer.comparison, answer.table, answer.modes.labels
    if comparison.of_tiles or not comparison.optima.any():
        return None
    mode = most_probable(table)
    row = int(answer.modes.representative[mode])
    found = answer.resampling
    resampled = found is not None and found.row >= 0 and labels[found.row] == mode
    if found is not None and resampled:
        row = found.row
    basis = comparison.aligned([int(answer.modes.representative[0]), row])[1]
    intervals, missing, resamples = {}, dict.fromkeys(KINDS, ""), {}
    if found is not None:
        order = matching(comparison.bases([found.row]), basis)[0] if resampled else None
        for kind, one in found.kinds.items():
            if one.reason or order is None:
                missing[kind] = one.reason or "Another mode was the best when data were resampled."
                continue
            intervals[kind] = np.quantile(found.angles[kind], QUANTILES, axis=0).T[order]
            resamples[kind] = one.resamples, one.converged
    posterior, unsettled = answer.posterior, False
    if posterior is not None:
        k = posterior.within(labels, row)
        unsettled = k is None and any(labels[one.row] == mode for one in posterior.modes)
        if k is not None:
            turned = np.quantile(posterior.draws[k]["turned"], QUANTILES, axis=0).T
            order = matching(comparison.bases([posterior.modes[k].row]), basis)[0]
            intervals[DRAWS] = turned[order]
        elif unsettled:
            missing[DRAWS] = f"Chains within {answer.mode_names[mode]} have not mixed."
        else:
            missing[DRAWS] = posterior.reason or "No chains were run within this mode."
    others, mass, weighty = _others(table, mode)
    A = comparison.bases(answer.modes.representative[others])
    angles = component_angles(A, basis, matching(A, basis)) if others.size else A[:, 0]
    names = component_names(comparison.dataset, basis, answer.named.components(basis))
    known = {kind: reason for kind, reason in missing.items() if kind not in intervals}
    return Spreads(
        mode, names, intervals, known, resamples, others, angles, mass, weighty, unsettled
    )


def _others(table: pd.DataFrame, mode: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Other modes, weighty ones first; their masses; which are weighty."""
    mass, counts = counting(table)
    order = np.lexsort((np.arange(mass.size), -np.nan_to_num(mass), ~counts))
    others = order[order != mode][:COMPARED]
    return others, mass[others], counts[others]


def counting(table: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Masses (K,) of modes, and which are weighty: (K,) bool.

    These are modes that may have mass or, if none is known, that fit as well as the best.
    """
    joined = table["joined"].to_numpy(dtype=int)
    mass = table["mass"].to_numpy(dtype=float)[joined]  # modes that are one have one mass
    if np.isfinite(mass).any():
        return mass, largest_mass(table) >= LITTLE
    return mass, table["as_good_as_best"].to_numpy(dtype=bool)


def with_standing(table: pd.DataFrame, names: Sequence[str]) -> list[str]:
    """K names of modes, with a qualification of those that are not weighty."""
    mass, counts = counting(table)
    if not counts.any():
        return list(names)
    unknown = "not weighed" if np.isfinite(mass).any() else "fits worse"
    why = np.where(np.isnan(mass), unknown, "hardly any mass")
    each = zip(names, why.tolist(), counts.tolist(), strict=True)
    return [name if counted else f"{name} ({word})" for name, word, counted in each]


def facts(found: Spreads, component: int | None = None) -> list[Fact]:
    """A fact on the component that turns most, or on a chosen one; empty if all is unknown.

    A second fact reports chains that have not mixed.
    """
    farthest = found.farthest
    if not farthest:
        return []
    angles = np.array(list(farthest.values()))
    r = int(angles.max(axis=0).argmax()) if component is None else component
    least, most = angles.max(axis=0).min(), angles.max()
    little = component is None and most <= UNIQUE
    alike = not little and component is None and len(found.names) > 1 and least > ALIKE * most
    numbers = {
        kind: float(values.max() if alike or little else values[r])
        for kind, values in farthest.items()
    }
    single = component is not None or len(found.names) == 1
    kind = "little" if little else "alike" if alike else "only" if single else "most"
    if kind == "most":  # another component may turn most by something else
        numbers = {key: numbers[key] for key, values in farthest.items() if values.argmax() == r}
    statement = fact(
        f"spread.{kind}",
        component=found.names[r],
        angle=max(math.ceil(10 * round(float(most), 6)) / 10, 0.1),
        by=tuple(_over(found, numbers, little)),
        **numbers,
    )
    return [statement, *([fact("spread_unsettled", mode=found.mode + 1)] * found.unsettled)]


def _over(found: Spreads, numbers: dict[str, float], little: bool) -> Iterator[str]:
    """Phrases with each angle of a component and its cause."""
    unweighed = np.isnan(found.mass[found.weighty]).any()
    for kind, angle in numbers.items():
        key = "modes_unweighed" if kind == MODES and unweighed else kind
        degrees = "" if little else f"{round(angle, 1):.2g}° "
        yield say(fact(f"spread_over.{key}", degrees=degrees, mode=found.mode + 1))
