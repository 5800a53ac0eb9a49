"""Paper 2's comparison beside its published tables, and what the numbers say of its claims."""

import json
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.result import StudyResult, number
from studies.rrt import row
from studies.rrt_problems import METHODS, NOISES, PROBLEMS, SCALES
from studies.rrt_stream import CLOCK

PUBLISHED = Path(__file__).resolve().parent / "rrt_published.json"
# Quantity → title, in the order of the document.
QUANTITIES = {
    "elbo": "ELBO, nats",
    "deviation": "ELBO less the data set's mean over NVI-4, HMC and RRT, nats",
    "energy": "Energy less the data set's mean over NVI-4, HMC and RRT, nats",
    "components": "Components in the end",
    "collapsed": "Components or proposals that have collapsed to A W = 0",
    "joined": "Components that ever joined",
    "proposals": "Proposals",
    "wad_components_largest": "Largest WAD between components, °",
    "wad_components_mean": "Mean WAD between components, °",
    "wad_draws_largest": "Largest WAD between 200 draws of the mixture, °",
    "wad_draws_mean": "Mean WAD between 200 draws of the mixture, °",
    "gain": "Proposals rejected for too small a gain",
    "near": "Proposals rejected for lying within σ of a component",
    "seconds": "Seconds of processor time",
}
# The mean that table 3's deviations are from fits these columns: NVI-10's would shift it by 1e5.
CENTRAL = ("nvi_4", "hmc", "rrt")
TESTED = ("gaussian", "gaussian_10", "gaussian_100", "uniform", "uniform_flat")
SYNTHETIC = ("demonstration", "demonstration_tight")
UNIFORM = (*SYNTHETIC, "uniform", "uniform_flat", "uniform_2", "uniform_8")
OURS = "rrt"
# The columns of the paper; the others are variants of theirs.
MAIN = ("nvi_4", "nvi_10", "gibbs", "hmc", OURS)


@lru_cache(maxsize=1)
def published() -> dict[str, Any]:
    """``sizes`` (D, N, R of each data set) and quantity → noise → data set → column → cell.

    A cell holds ``mean`` and ``quartiles`` (25 %, 75 %) as printed in tables 1 to 3.
    """
    return json.loads(PUBLISHED.read_text())


def values(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    """Columns problem (key), column, repetition and value; empty where nothing was measured."""
    if quantity in ("deviation", "energy"):
        return _deviations(study, noise, "elbo" if quantity == "deviation" else "energy")
    return _values(study, noise, quantity)


def _values(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    found = study.values[study.values["quantity"] == quantity]
    of_row = {row(problem, noise): problem for problem in PROBLEMS}
    found = found[found["problem"].isin(of_row)]
    return found.assign(problem=found["problem"].map(of_row)).drop(columns="quantity")


def _deviations(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    found = _values(study, noise, quantity)
    if found.empty:
        return found
    central = found[found["column"].isin(CENTRAL)]
    means = central.groupby(["problem", "column"])["value"].mean().groupby("problem").mean()
    return found.assign(value=found["value"] - found["problem"].map(means))


def means(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    """Data sets (keys) by columns: means over the repetitions, NaN where nothing was measured."""
    found = values(study, noise, quantity)
    groups = found.groupby(["problem", "column"], sort=False)["value"]
    return groups.mean().unstack("column") if len(found) else pd.DataFrame()


def table(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    """Ours and, below, the published numbers: ``data``, ``source`` and one column per method.

    A cell holds the mean and, in brackets, the quartiles; "—" where there is no number.
    """
    found = values(study, noise, quantity)
    if quantity == "collapsed" and not found["value"].any():
        found = found[:0]
    columns = [key for key in study.labels if key in set(found["column"])]
    told = published().get(quantity, {}).get(noise, {})
    write = _long if quantity == "elbo" else number
    rows = []
    for problem in dict.fromkeys(found["problem"]):
        here = found[found["problem"] == problem]
        cells = [_cell(here[here["column"] == column]["value"], write) for column in columns]
        rows.append([study.labels[problem], "ours", *cells])
        if problem in told:
            printed = [told[problem].get(column) for column in columns]
            rows.append(["", "published", *(_printed(cell, write) for cell in printed)])
    return pd.DataFrame(rows, columns=["data", "source", *(study.labels[c] for c in columns)])


def _cell(numbers: pd.Series, write: Any) -> str:
    numbers = numbers.dropna()
    if numbers.empty:
        return "—"
    low, high = numbers.quantile([0.25, 0.75])
    return f"{write(numbers.mean())} ({write(low)}, {write(high)})"


def _printed(cell: dict[str, Any] | None, write: Any) -> str:
    if cell is None:
        return "—"
    return f"{write(cell['mean'])} ({', '.join(write(value) for value in cell['quartiles'])})"


def _long(value: float) -> str:
    return f"{value:.4e}"


def findings(study: StudyResult) -> list[str]:
    """What the numbers say of the paper's claims, in sentences made from them."""
    said = [_published_noise(), _published_entropy()]
    for noise in TESTED:
        said += [_highest(study, noise), _ordered(study, noise)]
    said += [_collapse(study), _kept(study), *_rescaled(study), _prior(study)]
    said += [_covers(study, noise, "components") for noise in UNIFORM]
    said += [_covers(study, noise, "draws") for noise in SYNTHETIC]
    said += [_longer(study)]
    return [sentence for sentence in said if sentence]


def _published_noise() -> str:
    """Which factor on the noise lies between the published tables 1 and 2."""
    told = published()
    apart = []
    for problem, (D, N, _) in told["sizes"].items():
        noises = told["elbo"]["gaussian"], told["elbo"]["gaussian_100"]
        one, ten = (noise[problem][OURS]["mean"] for noise in noises)
        apart.append((one - ten) / (D * N))
    larger, smaller = _loss(100.0), _loss(10.0)
    return (
        "The text of the paper has the variance ten times as large in table 2. Its numbers have σ "
        "ten times as large: from table 1 to table 2 the ELBO of RRT falls by "
        f"{min(apart):.2f} to {max(apart):.2f} nats an entry of X; the likelihood of the same "
        f"factorization falls by {larger:.2f} for σ ×10 and by {smaller:.2f} for the variance ×10. "
        "Table 2 is put beside σ ×10 here."
    )


def _loss(times: float) -> float:
    """What the log likelihood of one entry loses when a variance that fits is so much larger."""
    return 0.5 * np.log(times) - 0.5 * (1.0 - 1.0 / times)


def _published_entropy() -> str:
    """How much of table 3's gaps is entropy: M equal components far apart gain ln M."""
    told = published()
    gaps = {}
    for problem, count in told["components"]["uniform"].items():
        cells = told["deviation"]["uniform"][problem]
        gap = cells[OURS]["mean"] - cells["hmc"]["mean"]
        gaps[problem] = gap, np.log(count[OURS]["mean"])
    parts = [f"{_name(key)} {gap:.2f} ({most:.2f})" for key, (gap, most) in gaps.items()]
    rest = [gap - most for gap, most in gaps.values()]
    return (
        "In table 3, RRT lies above HMC, which keeps one component, by (in brackets ln M, which "
        f"M components far apart gain): {', '.join(parts)} nats. What is left for energies is "
        f"{min(rest):.2f} to {max(rest):.2f} nats: in the paper, the energies of different "
        "factorizations hardly differ. With exponential priors of rate 1 on these data they do, "
        "which is why an almost flat prior is tried too."
    )


def _highest(study: StudyResult, noise: str) -> str:
    found = means(study, noise, "elbo")
    found = found[[column for column in found if column in MAIN]]
    if OURS not in found or len(found.columns) < 2:
        return ""
    best = found.idxmax(axis=1)
    holds = best[best == OURS].index
    others = [
        f"{study.labels[problem]} ({study.labels[column]} is higher by "
        f"{number(found.loc[problem, column] - found.loc[problem, OURS])} nats)"
        for problem, column in best.items()
        if column != OURS
    ]
    told = published()["elbo"].get(noise) or published()["deviation"].get(noise)
    claim = " (published: on all)" if told else ""
    return (
        f"{study.labels[noise]}: RRT has the highest mean ELBO on {_of(len(holds), len(found))} "
        f"data sets{_list(study.labels[problem] for problem in holds)}{claim}"
        + (f"; not on {', '.join(others)}." if others else ".")
    )


def _ordered(study: StudyResult, noise: str) -> str:
    """How many pairs of methods are in the published order."""
    told = published()["elbo"].get(noise) or published()["deviation"].get(noise) or {}
    found = means(study, noise, "elbo")
    same, pairs = 0, 0
    for problem in [p for p in told if p in found.index]:
        for one, other in combinations(told[problem], 2):
            published_gap = told[problem][one]["mean"] - told[problem][other]["mean"]
            if not published_gap or not {one, other} <= set(found):
                continue
            gap = found.loc[problem, one] - found.loc[problem, other]
            if np.isfinite(gap):
                pairs, same = pairs + 1, same + (gap * published_gap > 0)
    if not pairs:
        return ""
    return (
        f"{study.labels[noise]}: of all pairs of methods on a data set, {_of(same, pairs)} are in "
        f"the order of {NOISES[noise].table}."
    )


def _collapse(study: StudyResult) -> str:
    """Where a method has followed the bound to where it has no maximum."""
    parts = []
    for noise in TESTED:
        found = values(study, noise, "collapsed")
        for (problem, column), part in found.groupby(["problem", "column"], sort=False):
            gone = int((part["value"] > 0).sum())
            if gone:
                parts.append(
                    f"{study.labels[column]} on {study.labels[problem]} "
                    f"({study.labels[noise]}) {_of(gone, len(part))}"
                )
    return (
        "Runs in which components have collapsed to A W = 0: " + "; ".join(parts) + ". There the "
        "trace of the Hessian is 0 and the second-order energy does not know that the posterior "
        "ends at 0, so what should be a bound grows with σ² without end. Such a run of NVI is left "
        "out of ELBOs, entropies and energies; such proposals of the others are not handed on."
        if parts
        else ""
    )


def _kept(study: StudyResult) -> str:
    parts = []
    for noise in TESTED:
        found = values(study, noise, "components")
        found = found[~found["column"].isin(["nvi_4", "nvi_10"])]
        if len(found):
            one = int((found["value"] == 1).sum())
            most = int(found["value"].max())
            parts.append(f"{study.labels[noise]} {_of(one, len(found))} (most {most})")
    return (
        "Online mixtures that keep one component only (published for Gaussian noise: all): "
        f"{', '.join(parts)}."
        if parts
        else ""
    )


def _rescaled(study: StudyResult) -> list[str]:
    """Whether the scale with the smallest curvature is a good one."""
    told = []
    for scale, (suffix, words) in SCALES.items():
        parts = []
        for noise in TESTED if suffix else ():
            found = means(study, noise, "elbo")
            for column in [c for c in found if c in METHODS and c + suffix in found]:
                other = found[column + suffix]
                gains = (found[column] - other).dropna()
                above = int((other > found[OURS]).sum()) if OURS in found else 0
                parts.append(
                    f"{study.labels[noise]}, {study.labels[column]} {number(gains.min())} to "
                    f"{number(gains.max())}"
                    + (f" (above RRT on {_of(above, len(gains))})" if scale == "found" else "")
                )
        if parts:
            told.append(
                "By how many nats the ELBO at the scale with the smallest curvature exceeds that of"
                f" the same proposals{words}: {'; '.join(parts)}. That scale is not the one that "
                "the prior favours, and where entries of A and W are large or the noise is, the "
                "prior decides."
            )
    return told


def _prior(study: StudyResult) -> str:
    parts = []
    for noise in ("uniform", "uniform_flat"):
        found = means(study, noise, "energy")
        columns = [c for c in found if c in CENTRAL]
        if len(columns) < 2:
            continue
        apart = (found[columns].max(axis=1) - found[columns].min(axis=1)).dropna()
        entropy = means(study, noise, "entropy")[columns]
        gained = (entropy.max(axis=1) - entropy.min(axis=1)).dropna()
        parts.append(
            f"{study.labels[noise]} {number(apart.min())} to {number(apart.max())} nats of energy, "
            f"{number(gained.min())} to {number(gained.max())} nats of entropy"
        )
    return (
        "By how much the methods differ on a data set, uniform noise: "
        f"{'; '.join(parts)}. With priors of rate 1, what a mixture gains by many components is "
        "less than what one component of smaller entries gains."
        if parts
        else ""
    )


def _covers(study: StudyResult, noise: str, kind: str) -> str:
    """Whether RRT's mixture is spread more than HMC's: its components, or draws of it."""
    apart = means(study, noise, f"wad_{kind}_largest")
    counts = means(study, noise, "components")
    if OURS not in apart or "hmc" not in apart:
        return ""
    wider = apart.index[apart[OURS] > apart["hmc"]]
    shown = [column for column in ("nvi_10", "hmc", OURS) if column in apart]
    parts = [
        f"{study.labels[problem]} "
        + ", ".join(
            f"{study.labels[c]} {number(apart.loc[problem, c])}° ({counts.loc[problem, c]:.3g})"
            for c in shown
            if np.isfinite(apart.loc[problem, c])
        )
        for problem in apart.index
    ]
    what = "components of RRT" if kind == "components" else "draws of RRT's mixture"
    return (
        f"{study.labels[noise]}: the {what} span more than those of HMC on "
        f"{_of(len(wider), len(apart))} data sets (published: all). Largest WAD between "
        f"{kind} and, in brackets, the mean number of components: {'; '.join(parts)}."
    )


def _longer(study: StudyResult) -> str:
    made = means(study, "uniform", "proposals")
    if OURS not in made or "rrt_long" not in made:
        return ""
    counts = means(study, "uniform", "components")
    parts = [
        f"{study.labels[problem]} {made.loc[problem, OURS]:.0f} → "
        f"{made.loc[problem, 'rrt_long']:.0f} ({counts.loc[problem, OURS]:.3g} → "
        f"{counts.loc[problem, 'rrt_long']:.3g})"
        for problem in made.index[made[[OURS, "rrt_long"]].notna().all(axis=1)]
    ]
    return (
        "First steps of 0.5 in place of 0.01, uniform noise: proposals (components) "
        f"{', '.join(parts)}."
    )


def endings(study: StudyResult) -> pd.DataFrame:
    """Why methods ended: ``method``, ``reason``, ``cells`` and, if not everywhere, ``where``."""
    told = pd.DataFrame(study.settings["ended"], columns=["row", "method", "repetition", "reason"])
    rows = []
    for method, part in told.groupby("method", sort=False):
        for reason, found in part.groupby("reason", sort=False):
            places = ", ".join(study.labels[name] for name in found["row"].unique())
            where = "" if len(found) == len(part) or reason == CLOCK else places
            rows.append([METHODS[method].label, reason, _of(len(found), len(part)), where])
    return pd.DataFrame(rows, columns=["method", "reason", "cells", "where"])


def _name(problem: str) -> str:
    return PROBLEMS[problem].label if problem in PROBLEMS else problem.capitalize()


def _list(names: Any) -> str:
    names = list(names)
    return f" ({', '.join(names)})" if names else ""


def _of(part: int, whole: int) -> str:
    return f"{part if part else 'none'} of {whole}"
