"""Findings of the transfer study: medians, ratios, and the paper's claims with our numbers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from bnmf_core.core.errors import NotFoundError
from bnmf_core.explorers.processes import PROCESSES
from studies.result import QUARTILES, StudyResult
from studies.result import spread as spread_of
from studies.transfer.measure import LEARNING, PROJECTION, TRANSFER
from studies.transfer.plan import REFERENCE, WORDS
from studies.transfer.starts import BEST, RANDOM, SOLVED
from studies.transfer.weight_times import KINDS

# Of figure 13: quantity → words for Q-Transform's value over that of random starts.
RATIOS: dict[str, str] = WORDS["ratios"]
FACTORS = ["gaussian", "uniform", "dirichlet"]
# Deviation from 1 below which a ratio of medians counts as no difference.
SAME = 0.1
# A verdict, and the numbers in the templates of the claim.
Judged = Iterator[tuple[str, dict[str, Any]]]


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
    return spread_of(chosen, ["column", "x"], *QUARTILES).reset_index()


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
    return spread_of(pd.concat(parts), ["column", "x"], *QUARTILES).reset_index()


def race(study: StudyResult) -> pd.DataFrame:
    """Figure 13's race: at each noise (index) medians of iterations, and seconds of all its starts.

    Columns (effort, column): effort "iterations" or "seconds" until the solver stops, "arrival" or
    "arrival_seconds" until the starts have arrived; column "random", "q_transform" or, of seconds,
    "learned", which are those of Q-Transform with learning the transforms. Seconds are those of
    making the starts and of solving them.
    """
    noise = study.values[study.values["problem"] == "noise"]
    wide = noise.groupby(["x", "quantity"])["value"].median().unstack()
    cost = study.values[study.values["problem"] == LEARNING]["value"].median()
    found = {}
    for effort in ("iterations", "seconds", "arrival", "arrival_seconds"):
        timed = effort.endswith("seconds")
        for column in (RANDOM, TRANSFER):
            making = wide[f"making_seconds_{column}"] if timed else 0.0
            found[effort, column] = wide[f"{effort}_{column}"] + making
        if timed:
            found[effort, "learned"] = found[effort, TRANSFER] + cost
    return pd.DataFrame(found)


@lru_cache(maxsize=4)
def claims(study: StudyResult) -> list[Claim]:
    """The paper's claims on the measured parts."""
    judges = {
        "process": _on_processes,
        "source_rank": _on_source_rank,
        "noise": _on_noise,
        "transfer_rank": _on_transfer_rank,
        "weights": _on_weights,
    }
    present = set(study.values["problem"])
    found = []
    for part in (part for part in judges if part in present):
        words = WORDS["claims"][part]
        for verdict, numbers in judges[part](study):
            claim, numbers_ = (words[key].format_map(numbers) for key in ("claim", "numbers"))
            found.append(Claim(claim, verdict, numbers_))
    return found


def _on_processes(study: StudyResult) -> Judged:
    for quantity, scale in WORDS["scales"].items():
        medians = spread(study, "process", quantity).set_index("column")["median"]
        others = [key for key in PROCESSES if key not in FACTORS]
        worst = medians[FACTORS].max()
        beaten = [key for key in others if medians[key] > (1 + SAME) * worst]
        lines = reference(study, quantity)
        yield (
            _verdict(len(beaten), len(others)),
            {
                "scale": scale,
                "same": SAME,
                "beaten": ", ".join(study.labels[key] for key in beaten) or "none of them",
                "projection": _projections(study, quantity),
                "medians": ", ".join(f"{study.labels[key]} {v:.3g}" for key, v in medians.items()),
                **{key: lines[key] for key in (RANDOM, SOLVED, BEST)},
            },
        )


def _projections(study: StudyResult, quantity: str) -> str:
    """Medians of column projection by the solver's tolerance and the reading of P; "" for none."""
    if not (study.values["problem"] == PROJECTION).any():
        return ""
    table = spread(study, PROJECTION, quantity)
    parts = [
        f"{study.labels[column]}: "
        + ", ".join(f"{row.median:.3g} with {row.x:,.0f}" for row in part.itertuples())
        for column, part in table.groupby("column", sort=False)
    ]
    return WORDS["projection"].format("; ".join(parts))


def _on_source_rank(study: StudyResult) -> Judged:
    table = spread(study, "source_rank", "error")
    medians = table.set_index("x")["median"]
    least, most = medians.min(), medians.max()
    own = (table["upper"] - table["lower"]).median()
    within, well = most - least <= own, most < reference(study, "error")[RANDOM] / 2
    numbers = {"least": least, "at_least": medians.idxmin(), "most": most, "own": own}
    numbers |= {"at_most": medians.idxmax(), "apart": most - least}
    yield "holds" if within else "holds in part" if well else "does not hold", numbers


def _on_noise(study: StudyResult) -> Judged:
    table = ratios(study)
    for key, words in RATIOS.items():
        medians = table[table["column"] == key].set_index("x")["median"]
        below = medians[medians.index < 1]
        better = below[below < 1 - SAME]
        verdict = _verdict(len(better), len(below))
        if verdict == "holds" and medians.idxmin() != medians.index[0]:
            verdict = "holds in part"
        parts = ", ".join(f"{value:.3g} at ε = {x:g}" for x, value in medians.items())
        yield verdict, {"words": words, "medians": parts}


def _on_transfer_rank(study: StudyResult) -> Judged:
    table = spread(study, "transfer_rank", "error")
    medians = table[table["column"] == TRANSFER].set_index("x")["median"]
    best = medians.idxmin()
    inside = medians.index[0] < best < medians.index[-1]
    parts = ", ".join(f"{value:.3g} at {x:g}" for x, value in medians.items())
    yield "holds" if inside else "does not hold", {"medians": parts, "best": best}


def _on_weights(study: StudyResult) -> Judged:
    table = spread(study, "weights", "seconds")
    wide = table.pivot_table(index="x", columns="column", values="median")
    solvers = list(dict.fromkeys(str(column).split("_")[0] for column in wide))
    random, good = ([f"{solver}_{kind}" for solver in solvers] for kind in KINDS)
    quotients = wide[good].to_numpy() / wide[random].to_numpy()
    least, most = quotients.min(), quotients.max()
    last = wide.iloc[-1]
    alike = 1 - SAME < least and most < 1 + SAME
    grows = (last / wide.iloc[0]).min() > most
    seconds = "; ".join(
        f"{solver} {last[r]:.3g} s and {last[g]:.3g} s"
        for solver, r, g in zip(solvers, random, good, strict=True)
    )
    numbers = {"least": least, "most": most, "M": wide.index[-1], "told": seconds}
    yield "holds" if alike else "holds in part" if grows else "does not hold", numbers


def _verdict(holding: int, of: int) -> str:
    if holding == of:
        return "holds"
    return "holds in part" if holding else "does not hold"
