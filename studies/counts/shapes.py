"""Findings of the study of counts on signatures: their number, and the published shapes."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import optimize, sparse

from bnmf_core.evidence.variation import BEYOND_POISSON
from studies.counts.findings import Table, part_of
from studies.counts.plan import WORDS, facts_of
from studies.counts.planted import GRADES
from studies.counts.signatures import MODELS, genomes, shapes, turned
from studies.counts.topics import concentration
from studies.result import StudyResult

SIGNATURES = WORDS["signatures"]
# A component has a published shape if its share is at least this multiple of a uniform one's,
# or its overlap with a uniform one at least this large.
TIMES, EVEN = 5.0, 0.75
TINY = 1e-12
# The model whose components are compared with published signatures.
OURS, DISPERSED = "poisson", "negative_binomial"
SHARES = {"A": "cpg", "B": "tct", "E": "tcg"}


@dataclass(frozen=True)
class Shape:
    """A published signature and its most similar component: ``component`` from 0."""

    name: str
    component: int
    found: bool
    numbers: str


def bases(study: StudyResult) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Model → A (96, R), columns that sum to 1, and the part of all counts of each (R,)."""
    parts = {place[1]: parts for place, parts in facts_of(study, "signatures", "parts")}
    return {
        place[1]: (np.array(A), np.array(parts[place[1]]))
        for place, A in facts_of(study, "signatures", "A")
    }


def published(A: np.ndarray) -> list[Shape]:
    """Match the published signatures A to E with distinct components of A (96, R).

    A, B and E have the components at which the product of their shares is largest, D the most even
    one of the others, C the one of the rest with the most C>T.
    """
    of_each, usual = shapes(A), shapes(np.full((A.shape[0], 1), 1.0 / A.shape[0]))
    times = np.array([of_each[key] / usual[key] for key in SHARES.values()])
    named, chosen = optimize.linear_sum_assignment(-np.log(times + TINY))
    found = [
        _shape(name, r, times[k, r] >= TIMES, times=times[k, r], share=of_each[key][r])
        for k, r, (name, key) in zip(named, chosen, SHARES.items(), strict=False)
    ]
    rest = [r for r in range(A.shape[1]) if r not in chosen]
    if rest:
        even = max(rest, key=lambda r: of_each["even"][r])
        share = of_each["even"][even]
        found.append(_shape("D", even, share >= EVEN, share=share))
        rest.remove(even)
    if rest:
        most = max(rest, key=lambda r: of_each["ct"][r])
        kind = of_each["kinds"][most]
        found.append(_shape("C", most, kind == "C>T", share=of_each["ct"][most], first=kind))
    return sorted(found, key=lambda one: one.name)


def _shape(name: str, component: int, found: bool, **numbers: object) -> Shape:
    words = SIGNATURES["rules"][name].format_map(numbers)
    return Shape(name, int(component), bool(found), words)


def signatures_answer(study: StudyResult) -> str:
    """The paragraph on signatures; "" without measurements."""
    rows = part_of(study, "signatures")
    if rows.empty:
        return ""
    values = rows[rows["x"] == 0].groupby(["problem", "quantity"])["value"].first()
    models = [model for model in MODELS if (model, "chosen") in values]
    chosen = []
    for model in models:
        rank = int(values[model, "chosen"])
        edge = SIGNATURES["edge"] if rank == study.settings["most"] else ""
        grade = GRADES[int(values[model, "grade"])]
        label = study.labels[model]
        chosen.append(SIGNATURES["chosen"].format(label=label, grade=grade, rank=rank) + edge)
    ratio = float(values[models[0], "variation"])
    beyond = SIGNATURES["variation" if ratio > BEYOND_POISSON else "within"]
    parts = ["; ".join(chosen) + ".", beyond.format(ratio=ratio), *_noise(study)]
    ranks = values.get((OURS, "chosen"), 0), values.get((DISPERSED, "chosen"), float("inf"))
    if ratio > BEYOND_POISSON and ranks[0] > ranks[1]:
        parts.append(SIGNATURES["more"])
    known = bases(study)
    if OURS in known:
        shown = published(known[OURS][0])
        own = [shape.name for shape in shown if shape.found]
        lacking = ", ".join(name for name in SIGNATURES["shapes"] if name not in own)
        missing = SIGNATURES["missing"].format(names=lacking) if lacking else ""
        numbers = {"rank": study.settings["published"], "all": len(SIGNATURES["shapes"])}
        parts.append(SIGNATURES["shapes_found"].format(found=len(own), missing=missing, **numbers))
        angles = [
            SIGNATURES["angles"].format(
                label=study.labels[model],
                median=np.median(turned(A, known[OURS][0])[1]),
                most=turned(A, known[OURS][0])[1].max(),
            )
            for model, (A, _) in known.items()
            if model != OURS
        ]
        if angles:
            parts.append(SIGNATURES["turned"].format(parts="; ".join(angles)))
    one = concentration(sparse.csc_array(genomes().dense()))
    return SIGNATURES["answer"].format(parts=" ".join([*parts, SIGNATURES["why"].format(**one)]))


def _noise(study: StudyResult) -> Iterator[str]:
    """The noise with the largest evidence, and its lead."""
    rows = part_of(study, "signatures").query("quantity == 'log_evidence'")
    best = rows.groupby("problem")["value"].max().sort_values(ascending=False)
    if len(best) > 1:
        leads = ", ".join(
            SIGNATURES["lead"].format(label=study.labels[model], nats=best.iloc[0] - value)
            for model, value in best.iloc[1:].items()
        )
        rank = study.settings["published"]
        ours = rows[(rows["problem"] == best.index[0]) & (rows["x"] == rank)]["value"].iloc[0]
        yield SIGNATURES["noise"].format(
            label=study.labels[best.index[0]],
            leads=leads,
            published=rank,
            behind=best.iloc[0] - ours,
        )


def signatures_tables(study: StudyResult) -> Iterator[Table]:
    """Log evidence by rank, the published shapes, and the components with their angles."""
    rows = part_of(study, "signatures")
    if rows.empty:
        return
    titles, rank = SIGNATURES["tables"], study.settings["published"]
    yield {"title": titles["ranks"], **_ranks(study)}
    known = bases(study)
    if OURS not in known:
        return
    A, parts = known[OURS]
    shown = published(A)
    title = titles["shapes"].format(rank=rank, times=TIMES, even=EVEN)
    table = [
        (
            shape.name,
            SIGNATURES["shapes"][shape.name],
            shape.component + 1,
            "yes" if shape.found else "no",
            shape.numbers,
        )
        for shape in shown
    ]
    columns: tuple[Any, ...] = ("published", "shape", "component", "found", "numbers")
    yield {"title": title, "columns": columns, "rows": table}
    others = {model: turned(B, A)[1] for model, (B, _) in known.items() if model != OURS}
    of_each = shapes(A)
    table = [
        (
            r + 1,
            f"{parts[r]:.0%}",
            *(f"{of_each[key][r]:.0%}" for key in ("cpg", "tct", "tcg", "ct", "even")),
            *(f"{angles[r]:.0f}°" for angles in others.values()),
        )
        for r in range(A.shape[1])
    ]
    columns = (
        *SIGNATURES["columns"],
        *(SIGNATURES["to"].format(label=study.labels[model]) for model in others),
    )
    yield {"title": titles["components"].format(rank=rank), "columns": columns, "rows": table}


def _ranks(study: StudyResult) -> Table:
    """Log evidence of ranks by models, the chosen rank and grade, and that by hidden entries."""
    rows = part_of(study, "signatures")
    values = rows.groupby(["quantity", "x", "problem"], sort=False)["value"].first()
    models = list(dict.fromkeys(rows["problem"]))
    ranks = sorted(rows["x"][rows["x"] > 0].unique())
    table: list[tuple[Any, ...]] = [
        (
            str(rank),
            *(
                f"{values['log_evidence', rank, model]:,.0f} ({values['error', rank, model]:.1f})"
                for model in models
            ),
        )
        for rank in ranks
    ]
    chosen = [int(values["chosen", 0, model]) for model in models]
    grades = [GRADES[int(values["grade", 0, model])] for model in models]
    recommended = [f"{rank}, {grade}" for rank, grade in zip(chosen, grades, strict=True)]
    hidden = [f"{values['hidden', 0, model]:g}" for model in models]
    table += [("recommended", *recommended), ("by hidden entries", *hidden)]
    return {"columns": ("rank", *(study.labels[model] for model in models)), "rows": table}
