"""Figures 3.1 to 4.12 of paper 4, from the measurements."""

from collections.abc import Iterator
from dataclasses import fields

import numpy as np
import pandas as pd

from bnmf_core.boolean.model import LOG_TOTALS, PRIORS
from studies.boolean.findings import PUBLISHED, RANK, cells, printed
from studies.boolean.measure import BINS, CASES, DRAWN, BooleanPlan, noise_free, table, three
from studies.boolean.plan import PARTS, WORDS
from studies.drawing.panels import Panel, panels
from studies.result import StudyResult

STARTS = ("random", "optimum")
SIZES = ("75", "250", "512")
CUTS = (0.0, 0.25, 0.5, 0.75, 1.0)
TITLES: dict[str, str] = WORDS["figures"]


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG of the figures whose numbers were measured."""
    drawn = {"figure_3_1.svg": _priors()}
    if "problem" in found.values and found.values["problem"].eq(DRAWN).any():
        drawn |= dict(_data(found))
    if found.values["part"].eq("three").any():
        for name, prior in (("figure_4_2.svg", "flat"), ("figure_4_3.svg", "normal")):
            drawn[name] = _three(name, prior)
    drawn |= dict(_traces(found)) | dict(_images(found)) | dict(_histograms(found))
    drawn |= dict(_scatters(found)) | dict(_intervals(found))
    return dict(sorted(drawn.items()))


def _title(name: str) -> str:
    number = name.removesuffix(".svg").removeprefix("figure_").split("_")
    return f"Figure {'.'.join(number[:2])}: {TITLES['_'.join(number[:2])]}"


def _priors() -> str:
    at = np.linspace(0.005, 0.995, 199)
    lines = {}
    for name, prior in PRIORS.items():
        slope = -0.5 * np.log(at * (1 - at))
        if prior is not None:
            slope = -prior.rate * at - 0.5 * prior.precision * at**2
        density = np.exp(slope - LOG_TOTALS[name])
        lines[WORDS["priors"][name]] = list(zip(at, np.minimum(density, 3.0), strict=True))
    return panels(_title("figure_3_1"), [[Panel("", y=(0.0, 3.0), lines=lines)]], "x", "density")


def _data(found: StudyResult) -> Iterator[tuple[str, str]]:
    known = {one.name for one in fields(BooleanPlan)}
    plan = BooleanPlan(**{k: v for k, v in found.settings.items() if k in known})
    factors, tables = [], []
    for problem in (DRAWN, DRAWN.replace("implied", "stated")):
        data, label = table(problem, 0, plan), found.labels[problem]
        truth, X, C = data.truth[0], np.asarray(data.X), noise_free(data).astype(float)
        factors.append([Panel(f"A, {label}", image=truth.A), Panel("Wᵀ", image=truth.W.T)])
        flips = {"C": C, "X": X, "N, 1 → 0": (C > X) * 1.0, "P, 0 → 1": (X > C) * 1.0}
        tables.append([Panel(f"{name}, {label}", image=image) for name, image in flips.items()])
    yield "figure_3_4.svg", panels(_title("figure_3_4"), factors)
    yield "figure_3_5.svg", panels(_title("figure_3_5"), tables)


def _three(name: str, prior: str) -> str:
    at = np.linspace(0.0, 1.0, 41)
    x, y = np.meshgrid(at, at)
    rows = []
    for cut in CUTS:
        row = []
        for case in CASES:
            value = three(case, prior).log_density(np.stack([x, y, np.full_like(x, cut)]))
            best = np.unravel_index(value.argmax(), value.shape)
            shown = np.exp(2.0 * (value - value.max()))[::-1]
            title = f"({case}), z = {cut:g}"
            row.append(Panel(title, image=shown, points={"": [(at[best[1]], at[best[0]])]}))
        rows.append(row)
    return panels(_title(name), rows, "x", "y")


def _of(found: StudyResult, quantity: str, **chosen: str) -> pd.DataFrame:
    """x and value of a quantity in the drawn cells."""
    values = found.values
    keep = (values["quantity"] == quantity) & (values["problem"] == DRAWN)
    for name, wanted in chosen.items():
        keep &= values[name] == wanted
    return values[keep].sort_values("x")


def _pairs(rows: pd.DataFrame) -> list[tuple[float, float]]:
    return list(zip(rows["x"], rows["value"], strict=True))


def _traces(found: StudyResult) -> Iterator[tuple[str, str]]:
    rows = []
    for start in STARTS:
        row = []
        for size in SIZES:
            lines = {}
            for column in WORDS["priors"]:
                same = {"part": "grid", "column": column, "start": start}
                trace = _of(found, "trace", rank=RANK, size=size, **same)
                if len(trace):
                    y = np.log10(np.maximum(-trace["value"], 1.0))
                    lines[found.labels[column]] = list(zip(np.log10(trace["x"]), y, strict=True))
            if lines:
                pairs = np.concatenate([np.array(line) for line in lines.values()])
                (right, top), bottom = pairs.max(axis=0), pairs[:, 1].min()
                ends = (float(np.floor(bottom)), float(np.ceil(top + 1e-9)))
                x = (0.0, max(1.0, float(right)))
                row.append(Panel(f"{start}, S {size}", x=x, y=ends, lines=lines))
        if row:
            rows.append(row)
    if rows:
        labels = "log₁₀ of the output", "log₁₀ of −log likelihood"
        yield "figure_4_1.svg", panels(_title("figure_4_1"), rows, *labels)


def _images(found: StudyResult) -> Iterator[tuple[str, str]]:
    rows = []
    side, rank = found.settings.get("side", 0), found.settings.get("tiles", 0)
    for start in STARTS:
        row = []
        for factor, label in (("A", "A"), ("W", "Wᵀ")):
            part = _of(found, f"image_{factor}", start=start)
            if len(part):
                image = np.zeros((side, rank))
                image.flat[part["x"].astype(int)] = part["value"]
                row.append(Panel(f"{label}, {start} start", image=image))
        if row:
            rows.append(row)
    if rows:
        yield "figure_4_4.svg", panels(_title("figure_4_4"), rows)


def _histograms(found: StudyResult) -> Iterator[tuple[str, str]]:
    for name, part in (("figure_4_5.svg", "grid"), ("figure_4_6.svg", "long")):
        rows = []
        for start in STARTS:
            row = []
            for factor in ("A", "W"):
                same = {"part": part, "column": "normal", "rank": RANK, "size": "512"}
                counts = _of(found, f"histogram_{factor}", start=start, **same)
                if len(counts):
                    near_zero, rest = counts["value"].iloc[0], counts.iloc[1:]
                    bars = [(x / BINS, value) for x, value in _pairs(rest)]
                    title = f"{factor}, {start}; near 0: {near_zero:,.0f}"
                    top = (0.0, max(1.0, float(rest["value"].max())))
                    row.append(Panel(title, y=top, bars={"": bars}))
            if row:
                rows.append(row)
        if rows:
            yield name, panels(_title(name), rows, "mean of an entry", "entries")


def _scatters(found: StudyResult) -> Iterator[tuple[str, str]]:
    """Means against standard deviations, or against the mean gradient (figure 4.9)."""
    lengths = [
        {"part": part, "rank": rank} for rank in (RANK,) for part in ("grid", "long", "longest")
    ]
    wanted: dict[str, tuple[str, list[list[dict[str, str]]]]] = {
        "figure_4_7.svg": (
            "point_sd",
            [
                [{"start": s, "column": "normal", "size": "512"} | length for length in lengths]
                for s in STARTS
            ],
        ),
        "figure_4_8.svg": ("point_sd", [_by_prior("random", size) for size in SIZES]),
        "figure_4_9.svg": ("point_gradient", [_by_prior(start, "512") for start in STARTS]),
    }
    for name, rank in (("figure_4_10.svg", "20"), ("figure_4_11.svg", "40")):
        rows = [
            [
                {"start": s, "column": "normal", "size": "512", "part": part, "rank": rank}
                for part in ("grid", "long")
            ]
            for s in STARTS
        ]
        wanted[name] = ("point_sd", rows)
    for name, (quantity, rows) in wanted.items():
        made = [[one for c in row if (one := _scatter(found, quantity, c))] for row in rows]
        made = [row for row in made if row]
        if made:
            label = "standard deviation" if quantity == "point_sd" else "mean gradient"
            yield name, panels(_title(name), made, "mean of an entry", label)


def _by_prior(start: str, size: str) -> list[dict[str, str]]:
    same = {"part": "grid", "start": start, "size": size, "rank": RANK}
    return [same | {"column": column} for column in PUBLISHED]


def _scatter(found: StudyResult, quantity: str, chosen: dict[str, str]) -> Panel | None:
    means, others = _of(found, "point_mean", **chosen), _of(found, quantity, **chosen)
    if means.empty:
        return None
    outputs = found.settings[PARTS[chosen["part"]]["length"]]
    title = f"{chosen['column']}, {chosen['start']}, S {chosen['size']}, {outputs:,}"
    values = others["value"]
    ends = (min(0.0, float(values.min())), max(1e-6, float(values.max())))
    pairs = list(zip(means["value"], values, strict=True))
    return Panel(title, y=ends, points={"": pairs})


def _intervals(found: StudyResult) -> Iterator[tuple[str, str]]:
    ours = cells(found, "grid")
    ours = ours[ours["column"].isin(PUBLISHED) & (ours["rank"] == RANK)]
    if ours.empty:
        return
    groups = {f"ours, {reading}": rows for reading, rows in ours.groupby("reading", sort=False)}
    panels_of = []
    for start in STARTS:
        row = []
        for title, rows in (groups | {"published": printed()}).items():
            part = rows[rows["start"] == start].sort_values(["noise", "column", "size"])
            if len(part):
                lines = zip(part["low"], part["high"], range(len(part)), strict=True)
                half = [(0.5, -1.0), (0.5, float(len(part)))]
                panel = Panel(
                    f"{title}, {start}",
                    y=(-1.0, float(len(part))),
                    stretches={"best thresholds": list(lines)},
                    lines={"½": half},
                )
                row.append(panel)
        if row:
            panels_of.append(row)
    yield "figure_4_12.svg", panels(_title("figure_4_12"), panels_of, "threshold", "runs")
