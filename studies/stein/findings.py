"""Reading a study of Stein discrepancies: its quantities, its tables, what it says of paper 3."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.nouns.errors import NotFoundError
from studies.result import Grid, StudyResult, spread
from studies.stein.arrival import WEIGHTS
from studies.stein.problems import COLUMNS
from studies.stein.problems import MODELS as STUDIED
from studies.stein.sources import kind
from studies.words import Finding, clause, in_parts, listed, of, sentences, words

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
OURS = "q_transform"
# Discrepancies that differ by less than this part count as equally low.
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


def findings(study: StudyResult) -> list[str]:
    """What the numbers say of the paper's ordering, in sentences made from them."""
    models = list(study.values["model"].unique())
    told = [
        *(Finding("ordering", _ordering, (c, form)) for c in selections(study) for form in FORMS),
        *(Finding("descents", _descents, (model,)) for model in models),
        Finding("slopes", _slopes),
        *(Finding("constant", _constant, (model,)) for model in models),
        Finding("saturation", _saturation),
    ]
    return sentences(study, told, WORDS["findings"])


def _ordering(study: StudyResult, chosen: Selection, form: str) -> Numbers:
    found = ordering(study, chosen, f"{form}_weighted")
    if found.empty:
        return
    clauses = WORDS["clauses"]
    holds = found[found["holds"]]
    others = ", ".join(_beaten(study, row) for row in found[~found["holds"]].itertuples())
    yield {
        "model": MODELS[chosen.model],
        "M": chosen.M,
        "form": SHORT_FORMS[form],
        "same": SAME,
        "holds": of(len(holds), len(found)),
        "names": listed(study.labels[key] for key in holds["problem"]),
        "others": clause(clauses["others"], others),
        "descents": clause(clauses["descents"], _well(found["descent"])),
        "gibbs": clause(clauses["gibbs"], _well(found["gibbs"])),
    }


def _well(ranks: pd.Series) -> str:
    """On how many problems a rank is one of the two lowest; nothing where it was never run."""
    ranks = ranks.dropna()
    return of(int((ranks <= 2).sum()), len(ranks)) if len(ranks) else ""


def _beaten(study: StudyResult, row: Any) -> str:
    which = "slower" if row.rank == 1 else "as_low" if row.ratio <= 1 + SAME else "beaten"
    names = {key: study.labels[getattr(row, key)] for key in ("lowest", "fastest")}
    name = study.labels[row.problem]
    return WORDS["clauses"][which].format(name=name, rank=row.rank, ratio=row.ratio, **names)


def _descents(study: StudyResult, model: str) -> Numbers:
    """Whether a descent that comes out lowest has found good factorizations."""
    ratios = []
    for chosen in (one for one in selections(study) if one.model == model):
        errors = means(study, chosen, "error")
        if "random_restarts" not in errors:
            return
        for row in ordering(study, chosen, "interior_weighted").itertuples():
            if _kind(row.lowest) == "descent":
                of_problem = errors.loc[row.problem]
                ratios.append(of_problem[row.lowest] / of_problem["random_restarts"])
    if ratios:
        yield {
            "model": MODELS[model],
            "count": len(ratios),
            "least": min(ratios),
            "most": max(ratios),
            "median": np.median(ratios),
        }


def _slopes(study: StudyResult) -> Numbers:
    """How small slopes alone make a discrepancy with equal weights small."""
    slopes, equal = (_last(study.values, f"interior_{part}") for part in ("slopes", "equal"))
    samplers = [key for key in equal["column"].unique() if _kind(key) == "chain"]
    if "random_restarts" in set(equal["column"]) and samplers:
        keys = ["problem", "model", "particles", "column"]
        wide = spread(equal, keys, "mean")["mean"].unstack("column")
        below = int((wide["random_restarts"] < wide[samplers].min(axis=1)).sum())
        yield {"share": slopes["value"].median(), "below": of(below, len(wide))}


def _constant(study: StudyResult, model: str) -> Numbers:
    """What part of a discrepancy is the kernel's constant."""
    parts = _last(study.values, "paper_constant")
    parts = parts[(parts["model"] == model) & (parts["column"] == OURS)]
    medians = parts.groupby("problem", sort=False)["value"].median()
    places = ", ".join(f"{study.labels[key]} {value:.0%}" for key, value in medians.items())
    if places:
        yield {"model": MODELS[model], "places": places}


@in_parts(" and between ")
def _saturation(study: StudyResult) -> Iterator[str]:
    """Between what medians of the kernel's similarity lie."""
    for form, name in SHORT_FORMS.items():
        medians = _last(study.values, f"{form}_similarity_median")["value"]
        if len(medians):
            low, high = medians.quantile([0.1, 0.9])
            yield f"{low:.2g} and {high:.2g} in the {name}"


def _kind(column: str) -> str:
    return kind(COLUMNS[column].algorithm)


def _last(values: pd.DataFrame, quantity: str) -> pd.DataFrame:
    return values[values["last"] & (values["quantity"] == quantity)]
