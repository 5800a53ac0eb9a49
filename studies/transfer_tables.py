"""What the transfer study says: medians, ratios, and the paper's claims beside the numbers."""

from dataclasses import dataclass

import pandas as pd

from bnmf_core.explorers.processes import PROCESSES
from bnmf_core.nouns.errors import NotFoundError
from studies.result import StudyResult
from studies.starts import BEST, RANDOM, SOLVED
from studies.transfer import REFERENCE, TRANSFER
from studies.weight_times import KINDS

# Of figure 13: quantity → words for Q-Transform's value over that of random starts.
RATIOS = {
    "error": "error of the start",
    "scaled": "error at the best scale",
    "iterations": "iterations until the solver stops",
    "seconds": "seconds until the solver stops",
    "arrival": "iterations until it has arrived",
    "arrival_seconds": "seconds until it has arrived",
}
FACTORS = ("gaussian", "uniform", "dirichlet")
# A ratio of medians within this of 1 counts as no difference.
SAME = 0.1


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it holds here ("holds", "holds in part", …), and numbers."""

    claim: str
    verdict: str
    numbers: str


def spread(study: StudyResult, part: str, quantity: str) -> pd.DataFrame:
    """``column``, ``x``, ``lower`` quartile, ``median``, ``upper`` quartile, in the study's order.

    Raises
    ------
    NotFoundError
        When nothing of the kind was measured.
    """
    chosen = study.values
    chosen = chosen[(chosen["problem"] == part) & (chosen["quantity"] == quantity)]
    if chosen.empty:
        raise NotFoundError(f"The study has no {quantity!r} of the part {part!r}.")
    return _quartiles(chosen, ["column", "x"])


def reference(study: StudyResult, quantity: str) -> dict[str, float]:
    """Medians of random starts, of solved NMFs and of the SVD, where they were measured."""
    values = study.values
    chosen = values[(values["problem"] == REFERENCE) & (values["quantity"] == quantity)]
    return {str(key): float(v) for key, v in chosen.groupby("column")["value"].median().items()}


def ratios(study: StudyResult) -> pd.DataFrame:
    """Q-Transform over random starts at each noise (figure 13), pair by pair.

    Columns ``column`` (key of ``RATIOS``), ``x`` (the noise), ``lower``, ``median``, ``upper``.
    """
    noise = study.values[study.values["problem"] == "noise"]
    wide = noise.pivot_table(index=["x", "repetition"], columns="quantity", values="value")
    parts = []
    for key in RATIOS:
        ratio = (wide[f"{key}_{TRANSFER}"] / wide[f"{key}_{RANDOM}"]).dropna()
        parts.append(ratio.rename("value").reset_index().assign(column=key))
    return _quartiles(pd.concat(parts), ["column", "x"])


def claims(study: StudyResult) -> list[Claim]:
    """The paper's claims on the parts that were measured."""
    present = set(study.values["problem"])
    found = []
    for part, judge in (
        ("process", _on_processes),
        ("source_rank", _on_source_rank),
        ("noise", _on_noise),
        ("transfer_rank", _on_transfer_rank),
        ("weights", _on_weights),
    ):
        if part in present:
            found += judge(study)
    return found


def _on_processes(study: StudyResult) -> list[Claim]:
    found = []
    for quantity, words in (("error", "as they are"), ("scaled", "at the best common scale")):
        medians = spread(study, "process", quantity).set_index("column")["median"]
        others = [key for key in PROCESSES if key not in FACTORS]
        worst = medians[list(FACTORS)].max()
        beaten = [key for key in others if medians[key] > (1 + SAME) * worst]
        verdict = _verdict(len(beaten), len(others))
        numbers = ", ".join(f"{study.labels[key]} {medians[key]:.3g}" for key in medians.index)
        random, solved, best = (reference(study, quantity)[key] for key in (RANDOM, SOLVED, BEST))
        found.append(
            Claim(
                "Dirichlet, uniform and Gaussian factors give significantly better starts than "
                f"sub-sample, column projection and uniform data (figure 11; starts {words})",
                verdict,
                f"Worse than all three by more than {SAME:.0%}: "
                f"{', '.join(study.labels[key] for key in beaten) or 'none of them'}. Median "
                f"errors: {numbers}; random starts {random:.3g}, solved NMFs {solved:.3g}, the SVD "
                f"of the transfer rank, the least possible, {best:.3g}.",
            )
        )
    return found


def _on_source_rank(study: StudyResult) -> list[Claim]:
    table = spread(study, "source_rank", "error")
    least, most = table["median"].min(), table["median"].max()
    own = (table["upper"] - table["lower"]).median()
    random = reference(study, "error")[RANDOM]
    within = most - least <= own
    verdict = "holds" if within else "holds in part" if most < random / 2 else "does not hold"
    return [
        Claim(
            "The rank of the sources does not change the quality of the starts (figure 12)",
            verdict,
            f"Medians lie between {least:.3g} (source rank {_at(table, 'idxmin'):g}) and "
            f"{most:.3g} (source rank {_at(table, 'idxmax'):g}), {most - least:.3g} apart; the "
            f"middle half of the starts of one rank typically spans {own:.3g}.",
        )
    ]


def _on_noise(study: StudyResult) -> list[Claim]:
    table = ratios(study)
    found = []
    for key, words in RATIOS.items():
        medians = table[table["column"] == key].set_index("x")["median"]
        below = medians[medians.index < 1]
        better = below[below < 1 - SAME]
        numbers = ", ".join(f"{value:.3g} at ε = {x:g}" for x, value in medians.items())
        found.append(
            Claim(
                f"Q-Transform has an advantage for noise ε < 1, the greatest at the least noise "
                f"(figure 13; {words})",
                "holds in part"
                if len(better) == len(below) and medians.idxmin() != medians.index[0]
                else _verdict(len(better), len(below)),
                f"Median of Q-Transform's over random starts': {numbers}.",
            )
        )
    return found


def _on_transfer_rank(study: StudyResult) -> list[Claim]:
    table = spread(study, "transfer_rank", "error")
    medians = table[table["column"] == TRANSFER].set_index("x")["median"]
    best = medians.idxmin()
    inside = medians.index[0] < best < medians.index[-1]
    numbers = ", ".join(f"{value:.3g} at {x:g}" for x, value in medians.items())
    return [
        Claim(
            "The error first falls, then rises with the transfer rank (figure 14)",
            "holds" if inside else "does not hold",
            f"Medians: {numbers}; the least at transfer rank {best:g}.",
        )
    ]


def _on_weights(study: StudyResult) -> list[Claim]:
    table = spread(study, "weights", "seconds")
    wide = table.pivot_table(index="x", columns="column", values="median")
    solvers = list(dict.fromkeys(str(column).split("_")[0] for column in wide))
    random, good = KINDS
    quotients = {s: wide[f"{s}_{good}"] / wide[f"{s}_{random}"] for s in solvers}
    most = max(float(q.max()) for q in quotients.values())
    least = min(float(q.min()) for q in quotients.values())
    told = "; ".join(
        f"{s} {wide[f'{s}_{random}'].iloc[-1]:.3g} s and {wide[f'{s}_{good}'].iloc[-1]:.3g} s"
        for s in solvers
    )
    growth = wide.iloc[-1] / wide.iloc[0]
    return [
        Claim(
            "The time to find Stein weights depends on the number of particles only, not on their "
            "parameters (figure 33)",
            "holds" if most < 1 + SAME and least > 1 - SAME
            else "holds in part" if growth.min() > most else "does not hold",
            f"Good parameters take {least:.2g} to {most:.2g} times as long as random ones. With "
            f"M = {wide.index[-1]:g}, random and good: {told}.",
        )
    ]  # fmt: skip


def _quartiles(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    groups = rows.groupby(keys, sort=False, dropna=False)["value"]
    table = groups.agg(
        lower=lambda values: values.quantile(0.25),
        median="median",
        upper=lambda values: values.quantile(0.75),
    )
    return table.reset_index()


def _verdict(holding: int, of: int) -> str:
    if holding == of:
        return "holds"
    return "holds in part" if holding else "does not hold"


def _at(table: pd.DataFrame, which: str) -> float:
    return float(table["x"][getattr(table["median"], which)()])
