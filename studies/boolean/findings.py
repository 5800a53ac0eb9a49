"""Findings of the study of binary matrices: the claims of paper 4 and our numbers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pandas as pd

from studies.boolean.measure import PROBLEMS
from studies.boolean.plan import PARTS, WORDS
from studies.result import StudyResult, published
from studies.words import of

KEYS = ["part", "problem", "column", "start", "rank", "size", "repetition"]
READINGS: dict[str, str] = WORDS["readings"]
# Priors, rank and smallest batch of the published tables.
PUBLISHED = ("flat", "normal", "laplace")
RANK, SMALLEST, LARGEST = "30", "75", "512"
# Fractions of wrong cells among all ones from which a result counts as zeros, and as tiles.
COLLAPSED, KEPT = 0.8, 0.1
# Relative difference below which numbers of ones count as equal.
SAME = 0.1
# Least correlation that counts as an association.
GOES_WITH = 0.9
HALF = 0.5
# Fraction that counts as almost all.
MOSTLY = 0.8
# A verdict, and the numbers in the templates of the claim.
Judged = Iterator[tuple[str, dict[str, Any]]]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, whether it holds here ("holds", "holds in part", …), and numbers."""

    claim: str
    verdict: str
    numbers: str


def cells(study: StudyResult, *parts: str) -> pd.DataFrame:
    """One row per cell of these parts, a column for each quantity that is a single number."""
    values = study.values[(study.values["x"] == 0) & study.values["part"].isin(parts)]
    wide = values.pivot_table(index=KEYS, columns="quantity", values="value", sort=False)
    wide = wide.reset_index()
    names = wide["problem"].astype(str).str.split("_")
    return wide.assign(reading=names.str[0], noise=names.str[-1])


def printed(start: str | None = None, noise: str | None = None) -> pd.DataFrame:
    """Tables 4.1 and 4.2 as published: start, noise, column, size, half, best, low, high."""
    rows = pd.DataFrame(published("boolean")["rows"])
    for name, wanted in (("start", start), ("noise", noise)):
        if wanted is not None:
            rows = rows[rows[name] == wanted]
    return rows


def claims(study: StudyResult) -> list[Claim]:
    """The paper's claims on the measured parts."""
    found = []
    for key, judge in JUDGES.items():
        words = WORDS["claims"][key]
        for verdict, numbers in judge(study):
            claim, numbers_ = (words[part].format_map(numbers) for part in ("claim", "numbers"))
            found.append(Claim(claim, verdict, numbers_))
    return found


def _as_published(study: StudyResult, *parts: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Each reading in words, and its cells with the published priors and rank."""
    table = cells(study, *parts)
    chosen = table[table["column"].isin(PUBLISHED) & (table["rank"] == RANK)]
    for reading, rows in chosen.groupby("reading", sort=False):
        yield READINGS[str(reading)], rows


def _on_density(study: StudyResult) -> Judged:
    table = cells(study, *PARTS)
    if "ones" not in table:
        return
    ones = table.dropna(subset=["ones"]).groupby("reading", sort=False)["ones"].median()
    if set(ones.index) != set(READINGS):
        return
    counts = ", ".join(f"{count:g} at the {READINGS[str(key)]}" for key, count in ones.items())
    zero = printed()["half"].max()
    same = {key: abs(count / zero - 1.0) <= SAME for key, count in ones.items()}
    if any(same.values()):
        yield "holds" if same["stated"] else "does not hold", {"told": counts}


def _on_optimum(study: StudyResult) -> Judged:
    for reading, rows in _as_published(study, "grid", "luck"):
        chosen = rows[(rows["start"] == "optimum") & (rows["noise"] == "clean")]
        if len(chosen):
            without = int((chosen["best"] == 0).sum())
            numbers = {"reading": reading, "most": chosen["best"].max()}
            numbers["held"] = of(without, len(chosen))
            numbers["half"] = of(int((chosen["half"] == 0).sum()), len(chosen))
            yield _verdict(without, len(chosen)), numbers


def _collapsed(rows: pd.DataFrame) -> pd.Series:
    return rows["half"] >= COLLAPSED * rows["ones"]


def _small(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[(rows["size"] == SMALLEST) & (rows["column"] != "flat")]


def _on_collapse(study: StudyResult) -> Judged:
    for reading, rows in _as_published(study, "grid"):
        chosen = _small(rows)
        if len(chosen):
            lost = _collapsed(chosen)
            runs = ", ".join(
                f"{study.labels[r.column]} {r.noise} from {r.start} {r.half:g} of {r.ones:g}"
                for r in chosen.itertuples()
            )
            numbers = {"reading": reading, "held": of(int(lost.sum()), len(lost)), "told": runs}
            yield _verdict(int(lost.sum()), len(lost)), numbers


def _on_too_little(study: StudyResult) -> Judged:
    unbiased = dict(_as_published(study, "unbiased"))
    for reading, rows in _as_published(study, "grid"):
        chosen = _small(rows)
        if reading in unbiased and len(chosen):
            lost, before = _collapsed(unbiased[reading]), _collapsed(chosen)
            numbers = {
                "reading": reading,
                "unbiased": of(int(lost.sum()), len(lost)),
                "published": of(int(before.sum()), len(before)),
            }
            if before.any():
                yield _verdict(int(lost.sum()), int(before.sum())), numbers


def _below(rows: pd.DataFrame) -> pd.Series:
    return rows["high"] < HALF


def _on_threshold(study: StudyResult) -> Judged:
    for reading, every in _as_published(study, "grid", "luck"):
        for noise, rows in every.groupby("noise", sort=False):
            optimum, theirs = rows[rows["start"] == "optimum"], printed(noise=str(noise))
            below = int(_below(rows).sum())
            numbers = {"reading": reading, "noise": noise, "held": of(below, len(rows))}
            numbers["published"] = of(int(_below(theirs).sum()), len(theirs))
            numbers["contains"] = of(int((rows["half"] == rows["best"]).sum()), len(rows))
            numbers["held_optimum"] = of(int(_below(optimum).sum()), len(optimum))
            among = int((optimum["half"] == optimum["best"]).sum())
            numbers["contains_optimum"] = of(among, len(optimum))
            yield _mostly(below, len(rows)), numbers


def _on_half(study: StudyResult) -> Judged:
    theirs = printed()
    more = int((theirs["half"] > theirs["best"]).sum())
    for reading, rows in _as_published(study, "grid", "luck"):
        ours = int((rows["half"] > rows["best"]).sum())
        numbers = {"reading": reading, "held": of(ours, len(rows))}
        yield _mostly(ours, len(rows), MOSTLY), numbers | {"published": of(more, len(theirs))}


def _pairs(rows: pd.DataFrame, name: str) -> pd.DataFrame:
    """Errors at ½ of cells that differ in ``name`` only, side by side."""
    same = [key for key in ("column", "start", "size", "repetition", "noise") if key != name]
    return rows.pivot_table(index=same, columns=name, values="half").dropna()


def _on_pairs(name: str, more: str, less: str) -> Callable[[StudyResult], Judged]:
    def judge(study: StudyResult) -> Judged:
        for reading, rows in _as_published(study, "grid", "luck"):
            pairs = _pairs(rows, name)
            if {more, less} <= set(pairs) and len(pairs):
                held = int((pairs[less] < pairs[more]).sum())
                numbers = {key: pairs[key].median() for key in (more, less)}
                yield (
                    _verdict(held, len(pairs)),
                    {"reading": reading, "held": of(held, len(pairs))} | numbers,
                )

    return judge


def _on_remembers(study: StudyResult) -> Judged:
    for reading, every in _as_published(study, "grid", "luck"):
        for noise, rows in every[every["start"] == "optimum"].groupby("noise", sort=False):
            medians = rows[["half", "late_half", "last_half", "ones"]].median()
            few = [
                medians[name] <= KEPT * medians["ones"]
                for name in ("half", "late_half", "last_half")
            ]
            numbers = {"reading": reading, "noise": noise, "mean": medians["half"]}
            numbers |= {"late": medians["late_half"], "last": medians["last_half"]}
            yield _verdict(sum(few), len(few)), numbers


def _on_burn_in(study: StudyResult) -> Judged:
    for reading, rows in _as_published(study, "grid"):
        correlation = rows["start_correlation"]
        late, whole = rows["late_sd"].median(), rows["all_sd"].median()
        share = (late / whole) ** 2
        explained = [correlation.median() >= GOES_WITH, share <= SAME]
        numbers = {"reading": reading, "correlation": correlation.median(), "late": late}
        numbers |= {"least": correlation.min(), "most": correlation.max(), "whole": whole}
        numbers["share"] = share
        yield _verdict(2 - sum(explained), 2), numbers


def _exact(study: StudyResult, column: str) -> pd.DataFrame:
    table = cells(study, "reference")
    return table[table["column"] == column]


def _on_spread(study: StudyResult) -> Judged:
    exact = _exact(study, "box_gibbs_one")
    for reading, rows in _as_published(study, "grid"):
        same = (rows["column"] == "flat") & (rows["size"] == LARGEST)
        late = rows[same & (rows["start"] == "optimum")]["late_sd"].median()
        drawn = exact[exact["reading"].map(READINGS) == reading]
        if len(drawn) and pd.notna(late):
            sd = drawn["all_sd"].median()
            near, far = late >= (1 - SAME) * sd, late >= SAME * sd
            numbers = {"reading": reading, "late": late, "exact": sd}
            yield "holds" if near else "holds in part" if far else "does not hold", numbers


def _on_sigma(study: StudyResult) -> Judged:
    for problem, rows in _exact(study, "box_gibbs_one").groupby("problem", sort=False):
        wrong, ones = rows["half"].median(), rows["ones"].median()
        numbers = _names(str(problem)) | {"wrong": wrong, "ones": ones, "sets": len(rows)}
        few, many = wrong <= KEPT * ones, wrong >= HALF * ones
        yield "holds" if few else "does not hold" if many else "holds in part", numbers


def _on_gibbs(study: StudyResult) -> Judged:
    table = cells(study, "grid", "luck")
    for problem, rows in _exact(study, "box_gibbs").groupby("problem", sort=False):
        runs = table[(table["problem"] == problem) & (table["start"] == "random")]
        runs = runs[(runs["rank"] == RANK) & runs["column"].isin(PUBLISHED)]
        if len(runs):
            errors, others = rows["half"], runs["half"]
            numbers = _names(str(problem)) | {"gibbs": errors.median(), "sets": len(rows)}
            numbers |= {"least": errors.min(), "most": errors.max(), "iasg": others.median()}
            numbers |= {"seconds": rows["seconds"].median()}
            numbers["iasg_seconds"] = runs["seconds"].median()
            # One run without clamping, against all clamping runs on the same data set.
            gibbs = rows.set_index("repetition")["half"]
            clamped = runs.groupby("repetition")["half"].agg(["median", "min"])
            both = clamped.join(gibbs, how="inner")
            usual = int((both["half"] <= both["median"]).sum())
            best = int((both["half"] <= both["min"]).sum())
            numbers |= {"usual": of(usual, len(both)), "best": of(best, len(both))}
            yield _verdict(len(both) - usual, len(both)), numbers


def _on_beta(study: StudyResult) -> Judged:
    table = cells(study, "grid")
    chosen = table[(table["start"] == "random") & (table["rank"] == RANK)]
    for reading, rows in chosen.groupby("reading", sort=False):
        pairs = _pairs(rows, "column")
        if {"beta", "flat"} <= set(pairs) and len(pairs):
            held = int((pairs["beta"] > pairs["flat"]).sum())
            numbers = {"reading": READINGS[str(reading)], "held": of(held, len(pairs))}
            numbers |= {"beta": pairs["beta"].median(), "flat": pairs["flat"].median()}
            yield _mostly(held, len(pairs), MOSTLY), numbers


def _on_winner(study: StudyResult) -> Judged:
    for reading, rows in _as_published(study, "grid", "luck"):
        chosen = rows[(rows["start"] == "random") & (rows["noise"] == "clean")]
        table = chosen.pivot_table(index="repetition", columns=["column", "size"], values="best")
        table = table.dropna()
        if ("flat", SMALLEST) in table and len(table) and table.shape[1] > 1:
            others = table.drop(columns=[("flat", SMALLEST)])
            held = int((table["flat", SMALLEST] < others.min(axis=1)).sum())
            ranking = ", ".join(
                f"{study.labels[column]} {size} {mean:.4g}"
                for (column, size), mean in table.mean().sort_values().items()
            )
            numbers = {"reading": reading, "held": of(held, len(table)), "told": ranking}
            yield _mostly(held, len(table)), numbers


def _by_length(study: StudyResult, start: str) -> Iterator[tuple[str, pd.DataFrame]]:
    """Problem and its cells of growing length: normal prior, published rank, largest batch."""
    table = cells(study, "grid", "long", "longest")
    chosen = table[(table["column"] == "normal") & (table["start"] == start)]
    chosen = chosen[(chosen["rank"] == RANK) & (chosen["size"] == LARGEST)]
    outputs = [study.settings[PARTS[part]["length"]] for part in chosen["part"]]
    chosen = chosen.assign(outputs=outputs).sort_values("outputs")
    for problem, rows in chosen.groupby("problem", sort=False):
        if len(rows) > 1:
            yield str(problem), rows


def _falls(values: pd.Series) -> str:
    """Verdict on a fall of the values; a final 0 counts as a fall."""
    after = values.iloc[1:]
    fell = (values.diff().iloc[1:] < 0) | ((after == 0) & (values.iloc[0] > 0))
    return _verdict(int(fell.sum()), len(after))


def _after(rows: pd.DataFrame, quantity: str) -> str:
    pairs = zip(rows["outputs"], rows[quantity], strict=True)
    return ", ".join(f"{value:.3g} after {outputs:,}" for outputs, value in pairs)


def _on_longer(study: StudyResult) -> Judged:
    for problem, rows in _by_length(study, "random"):
        yield _falls(rows["half"]), _names(problem) | {"told": _after(rows, "half")}


def _on_vanishes(study: StudyResult) -> Judged:
    for start in ("random", "optimum"):
        for problem, rows in _by_length(study, start):
            numbers = {"start": start, "told": _after(rows, "all_sd")}
            numbers["late"] = _after(rows, "late_sd")
            yield _falls(rows["all_sd"]), _names(problem) | numbers


def _largest(study: StudyResult, prior: str) -> dict[str, tuple[float, list[float]]]:
    """Case → the largest log density of three variables, and its position."""
    rows = study.values[(study.values["part"] == "three") & (study.values["problem"] == prior)]
    found = {}
    for case, part in rows.groupby("column", sort=False):
        values = part.groupby("quantity")["value"]
        found[str(case)] = (
            float(values.get_group("largest").iloc[0]),
            sorted(values.get_group("largest_at")),
        )
    return found


def _three_sentence(found: dict[str, tuple[float, list[float]]]) -> str:
    return "; ".join(
        f"({case}) {value + 0.0:.4f} at {', '.join(f'{x:.3f}' for x in point)}"
        for case, (value, point) in found.items()
    )


def _on_inconsistent(study: StudyResult) -> Judged:
    found = {case: v for case, v in _largest(study, "flat").items() if case.count("1") == 2}
    if found:
        off = [any(0.01 < x < 0.99 for x in point) for _, point in found.values()]
        yield _verdict(sum(off), len(off)), {"told": _three_sentence(found)}


def _on_pulled(study: StudyResult) -> Judged:
    found = _largest(study, "normal")
    if found:
        pulled = [max(point) < 0.01 for _, point in found.values()]
        yield _verdict(sum(pulled), len(pulled)), {"told": _three_sentence(found)}


def _names(problem: str) -> dict[str, str]:
    return {"reading": READINGS[problem.partition("_")[0]], "noise": PROBLEMS[problem].noise}


def _verdict(holding: int, of_all: int) -> str:
    if holding >= of_all:
        return "holds"
    return "holds in part" if holding else "does not hold"


def _mostly(holding: int, of_all: int, most: float = 0.5) -> str:
    """Verdict on a claim about most cases: above this fraction, above half of it, or below."""
    if holding > most * of_all:
        return "holds"
    return "holds in part" if holding > most * of_all / 2 else "does not hold"


JUDGES: dict[str, Callable[[StudyResult], Judged]] = {
    "density": _on_density,
    "optimum": _on_optimum,
    "collapse": _on_collapse,
    "too_little": _on_too_little,
    "threshold": _on_threshold,
    "half": _on_half,
    "easier": _on_pairs("start", "random", "optimum"),
    "noisier": _on_pairs("noise", "noisy", "clean"),
    "remembers": _on_remembers,
    "burn_in": _on_burn_in,
    "spread": _on_spread,
    "sigma": _on_sigma,
    "gibbs": _on_gibbs,
    "beta": _on_beta,
    "winner": _on_winner,
    "longer": _on_longer,
    "vanishes": _on_vanishes,
    "inconsistent": _on_inconsistent,
    "pulled": _on_pulled,
}
