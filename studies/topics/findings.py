"""Findings of the study of topics on the paper's claims, and its tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Any

import pandas as pd

from studies.result import FEWEST, StudyResult
from studies.topics.measure import OURS, TOPICS
from studies.topics.plan import WORDS
from studies.words import of

Table = dict[str, Any]
Judged = tuple[str, dict[str, Any]] | None
# Median rank correlations that count as agreement, and as a hint of it.
AGREES, HINTS = 0.5, 0.2
# Ratio below which ranges count as similar.
ALIKE = 2.0
# Of a descent of the paper.
ITERATIONS = 2000
# Of all pairs of categories, those that may share their best factorization.
FEW_PAIRS = 0.25


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it holds here, and numbers."""

    claim: str
    verdict: str
    numbers: str


@lru_cache(maxsize=4)
def claims(study: StudyResult) -> list[Claim]:
    """The paper's claims, judged where at least five repetitions are there."""
    done = study.values["repetition"].nunique()
    judges = {
        "differs": _differs,
        "best": _best,
        "descents": _descents,
        "chains": _chains,
        "alike": _alike,
        "words": _words,
    }
    found = []
    for key, judge in judges.items():
        judged = judge(study)
        if judged is not None:
            verdict, numbers = judged
            if done < FEWEST:
                verdict = WORDS["unfinished"].format(done=done, fewest=FEWEST)
            words = WORDS["claims"][key]
            found.append(Claim(words["claim"], verdict, words["numbers"].format_map(numbers)))
    return found


def of_quantity(study: StudyResult, quantity: str) -> pd.DataFrame:
    """The rows of this quantity."""
    return study.values[study.values["quantity"] == quantity]


def ranges(study: StudyResult) -> pd.DataFrame:
    """Algorithms by ``mean``, ``least``, ``most`` and ``range`` of AUC, for each category.

    Each is a mean over the repetitions. The index has (column, problem).
    """
    aucs = of_quantity(study, "auc").groupby(["column", "problem", "repetition"], sort=False)
    each = aucs["value"].agg(mean="mean", least="min", most="max")
    each["range"] = each["most"] - each["least"]
    return each.groupby(["column", "problem"], sort=False).mean()


def _by_column(study: StudyResult, part: str) -> pd.Series:
    return ranges(study)[part].groupby("column", sort=False).mean()


def _differs(study: StudyResult) -> Judged:
    found = ranges(study)
    if OURS not in found.index:
        return None
    errors = of_quantity(study, "error")
    errors = errors[errors["column"] == OURS].groupby("repetition")["value"]
    halves = of_quantity(study, "halves")
    agreed = float(halves[halves["column"] == OURS]["value"].median())
    spans = ", ".join(f"{task} {value:.3f}" for task, value in found.loc[OURS, "range"].items())
    # So few posts cannot show that there is no difference.
    verdict = _graded(agreed >= AGREES, agreed >= HINTS, "not shown")
    apart = float((errors.max() / errors.min() - 1).max())
    return verdict, {"errors": apart, "ranges": spans, "halves": agreed}


def _best(study: StudyResult) -> Judged:
    aucs = of_quantity(study, "auc")
    wide = aucs[aucs["column"] == OURS].pivot_table(
        index=["repetition", "problem"], columns="x", values="value"
    )
    if wide.empty:
        return None
    best = wide.idxmax(axis=1).unstack("problem")
    pairs = [
        float((best[one] == best[other]).mean()) for one, other in combinations(best.columns, 2)
    ]
    same = sum(pairs) / len(pairs)
    every = int((best.nunique(axis=1) == 1).sum())
    verdict = _graded(same <= FEW_PAIRS and not every, same < 2 * FEW_PAIRS)
    return verdict, {"same": same, "all_": of(every, len(best))}


def _descents(study: StudyResult) -> Judged:
    means = _by_column(study, "mean")
    if not {"svgd", "q_svgd", OURS} <= set(means.index):
        return None
    gap, closed = means[OURS] - means["svgd"], means["q_svgd"] - means["svgd"]
    poor, better = gap > 0.05, closed > gap / 2
    made = study.settings["iterations"]
    verdict = _graded(poor and better, poor or better)
    if made < ITERATIONS:
        verdict = WORDS["short"].format(made=made, whole=ITERATIONS)
    return verdict, {"iterations": made, "whole": ITERATIONS, **means}


def _chains(study: StudyResult) -> Judged:
    wide = _by_column(study, "range")
    if not {"hmc", OURS} <= set(wide.index):
        return None
    narrow = bool(wide["hmc"] < wide[OURS] / ALIKE)
    return _graded(narrow, narrow), dict(wide)


def _alike(study: StudyResult) -> Judged:
    wide = _by_column(study, "range")
    others = [key for key in ("nndsvdar", "gibbs", "random_restarts") if key in wide.index]
    if OURS not in wide.index or not others:
        return None
    ratios = {key: float(wide[key] / wide[OURS]) for key in others}
    alike = sum(1 / ALIKE <= ratio <= ALIKE for ratio in ratios.values())
    verdict = _graded(alike == len(others), alike > 0)
    parts = ", ".join(f"{study.labels[key]} {ratio:.2f}" for key, ratio in ratios.items())
    return verdict, {"ours": wide[OURS], "parts": parts}


def _words(study: StudyResult) -> Judged:
    means = of_quantity(study, "changed").groupby("problem", sort=False)["value"].mean()
    if means.empty:
        return None
    labels = {key: topic["label"] for key, topic in TOPICS.items()} | {"topics": "all topics"}
    parts = ", ".join(f"{labels[key]} {value:.2g}" for key, value in means.items())
    other = int((means[list(TOPICS)] >= 1).sum())
    verdict = _graded(other == len(TOPICS), other > 0)
    return verdict, {"count": study.settings["words"], "parts": parts}


def _graded(whole: bool, part: bool, otherwise: str = "does not hold") -> str:
    return "holds" if whole else "holds in part" if part else otherwise


def tables(study: StudyResult) -> list[Table]:
    """Everything in tables: ``title``, ``columns`` and ``rows``."""
    rows = [(claim.claim, claim.verdict, claim.numbers) for claim in claims(study)]
    first = {"title": WORDS["tables"]["claims"], "columns": ("claim", "here", "numbers")}
    return [first | {"rows": rows}, *_aucs(study), *_fit(study), *_side_by_side(study)]


def _aucs(study: StudyResult) -> Iterator[Table]:
    found = ranges(study)
    tasks = list(dict.fromkeys(task for _, task in found.index))
    columns = list(dict.fromkeys(column for column, _ in found.index))
    written = found.apply(lambda r: f"{r['mean']:.3f} ({r['least']:.3f}–{r['most']:.3f})", axis=1)
    halves = of_quantity(study, "halves").groupby(["column", "problem"], sort=False)["value"]
    agreed = halves.median().map("{:.2f}".format)
    for key, cells in (("auc", written), ("halves", agreed)):
        rows = [(study.labels[c], *(cells[c, task] for task in tasks)) for c in columns]
        yield {"title": WORDS["tables"][key], "columns": ("algorithm", *tasks), "rows": rows}


def _fit(study: StudyResult) -> Iterator[Table]:
    errors, seconds = (
        of_quantity(study, quantity).groupby("column", sort=False)["value"]
        for quantity in ("error", "seconds")
    )
    rows = [
        (study.labels[key], f"{least:.4f}–{most:.4f}", f"{seconds.mean()[key]:.3g}")
        for key, least, most in zip(errors.groups, errors.min(), errors.max(), strict=True)
    ]
    columns = ("algorithm", "relative error", "seconds of processor time, mean")
    yield {"title": WORDS["tables"]["fit"], "columns": columns, "rows": rows}


def _side_by_side(study: StudyResult) -> Iterator[Table]:
    count = study.settings["words"]
    for key, shown in study.settings["side_by_side"].items():
        title = WORDS["tables"]["words"].format(topic=TOPICS[key]["label"], count=count)
        rows = [(n, ", ".join(words)) for n, words in enumerate(shown, 1)]
        yield {"title": title, "columns": ("factorization", "words"), "rows": rows}
    terms = of_quantity(study, "topics")
    if len(terms):
        spread = terms.groupby("problem", sort=False)["value"].agg(["min", "median", "max"])
        rows = [
            (term.removeprefix("term "), *(f"{value:g}" for value in row))
            for term, *row in spread.itertuples()
        ]
        title = WORDS["tables"]["terms"].format(count=count)
        yield {"title": title, "columns": ("term", "least", "median", "most"), "rows": rows}
