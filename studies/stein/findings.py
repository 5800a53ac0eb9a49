"""Quantities, tables and findings of a study of Stein discrepancies (paper 3)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.core.errors import NotFoundError
from studies.result import FEWEST, Grid, StudyResult, spread
from studies.stein.arrival import WEIGHTS
from studies.stein.problems import COLUMNS
from studies.stein.problems import MODELS as STUDIED
from studies.stein.sources import kind, length
from studies.words import Finding, clause, in_parts, of, sentences, words

WORDS = words("stein")
FORMS: dict[str, str] = WORDS["forms"]
SHORT_FORMS: dict[str, str] = WORDS["short_forms"]
MODELS: dict[str, str] = {key: model.label for key, model in STUDIED.items()}
# Key → title, and the figures of paper 3 that show it (exponential–Gaussian; SILF).
QUANTITIES: dict[str, tuple[str, str]] = {
    f"{form}_{weights}": (
        WORDS["discrepancy"]["title"].format(form=words_, weights=with_),
        WORDS["discrepancy"]["where"],
    )
    for weights, with_ in WEIGHTS.items()
    for form, words_ in FORMS.items()
} | WORDS["quantities"]
OURS, RESTARTS = "q_transform", "random_restarts"
# Suffix of the key of a published descent; the rest is the key of that in log coordinates.
AS_PUBLISHED = "_published"
# Relative difference below which discrepancies count as equal.
SAME = 0.05
KEYS = ["problem", "column"]
Numbers = Iterator[dict[str, Any]]


@dataclass(frozen=True)
class Selection:
    """One model and one number of particles of a study."""

    model: str
    M: int

    def of(self, study: StudyResult, quantity: str) -> pd.DataFrame:
        """The rows of ``values`` that hold this quantity of the last points.

        Raises
        ------
        NotFoundError
            When it was not measured there.
        """
        found = _last(self.rows(study), quantity)
        if found.empty:
            raise NotFoundError(
                f"The study has no {quantity!r} of {self.M} particles of the {self.model} model."
            )
        return found

    def rows(self, study: StudyResult) -> pd.DataFrame:
        """All rows of ``values`` of this model and number."""
        values = study.values
        return values[(values["model"] == self.model) & (values["particles"] == self.M)]


def selections(study: StudyResult) -> list[Selection]:
    """Every model with every number of particles that was measured."""
    pairs = study.values[["model", "particles"]].drop_duplicates()
    return [Selection(model, int(M)) for model, M in pairs.itertuples(index=False)]


def means(study: StudyResult, chosen: Selection, quantity: str) -> pd.DataFrame:
    """Problems by algorithms: the mean over the repetitions, NaN where nothing was measured."""
    return spread(chosen.of(study, quantity), KEYS, "mean")["mean"].unstack("column")


def table(study: StudyResult, chosen: Selection, quantity: str) -> pd.DataFrame:
    """``data`` and one column per algorithm: the mean and, in brackets, the range; "—" if none."""
    return Grid(("least", "most"), "–").table(chosen.of(study, quantity), study.labels)


def over_time(study: StudyResult, chosen: Selection, problem: str, quantity: str) -> pd.DataFrame:
    """Columns column (the algorithm), repetition, seconds and value: every point of M particles."""
    here = chosen.rows(study)
    here = here[(here["problem"] == problem) & here["quantity"].isin(["seconds", quantity])]
    keys = ["column", "repetition", "point"]
    wide = here.pivot(index=keys, columns="quantity", values="value").reset_index()
    wide = wide.rename(columns={quantity: "value"}).rename_axis(columns=None)
    order = list(dict.fromkeys(here["column"]))
    wide = wide.sort_values("column", key=lambda part: part.map(order.index), kind="stable")
    return wide[["column", "repetition", "seconds", "value"]].reset_index(drop=True)


def ordering(study: StudyResult, chosen: Selection, quantity: str) -> pd.DataFrame:
    """Where Q-Transform stands on each problem.

    Columns: problem; lowest (algorithm); rank (of Q-Transform, 1 is the lowest); ratio (its
    discrepancy over the lowest); fastest (the quickest algorithm within 5 % of the lowest);
    holds (Q-Transform is that one); descent, gibbs (the best rank of a descent and of Gibbs; NaN
    where it was not run).
    """
    found, seconds = means(study, chosen, quantity), means(study, chosen, "seconds")
    rows = []
    for problem in found.index:
        values = found.loc[problem].dropna()
        if OURS not in values:
            continue
        ranks = values.rank(method="min")
        near = values[values <= (1 + SAME) * values.min()].index
        fastest = seconds.loc[problem, near].idxmin()
        descents = [ranks[key] for key in ranks.index if _kind(key) == "descent"]
        rows.append(
            {
                "problem": problem,
                "lowest": values.idxmin(),
                "rank": int(ranks[OURS]),
                "ratio": float(values[OURS] / values.min()),
                "fastest": fastest,
                "holds": fastest == OURS,
                "descent": min(descents, default=float("nan")),
                "gibbs": ranks.get("gibbs", float("nan")),
            }
        )
    return pd.DataFrame(rows)


def standing(study: StudyResult, *models: str) -> str:
    """In brackets, progress of a study of these models; "" if it is finished.

    Finished are five repetitions in which no chain and no descent was stopped by the clock.
    """
    values = study.values[study.values["model"].isin(models)]
    repetitions = values["repetition"].nunique()
    steps = _last(values, "steps")
    most = max(study.settings.get("iterations", [0]))
    lengths = [length(COLUMNS[key], most) for key in steps["column"]]
    moving = [
        (made, whole)
        for made, whole in zip(steps["value"], lengths, strict=True)
        if whole is not None
    ]
    short = sum(made < whole for made, whole in moving)
    if repetitions >= FEWEST and not short:
        return ""
    there = f" (unfinished: {repetitions} of at least {FEWEST} repetitions"
    return there + (
        f"; {of(short, len(moving))} chains and descents stopped by the clock)" if short else ")"
    )


@lru_cache(maxsize=4)
def findings(study: StudyResult) -> list[str]:
    """Findings on the paper's ordering in sentences."""
    models = list(study.values["model"].unique())
    own = [model for model in models if not STUDIED[model].settings]
    claims = [
        *(Finding("ordering", _ordering, (model, form)) for model in own for form in FORMS),
        *(Finding("descents", _descents, (model,)) for model in own),
        *(Finding("published", _published, (model,)) for model in own),
        *(Finding("rate", _rate, (model,)) for model in models if model not in own),
        Finding("slopes", _slopes),
        *(Finding("constant", _constant, (model,)) for model in own),
        Finding("saturation", _saturation),
    ]
    return sentences(study, claims, WORDS["findings"])


def _ordering(study: StudyResult, model: str, form: str) -> Numbers:
    """How often Q-Transform is the fastest of the lowest, and which algorithm is elsewhere."""
    found = _all_orderings(study, model, f"{form}_weighted")
    if found.empty:
        return
    clauses = WORDS["clauses"]
    fastest = found["fastest"].value_counts()
    others = ", ".join(
        f"{study.labels[key]} ({count})" for key, count in fastest.items() if key != OURS
    )
    well = [clause(clauses[key], _well(found[key])) for key in ("descent", "gibbs")]
    yield {
        "model": MODELS[model],
        "standing": standing(study, model),
        "form": SHORT_FORMS[form],
        "same": SAME,
        "holds": of(int(found["holds"].sum()), len(found)),
        "low": of(int((found["ratio"] <= 1 + SAME).sum()), len(found)),
        "others": clause(clauses["others"], others),
        "two": clause(clauses["two"], " and ".join(part for part in well if part)),
    }


def _all_orderings(study: StudyResult, model: str, quantity: str) -> pd.DataFrame:
    """:func:`ordering` of a model's every M, with a column M."""
    parts = [
        ordering(study, chosen, quantity).assign(M=chosen.M)
        for chosen in selections(study)
        if chosen.model == model
    ]
    return pd.concat(parts, ignore_index=True)


def _well(ranks: pd.Series) -> str:
    """Number of combinations where a rank is one of the two lowest; nothing without runs."""
    ranks = ranks.dropna()
    return of(int((ranks <= 2).sum()), len(ranks)) if len(ranks) else ""


def _wide(study: StudyResult, model: str, quantity: str) -> pd.DataFrame:
    """(problem, M) by columns: the mean over the repetitions of the last points."""
    found = _last(study.values, quantity)
    found = found[found["model"] == model]
    keys = ["problem", "particles", "column"]
    return spread(found, keys, "mean")["mean"].unstack("column") if len(found) else pd.DataFrame()


def _descents(study: StudyResult, model: str) -> Numbers:
    """Fit and probability of the results of a descent that is lowest."""
    found = _all_orderings(study, model, "interior_weighted")
    error, density = (_wide(study, model, quantity) for quantity in ("error", "log_joint"))
    if found.empty or RESTARTS not in error:
        return
    lowest = [row for row in found.itertuples() if _kind(row.lowest) == "descent"]
    places = [((row.problem, row.M), row.lowest) for row in lowest]
    ratios = [error.loc[place, key] / error.loc[place, RESTARTS] for place, key in places]
    lower = sum(density.loc[place, key] < density.loc[place, RESTARTS] for place, key in places)
    yield {
        "model": MODELS[model],
        "standing": standing(study, model),
        "count": of(len(lowest), len(found)),
        "errors": WORDS["clauses"]["errors"].format(
            least=min(ratios),
            most=max(ratios),
            median=np.median(ratios),
            lower=of(lower, len(lowest)),
        )
        if lowest
        else "",
    }


def _published(study: StudyResult, model: str) -> Numbers:
    """Whether descents come lower as published than in log coordinates."""
    parts = []
    for key, name in WORDS["compared"].items():
        wide, lower, count = _wide(study, model, key), 0, 0
        for column in (c for c in wide if c.endswith(AS_PUBLISHED)):
            other = column.removesuffix(AS_PUBLISHED)
            both = wide[[column, other]].dropna() if other in wide else wide[:0]
            count += len(both)
            lower += int((both[column] < both[other]).sum()) if len(both) else 0
        if count:
            parts.append(f"{name} {of(lower, count)}")
    if parts:
        note = standing(study, model)
        yield {"model": MODELS[model], "standing": note, "parts": ", ".join(parts)}


def _rate(study: StudyResult, model: str) -> Numbers:
    """Effect of the published λ: do poor factorizations have the smallest slopes?"""
    own = next(m for m in MODELS if m != model and STUDIED[m].model == STUDIED[model].model)
    problems = study.values[study.values["model"] == model]["problem"].unique()
    numbers = {}
    for key, one in (("fixed", model), ("found", own)):
        equal, share, error = (
            _wide(study, one, quantity)
            for quantity in ("interior_equal", "interior_slopes", "error")
        )
        if RESTARTS not in error:
            return
        slopes, error = (
            wide[wide.index.isin(problems, level=0)] for wide in (equal * share, error)
        )
        descents = [column for column in error if _kind(column) == "descent"]
        poor = error[descents].gt(error[RESTARTS], axis=0)
        smaller = slopes[descents].lt(slopes[RESTARTS], axis=0)
        numbers[key] = of(int((poor & smaller).sum().sum()), int(poor.sum().sum()))
    names = ", ".join(study.labels[key] for key in problems)
    note = standing(study, model, own)
    yield {"model": MODELS[model], "names": names, "standing": note, **numbers}


def _slopes(study: StudyResult) -> Numbers:
    """How small slopes alone make a discrepancy with equal weights small."""
    parts = []
    for model in study.values["model"].unique():
        equal, share = (_wide(study, model, f"interior_{part}") for part in ("equal", "slopes"))
        parts.append((equal, share * equal))
    equal, slopes = (pd.concat(frames) for frames in zip(*parts, strict=True))
    samplers = [key for key in equal if _kind(key) == "chain"]
    if RESTARTS in equal and samplers:
        least = slopes[samplers].min(axis=1)
        yield {
            "standing": standing(study, *study.values["model"].unique()),
            "share": (slopes[RESTARTS] / equal[RESTARTS]).median(),
            "drawn": (slopes[samplers] / equal[samplers]).stack().median(),
            "times": (least / slopes[RESTARTS]).median(),
            "below": of(int((equal[RESTARTS] < equal[samplers].min(axis=1)).sum()), len(equal)),
        }


def _constant(study: StudyResult, model: str) -> Numbers:
    """The kernel's constant as a fraction of a discrepancy."""
    parts = _last(study.values, "paper_constant")
    parts = parts[(parts["model"] == model) & (parts["column"] == OURS)]
    medians = parts.groupby("problem", sort=False)["value"].median()
    places = ", ".join(f"{study.labels[key]} {value:.0%}" for key, value in medians.items())
    if places:
        yield {"model": MODELS[model], "places": places}


@in_parts(" and between ")
def _saturation(study: StudyResult) -> Iterator[str]:
    """Range of medians of the kernel's similarity."""
    for form, name in SHORT_FORMS.items():
        medians = _last(study.values, f"{form}_similarity_median")["value"]
        if len(medians):
            low, high = medians.quantile([0.1, 0.9])
            yield f"{low:.2g} and {high:.2g} in the {name}"


def _kind(column: str) -> str:
    return kind(COLUMNS[column].algorithm)


def _last(values: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return values[values["last"] & (values["quantity"] == quantity)]
