"""Reading a study of Stein discrepancies: its quantities, its tables, what it says of paper 3."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.nouns.errors import NotFoundError
from studies.arrival import WEIGHTS
from studies.result import StudyResult, number
from studies.stein_sources import kind

PATH = Path(__file__).resolve().parent / "stein_study.json"
FORMS = {
    "paper": "published form (A and W as they are, c_A = 0.01, c_W = 1000)",
    "interior": "interior form (log coordinates, median lengths)",
}
SHORT_FORMS = {"paper": "published form", "interior": "interior form"}
MODELS = {"gaussian": "Exponential–Gaussian model", "silf": "SILF model"}
# Key → title, and the figures of paper 3 that show it (exponential–Gaussian; SILF).
QUANTITIES: dict[str, tuple[str, str]] = {
    f"{form}_{weights}": (f"Discrepancy, {words}, {with_}", "figures 3, 29, 30; 4, 31, 32")
    for weights, with_ in WEIGHTS.items()
    for form, words in FORMS.items()
} | {
    "seconds": ("Seconds to make the particles", "figures 3, 29, 30; 4, 31, 32"),
    "error": ("Relative error ‖X − AW‖/‖X‖", "figures 16; 19"),
    "held_out": ("Relative error on held-out observations", "figures 17; 20"),
    "hidden": ("Relative error on hidden entries", "figure 20"),
    "log_joint": ("Log joint density, nats", "figures 15; 18"),
    "max_angle": ("Mean maximum angle of two factorizations, °", ""),
    "frobenius_A": ("Mean Frobenius distance of two bases", "figures 22; 25"),
    "frobenius_W": ("Mean Frobenius distance of two weights", "figures 23; 26"),
    "paper_similarity": ("Mean kernel similarity, published form", "figures 21; 24"),
    "interior_similarity": ("Mean kernel similarity, interior form", ""),
    "paper_similarity_median": ("Median kernel similarity, published form", ""),
    "interior_similarity_median": ("Median kernel similarity, interior form", ""),
    "paper_constant": ("Part of the equal-weight discrepancy: constant, published form", ""),
    "interior_constant": ("Part of the equal-weight discrepancy: constant, interior form", ""),
    "paper_slopes": ("Part of the equal-weight discrepancy: Σ‖s‖²/M², published form", ""),
    "interior_slopes": ("Part of the equal-weight discrepancy: Σ‖s‖²/M², interior form", ""),
    "steps": ("Sweeps, trajectories or iterations made", ""),
}
OURS = "q_transform"
# Discrepancies that differ by less than this part count as equally low.
SAME = 0.05


@lru_cache(maxsize=1)
def full_stein_study() -> StudyResult | None:
    """The study that ``python -m benchmarks.stein_study --keep`` measured; None without one."""
    return StudyResult.load(PATH) if PATH.is_file() else None


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
        values = study.values
        chosen = (values["model"] == self.model) & (values["particles"] == self.M)
        found = values[chosen & values["last"] & (values["quantity"] == quantity)]
        if found.empty:
            raise NotFoundError(
                f"The study has no {quantity!r} of {self.M} particles of the {self.model} model."
            )
        return found


def selections(study: StudyResult) -> list[Selection]:
    """Every model with every number of particles that was measured."""
    pairs = study.values[["model", "particles"]].drop_duplicates()
    return [Selection(model, int(M)) for model, M in pairs.itertuples(index=False)]


def means(study: StudyResult, chosen: Selection, quantity: str) -> pd.DataFrame:
    """Problems by algorithms: the mean over the repetitions, NaN where nothing was measured."""
    groups = chosen.of(study, quantity).groupby(["problem", "column"], sort=False)["value"]
    return groups.mean().unstack("column")


def table(study: StudyResult, chosen: Selection, quantity: str) -> pd.DataFrame:
    """``data`` and one column per algorithm: the mean and, in brackets, the range; "—" if none."""
    groups = chosen.of(study, quantity).groupby(["problem", "column"], sort=False)["value"]
    parts = groups.agg(["mean", "min", "max"])
    columns = list(dict.fromkeys(parts.index.get_level_values("column")))
    rows = []
    for problem in dict.fromkeys(parts.index.get_level_values("problem")):
        cells = [
            _cell(*parts.loc[problem, column]) if (problem, column) in parts.index else "—"
            for column in columns
        ]
        rows.append([study.labels[problem], *cells])
    return pd.DataFrame(rows, columns=["data", *(study.labels[column] for column in columns)])


def over_time(study: StudyResult, chosen: Selection, problem: str, quantity: str) -> pd.DataFrame:
    """Columns column (the algorithm), repetition, seconds and value: every point of M particles."""
    values = study.values
    here = values[
        (values["problem"] == problem)
        & (values["model"] == chosen.model)
        & (values["particles"] == chosen.M)
        & values["quantity"].isin(["seconds", quantity])
    ]
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
        lowest = values.idxmin()
        near = values[values <= (1 + SAME) * values.min()].index
        fastest = seconds.loc[problem, near].idxmin()
        descents = [key for key in ranks.index if kind(key) == "descent"]
        rows.append(
            {
                "problem": problem,
                "lowest": lowest,
                "rank": int(ranks[OURS]),
                "ratio": float(values[OURS] / values.min()),
                "fastest": fastest,
                "holds": fastest == OURS,
                "descent": min(ranks[key] for key in descents) if descents else float("nan"),
                "gibbs": ranks.get("gibbs", float("nan")),
            }
        )
    return pd.DataFrame(rows)


def findings(study: StudyResult) -> list[str]:
    """What the numbers say of the paper's ordering, in sentences made from them."""
    said = []
    for chosen in selections(study):
        for form in FORMS:
            said.append(_finding(study, chosen, form))
    said += [*(_why_descents(study, model) for model in _models(study)), _why_slopes(study)]
    said += [*(_why_constant(study, model) for model in _models(study))]
    said.append(_why_saturation(study))
    return [sentence for sentence in said if sentence]


def _finding(study: StudyResult, chosen: Selection, form: str) -> str:
    found = ordering(study, chosen, f"{form}_weighted")
    if found.empty:
        return ""
    count = len(found)
    holds = found[found["holds"]]
    words = [
        f"{MODELS[chosen.model]}, M = {chosen.M}, {SHORT_FORMS[form]}, Stein weights: Q-Transform "
        f"is the fastest of those with the lowest discrepancy (within {SAME:.0%}) on "
        f"{_of(len(holds), count)} data sets{_names(study, holds['problem'])}",
    ]
    others = found[~found["holds"]]
    if len(others):
        places = ", ".join(_beaten(study, row) for row in others.itertuples())
        words.append(f"not on {places}")
    descents = found["descent"].dropna()
    if len(descents):
        well = int((descents <= 2).sum())
        words.append(
            f"a gradient-based algorithm is among the two lowest on {_of(well, len(descents))}"
        )
    gibbs = found["gibbs"].dropna()
    if len(gibbs):
        well = int((gibbs <= 2).sum())
        words.append(f"Gibbs is among the two lowest on {_of(well, len(gibbs))}")
    return "; ".join(words) + "."


def _beaten(study: StudyResult, row: Any) -> str:
    name, lowest = study.labels[row.problem], study.labels[row.lowest]
    if row.rank == 1:
        return f"{name} (lowest, but {study.labels[row.fastest]} is as low and faster)"
    if row.ratio <= 1 + SAME:
        return f"{name} (as low as {lowest}, but {study.labels[row.fastest]} is faster)"
    return f"{name} (rank {row.rank}, {row.ratio:.3g} times {lowest})"


def _why_descents(study: StudyResult, model: str) -> str:
    """Whether a descent that comes out lowest has found good factorizations."""
    ratios = []
    for chosen in (one for one in selections(study) if one.model == model):
        errors = means(study, chosen, "error")
        if "random_restarts" not in errors:
            return ""
        for row in ordering(study, chosen, "interior_weighted").itertuples():
            if kind(row.lowest) == "descent":
                of_problem = errors.loc[row.problem]
                ratios.append(of_problem[row.lowest] / of_problem["random_restarts"])
    if not ratios:
        return ""
    return (
        f"{MODELS[model]}, interior form: where a gradient-based algorithm is the lowest ("
        f"{len(ratios)} combinations of data set and M), its relative error is "
        f"{min(ratios):.3g} to {max(ratios):.3g} times that of random restarts (median "
        f"{np.median(ratios):.3g}). Slopes are also small where the density is low and nearly "
        "flat, and the discrepancy does not see the density itself."
    )


def _why_slopes(study: StudyResult) -> str:
    slopes, equal = _last(study, "interior_slopes"), _last(study, "interior_equal")
    samplers = [key for key in equal["column"].unique() if kind(key) == "chain"]
    if "random_restarts" not in set(equal["column"]) or not samplers:
        return ""
    keys = ["problem", "model", "particles"]
    wide = equal.groupby([*keys, "column"], sort=False)["value"].mean().unstack("column")
    below = int((wide["random_restarts"] < wide[samplers].min(axis=1)).sum())
    return (
        "With equal weights, interior form, the slopes on the diagonal alone, Σ‖s‖²/M², are a "
        f"median of {slopes['value'].median():.0%} of the discrepancy. Optimized factorizations "
        "have small slopes and draws of a posterior large ones: random restarts come out below "
        f"every chain on {_of(below, len(wide))} combinations of data set, model and M. That small "
        "a discrepancy is not a better posterior."
    )


def _why_constant(study: StudyResult, model: str) -> str:
    parts = _last(study, "paper_constant")
    parts = parts[(parts["model"] == model) & (parts["column"] == OURS)]
    if parts.empty:
        return ""
    of_problem = parts.groupby("problem", sort=False)["value"].median()
    places = ", ".join(f"{study.labels[key]} {value:.0%}" for key, value in of_problem.items())
    return (
        f"{MODELS[model]}, published form: the constant of the kernel, ½(D·R/c_A² + R·N/c_W²)/M, "
        "is the same for every algorithm. It makes up this part of Q-Transform's discrepancy with "
        f"equal weights: {places}. Where it is nearly all, the "
        "number counts the particles and says little of the algorithms."
    )


def _why_saturation(study: StudyResult) -> str:
    words = []
    for form in FORMS:
        parts = _last(study, f"{form}_similarity_median")
        if len(parts):
            low, high = parts["value"].quantile(0.1), parts["value"].quantile(0.9)
            words.append(f"{low:.2g} and {high:.2g} in the {SHORT_FORMS[form]}")
    return (
        "Median kernel similarities of two factorizations of one algorithm lie between "
        + " and between ".join(words)
        + " (from the lowest to the highest tenth); near ½ in the published form, one of the two "
        "lengths takes all for the same and the other all for different."
        if words
        else ""
    )


def _last(study: StudyResult, quantity: str) -> pd.DataFrame:
    values = study.values
    return values[values["last"] & (values["quantity"] == quantity)]


def _models(study: StudyResult) -> list[str]:
    return list(study.values["model"].unique())


def _names(study: StudyResult, problems: pd.Series) -> str:
    return f" ({', '.join(study.labels[key] for key in problems)})" if len(problems) else ""


def _of(part: int, whole: int) -> str:
    return f"{part if part else 'none'} of {whole}"


def _cell(mean: float, low: float, high: float) -> str:
    return f"{number(mean)} ({number(low)}–{number(high)})"
