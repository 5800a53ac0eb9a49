"""Our numbers for paper 2's tables, the published ones, and findings on its claims."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, product
from typing import Any

import numpy as np
import pandas as pd

from studies.result import FEWEST, Grid, StudyResult, number, published, spread
from studies.rrt.problems import METHODS, NOISES, PROBLEMS, REPETITIONS, SCALES, row
from studies.rrt.stream import CLOCK
from studies.words import Finding, clause, in_parts, listed, of, sentences, words

WORDS = words("rrt")
# Quantity → title, in the order of the document.
QUANTITIES: dict[str, str] = WORDS["quantities"]
# The mean that table 3's deviations are from fits these columns: NVI-10's would shift it by 1e5.
CENTRAL = ("nvi_4", "hmc", "rrt")
TESTED = ("gaussian", "gaussian_10", "gaussian_100", "uniform", "uniform_flat")
SYNTHETIC = ("demonstration", "demonstration_tight")
FLAT = ("uniform_flat", "uniform_flat_2", "uniform_flat_8")
UNIFORM = (*SYNTHETIC, "uniform", "uniform_2", "uniform_8", *FLAT)
OURS, FIT = "rrt", "rrt_fit"
# The columns of the paper; the others are variants of theirs.
MAIN = ("nvi_4", "nvi_10", "gibbs", "hmc", OURS)
# Quantity → the measured one of which it is the difference from the central methods' mean.
DEVIATIONS = {"deviation": "elbo", "energy": "energy"}
# σ of the components is measured under the name that the tables have for an ELBO's difference.
MEASURED = DEVIATIONS | {"deviation_of_components": "deviation"}
Numbers = Iterator[dict[str, Any]]


def values(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    """Columns problem (key), column, repetition and value; empty where nothing was measured."""
    found = study.values[study.values["quantity"] == MEASURED.get(quantity, quantity)]
    of_row = {row(problem, noise): problem for problem in PROBLEMS}
    found = found[found["problem"].isin(of_row)]
    found = found.assign(problem=found["problem"].map(of_row)).drop(columns="quantity")
    if quantity not in DEVIATIONS or found.empty:
        return found
    central = found[found["column"].isin(CENTRAL)]
    middle = central.groupby(["problem", "column"])["value"].mean().groupby("problem").mean()
    return found.assign(value=found["value"] - found["problem"].map(middle))


def means(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    """Data sets (keys) by columns: means over the repetitions, NaN where nothing was measured."""
    found = values(study, noise, quantity)
    if found.empty:
        return pd.DataFrame()
    return spread(found, ["problem", "column"], "mean")["mean"].unstack("column")


def table(study: StudyResult, noise: str, quantity: str) -> pd.DataFrame:
    """Ours and, below, the published numbers: ``data``, ``source`` and one column per method.

    A cell holds the mean and, in brackets, the quartiles; "—" where there is no number.
    """
    found = values(study, noise, quantity)
    if quantity == "collapsed" and not found["value"].any():
        found = found[:0]
    columns = [key for key in study.labels if key in set(found["column"])]
    reference = published("rrt").get(quantity, {}).get(noise, {})
    grid = Grid(("lower", "upper"), write=_long if quantity == "elbo" else number)
    return grid.table(found, study.labels, reference=reference, columns=columns)


def _long(value: float) -> str:
    return f"{value:.4e}"


def standing(study: StudyResult, methods: Iterable[str], *noises: str) -> str:
    """Progress of methods under noises, if fewer than five repetitions are finished; or "".

    A repetition of a method that the clock has stopped is measured, and not finished.
    """
    of_rows = {row(problem, noise): noise for problem in PROBLEMS for noise in noises}
    ended = [run for run in study.settings["ended"] if run[0] in of_rows and run[1] in methods]
    # A method that is measured on one data set counts as planned on the others.
    measured: Counter[tuple[str, str]] = Counter()
    for noise in noises:
        of_noise = [run for run in ended if of_rows[run[0]] == noise]
        combinations = product({run[0] for run in of_noise}, {run[1] for run in of_noise})
        measured.update(dict.fromkeys(combinations, 0))
    measured.update((name, method) for name, method, _, _ in ended)
    finished = Counter((name, method) for name, method, _, reason in ended if reason != CLOCK)
    least = min((finished[cell] for cell in measured), default=0)
    if not measured or least >= FEWEST:
        return ""
    there = f"unfinished: {min(measured.values())} of {REPETITIONS} repetitions"
    stopped = any(finished[cell] < count for cell, count in measured.items())
    return there + (", some stopped by the clock" if stopped else "")


def _of_tested(study: StudyResult) -> str:
    """In brackets, the least progress of the noises in the paper's claims."""
    return clause(" ({})", standing(study, MAIN, *TESTED))


def findings(study: StudyResult) -> list[str]:
    """Findings on the paper's claims in sentences."""
    claims = [
        Finding("published_noise", published_noise),
        Finding("published_entropy", _published_entropy),
        Finding("unfinished", _unfinished),
        *(
            Finding(name, measure, (noise,))
            for noise in TESTED
            for name, measure in (("highest", _highest), ("ordered", _ordered))
            if not standing(study, MAIN, noise)
        ),
        Finding("collapse", _collapse),
        Finding("kept", _single_component),
        Finding("rescaled", _rescaled),
        Finding("prior", _prior),
        *(Finding("spans", _spans, (noise,)) for noise in UNIFORM),
        *(
            Finding("covers", _covers, (noise, kind))
            for kind, noises in (("components", UNIFORM), ("draws", SYNTHETIC))
            for noise in noises
            if not standing(study, ("hmc", OURS), noise)
        ),
        Finding("longer", _longer),
        Finding("variance", _variance),
    ]
    return sentences(study, claims, WORDS["findings"])


@in_parts("; ")
def _unfinished(study: StudyResult) -> Iterator[str]:
    """The noises without conclusions."""
    alike: dict[str, list[str]] = {}
    for noise in (n for n in NOISES if n in study.labels):
        alike.setdefault(standing(study, MAIN, noise), []).append(study.labels[noise])
    yield from (f"{', '.join(names)} ({reason})" for reason, names in alike.items() if reason)


def _spans(study: StudyResult, noise: str) -> Numbers:
    """Distances of RRT's components, if RRT is finished and HMC is not."""
    other = standing(study, ("hmc",), noise)
    if noise not in study.labels or standing(study, (OURS,), noise) or not other:
        return
    apart, counts = (means(study, noise, name) for name in ("wad_components_largest", "components"))
    if OURS in apart:
        parts = [
            f"{study.labels[problem]} {number(apart.loc[problem, OURS])}° "
            f"({counts.loc[problem, OURS]:.3g})"
            for problem in apart.index[apart[OURS].notna()]
        ]
        yield {"noise": study.labels[noise], "parts": "; ".join(parts), "standing": other}


def published_noise(_: StudyResult | None = None) -> Numbers:
    """Which factor on the noise lies between the published tables 1 and 2."""
    tables = published("rrt")
    apart = []
    for problem, (D, N, _rank) in tables["sizes"].items():
        one, ten = (
            tables["elbo"][key][problem][OURS]["mean"] for key in ("gaussian", "gaussian_100")
        )
        apart.append((one - ten) / (D * N))
    yield {"least": min(apart), "most": max(apart), "larger": loss(100.0), "smaller": loss(10.0)}


def loss(times: float) -> float:
    """Loss in log likelihood of one entry when its variance is ``times`` too large."""
    return 0.5 * np.log(times) - 0.5 * (1.0 - 1.0 / times)


def _published_entropy(_: StudyResult) -> Numbers:
    """How much of table 3's gaps is entropy: M equal components far apart gain ln M."""
    tables = published("rrt")
    parts, rest = [], []
    for problem, count in tables["components"]["uniform"].items():
        cells = tables["deviation"]["uniform"][problem]
        gap = cells[OURS]["mean"] - cells["hmc"]["mean"]
        most = np.log(count[OURS]["mean"])
        name = PROBLEMS[problem].label if problem in PROBLEMS else problem.capitalize()
        parts.append(f"{name} {gap:.2f} ({most:.2f})")
        rest.append(gap - most)
    yield {"parts": ", ".join(parts), "least": min(rest), "most": max(rest)}


def _published_elbos(noise: str) -> Mapping[str, Any]:
    """Published ELBOs under a noise, or their deviations from a mean; none for most."""
    tables = published("rrt")
    return tables["elbo"].get(noise) or tables["deviation"].get(noise) or {}


def _highest(study: StudyResult, noise: str) -> Numbers:
    """On which data sets RRT has the highest bound."""
    found = means(study, noise, "elbo")
    found = found[[column for column in found if column in MAIN]]
    if OURS not in found or len(found.columns) < 2:
        return
    clauses, best = WORDS["clauses"], found.idxmax(axis=1)
    holds = best[best == OURS].index
    others = ", ".join(
        clauses["higher"].format(
            problem=study.labels[problem],
            column=study.labels[column],
            nats=number(found.loc[problem, column] - found.loc[problem, OURS]),
        )
        for problem, column in best.items()
        if column != OURS
    )
    yield {
        "noise": study.labels[noise],
        "holds": of(len(holds), len(found)),
        "names": listed(study.labels[problem] for problem in holds),
        "claim": clauses["claim"] if _published_elbos(noise) else "",
        "others": clause(clauses["others"], others),
    }


def _ordered(study: StudyResult, noise: str) -> Numbers:
    """How many pairs of methods are in the published order."""
    order, found = _published_elbos(noise), means(study, noise, "elbo")
    same, pairs = 0, 0
    for problem in [p for p in order if p in found.index]:
        for one, other in combinations(order[problem], 2):
            published_gap = order[problem][one]["mean"] - order[problem][other]["mean"]
            if published_gap and {one, other} <= set(found):
                gap = found.loc[problem, one] - found.loc[problem, other]
                pairs += bool(np.isfinite(gap))
                same += bool(gap * published_gap > 0)
    if pairs:
        table_ = NOISES[noise].table
        yield {"noise": study.labels[noise], "same": of(same, pairs), "table": table_}


@in_parts("; ", standing=_of_tested)
def _collapse(study: StudyResult) -> Iterator[str]:
    """How often a method has diverged with an unbounded ELBO."""
    for noise in TESTED:
        found = values(study, noise, "collapsed")
        counts = {
            column: of(int((part["value"] > 0).sum()), len(part))
            for column, part in found.groupby("column", sort=False)
            if column in MAIN and (part["value"] > 0).any()
        }
        parts = ", ".join(f"{study.labels[column]} {count}" for column, count in counts.items())
        if parts:
            yield f"{study.labels[noise]} {parts}"


@in_parts(", ", standing=_of_tested)
def _single_component(study: StudyResult) -> Iterator[str]:
    """How many mixtures keep one component."""
    for noise in TESTED:
        found = values(study, noise, "components")
        found = found[~found["column"].isin(["nvi_4", "nvi_10"])]["value"]
        if len(found):
            one = of(int((found == 1).sum()), len(found))
            yield f"{study.labels[noise]} {one} (most {int(found.max())})"


def _rescaled(study: StudyResult) -> Numbers:
    """Whether the scale with the smallest curvature is a good one."""
    for scale, (suffix, with_) in SCALES.items():
        parts = []
        for noise in TESTED if suffix else ():
            found = means(study, noise, "elbo")
            for column in [c for c in found if c in METHODS and c + suffix in found]:
                other = found[column + suffix]
                gains = (found[column] - other).dropna()
                words_ = f"{number(gains.min())} to {number(gains.max())}"
                if scale == "found":
                    above = int((other > found[OURS]).sum()) if OURS in found else 0
                    words_ += f" (above RRT on {of(above, len(gains))})"
                parts.append(f"{study.labels[noise]}, {study.labels[column]} {words_}")
        if parts:
            standing_ = _of_tested(study)
            yield {"words": with_, "parts": "; ".join(parts), "standing": standing_}


@in_parts("; ", standing=_of_tested)
def _prior(study: StudyResult) -> Iterator[str]:
    """Whether the methods' bounds differ by energy or entropy."""
    for noise in ("uniform", "uniform_flat"):
        columns = [c for c in means(study, noise, "energy") if c in CENTRAL]
        if len(columns) < 2:
            continue
        ranges, apart = [], []
        for quantity in ("energy", "entropy"):
            found = means(study, noise, quantity)[columns]
            apart.append((found.max(axis=1) - found.min(axis=1)).dropna())
            least, most = number(apart[-1].min()), number(apart[-1].max())
            ranges.append(f"{least} to {most} nats of {quantity}")
        more = of(int((apart[0] > apart[1]).sum()), len(apart[0]))
        yield f"{study.labels[noise]} {', '.join(ranges)} (more of energy on {more})"


def _covers(study: StudyResult, noise: str, kind: str) -> Numbers:
    """Whether RRT's mixture is spread more than HMC's: its components, or draws of it."""
    apart = means(study, noise, f"wad_{kind}_largest")
    counts = means(study, noise, "components")
    if OURS not in apart or "hmc" not in apart:
        return
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
    yield {
        "noise": study.labels[noise],
        "what": WORDS["clauses"][kind],
        "wider": of(int((apart[OURS] > apart["hmc"]).sum()), len(apart)),
        "kind": kind,
        "parts": "; ".join(parts),
    }


@in_parts(", ")
def _longer(study: StudyResult) -> Iterator[str]:
    """Effect of longer first steps of the tree at equal time."""
    pair = [OURS, "rrt_long"]
    if standing(study, pair, "uniform"):
        return
    made, counts = (means(study, "uniform", quantity) for quantity in ("proposals", "components"))
    if not set(pair) <= set(made):
        return
    for problem in made.index[made[pair].notna().all(axis=1)]:
        before, after = made.loc[problem, pair]
        few, many = counts.loc[problem, pair]
        counted = f"({few:.3g} → {many:.3g})"
        yield f"{study.labels[problem]} {before:.0f} → {after:.0f} {counted}"


def _of_pair(study: StudyResult) -> str:
    return clause(" ({})", standing(study, (OURS, FIT), *UNIFORM[len(SYNTHETIC) :]))


@in_parts("; ", standing=_of_pair)
def _variance(study: StudyResult) -> Iterator[str]:
    """Numbers of components with either σ²."""
    pair = [OURS, FIT]
    for noise in UNIFORM:
        counts = means(study, noise, "components")
        sizes = means(study, noise, "deviation_of_components")
        if set(pair) <= set(counts):
            pairs = counts[pair].dropna()
            changes = (
                f"{study.labels[problem]} {few:.3g} → {many:.3g} "
                f"(σ {number(sizes.loc[problem, OURS])} → {number(sizes.loc[problem, FIT])})"
                for problem, (few, many) in zip(pairs.index, pairs.to_numpy(), strict=True)
            )
            yield f"{study.labels[noise]} {', '.join(changes)}"


def endings(study: StudyResult) -> pd.DataFrame:
    """Reasons of ending: ``method``, ``reason``, ``cells`` and, if not everywhere, ``where``."""
    ended = pd.DataFrame(study.settings["ended"], columns=["row", "method", "repetition", "reason"])
    # The allowance that would help, and how many attempts failed, differ from cell to cell.
    ended["reason"] = ended["reason"].str.split(r" An allowance of | Of all attempts ").str[0]
    rows = []
    for method, part in ended.groupby("method", sort=False):
        for reason, found in part.groupby("reason", sort=False):
            places = ", ".join(study.labels[name] for name in found["row"].unique())
            where = "" if len(found) == len(part) or reason == CLOCK else places
            rows.append([METHODS[method].label, reason, of(len(found), len(part)), where])
    return pd.DataFrame(rows, columns=["method", "reason", "cells", "where"])
