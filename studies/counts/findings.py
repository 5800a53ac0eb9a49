"""Findings of the study of counts: planted ranks, and the noise of topics."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from bnmf_core.analysis.ranks import RankQuestion
from bnmf_core.findings.ranks import STRONG
from studies.counts.plan import WORDS
from studies.counts.planted import GRADES, NOISES, RESTARTS
from studies.counts.topics import LOSSES
from studies.result import StudyResult
from studies.words import of

Table = dict[str, Any]
# Target fraction of rank studies that name the planted rank and are not open.
TARGET = 0.9
PLANTED, TOPICS = WORDS["planted"], WORDS["topics"]
OPEN = GRADES.index("open")
PLACE = ["problem", "column", "repetition"]
# Quantities of topics of which less is better.
LESS = ("nats",)
JUDGED = ("coherence", "auc", "nats")


def part_of(study: StudyResult, part: str) -> pd.DataFrame:
    """The rows of one part."""
    return study.values[study.values["part"] == part]


def planted(study: StudyResult) -> pd.DataFrame:
    """A row for each rank study of planted counts.

    ``problem`` (the noise), ``rank`` (planted), ``chosen``, ``grade``, ``evidence``, ``hidden``,
    ``variation``, ``lead`` (of the right noise, NaN where not computed), ``seconds``, ``right``,
    ``open``, ``ahead`` (nats from the best other rank to the planted one), ``first``
    (nats from the best evidence to the second), ``edge`` (whether the best is at an end).
    """
    rows = part_of(study, "planted")
    whole = rows[rows["x"] == 0].pivot_table(
        index=PLACE, columns="quantity", values="value", sort=False
    )
    if whole.empty:
        return whole
    if "lead" not in whole:
        whole["lead"] = float("nan")
    found = whole.reset_index()
    found["rank"] = found["column"].astype(int)
    found["right"], found["open"] = found["chosen"] == found["rank"], found["grade"] == OPEN
    evidence = rows[rows["quantity"] == "log_evidence"].set_index(PLACE)
    each = [evidence.loc[tuple(place)].set_index("x")["value"] for place in found[PLACE].to_numpy()]
    found["ahead"] = [
        float(nats[rank] - nats.drop(rank).max())
        for nats, rank in zip(each, found["rank"], strict=True)
    ]
    found["first"] = [float(nats.nlargest(2).iloc[0] - nats.nlargest(2).iloc[-1]) for nats in each]
    found["edge"] = [
        nats.idxmax() == nats.index.max() or nats.idxmax() == nats.index.min() > 1 for nats in each
    ]
    return found


def planted_answer(study: StudyResult) -> str:
    """The paragraph on planted ranks; "" without measurements."""
    found = planted(study)
    if found.empty:
        return ""
    good, wrong = found["right"] & ~found["open"], found[~found["right"]]
    by_noise = ", ".join(
        PLANTED["by_noise"].format(
            label=study.labels[noise], right=int(good[part.index].sum()), made=len(part)
        )
        for noise, part in found.groupby("problem", sort=False)
    )
    share = float(good.mean())
    met = WORDS["met"] if share >= TARGET else WORDS["missed"]
    whole = study.settings["repetitions"] * len(study.settings["planted"]) * len(NOISES)
    unfinished = WORDS["unfinished"].format(made=len(found), whole=whole)
    unfinished = unfinished if len(found) < whole else ""
    template = "wrong" if len(wrong) else "wrong_none"
    sentences = [
        PLANTED["answer"].format(
            right=int(good.sum()),
            made=len(found),
            share=share,
            target=WORDS["target"].format(target=TARGET, met=met, unfinished=unfinished),
            by_noise=by_noise,
            wrong=PLANTED[template].format(
                wrong=len(wrong), open_=of(int(wrong["open"].sum()), len(wrong))
            ),
            evidence=PLANTED["evidence"].format(
                right=int((found["evidence"] == found["rank"]).sum()), made=len(found)
            ),
        ),
        *_shy(found[found["right"] & found["open"]]),
        *_misses(study, found),
        *_noise(study, found),
    ]
    return " ".join(sentences)


def _shy(found: pd.DataFrame) -> Iterator[str]:
    """Reasons why studies that name the planted rank are open."""
    edge = found["edge"] | (found["first"] <= 0)
    lead = ~edge & (found["first"] < STRONG)
    counts = {"shy_edge": edge, "shy_lead": lead, "shy_hidden": ~edge & ~lead}
    parts = [
        PLANTED[key].format(count=int(where.sum()), strong=STRONG)
        for key, where in counts.items()
        if where.any()
    ]
    if parts:
        yield PLANTED["shy"].format(count=len(found), parts=", ".join(parts))


def _misses(study: StudyResult, found: pd.DataFrame) -> Iterator[str]:
    """Studies that name another rank."""
    parts = []
    for (noise, rank), part in found.groupby(["problem", "rank"], sort=False):
        wrong = part[~part["right"]]
        if len(wrong):
            named = ", ".join(f"{rank:g}" for rank in sorted(set(wrong["chosen"])))
            numbers = {"rank": rank, "count": len(wrong), "made": len(part), "named": named}
            parts.append(PLANTED["miss"].format(label=study.labels[noise], **numbers))
    if parts:
        yield PLANTED["misses"].format(parts=", ".join(parts))


def _noise(study: StudyResult, found: pd.DataFrame) -> Iterator[str]:
    """Whether evidence identifies the noise."""
    known = found[found["lead"].notna()]
    parts = ", ".join(
        PLANTED["noise_part"].format(
            label=study.labels[noise], least=part["lead"].min(), most=part["lead"].max()
        )
        for noise, part in known.groupby("problem", sort=False)
    )
    if parts:
        right = int((known["lead"] > 0).sum())
        yield PLANTED["noise"].format(right=right, made=len(known), parts=parts)


def planted_tables(study: StudyResult) -> Iterator[Table]:
    """Rank studies by noise and planted rank."""
    found, rows = planted(study), []
    if found.empty:
        return
    for (noise, rank), part in found.groupby(["problem", "rank"], sort=False):
        counts = [
            int((part["right"] == right).where(part["open"] == is_open, False).sum())
            for right, is_open in ((True, False), (True, True), (False, True), (False, False))
        ]
        evidence = int((part["evidence"] == part["rank"]).sum())
        lead = f"{part['ahead'].min():.0f}, {part['ahead'].median():.0f}"
        ends = f"{part['variation'].median():.1f}", f"{part['seconds'].mean() / 60:.1f}"
        rows.append((study.labels[noise], rank, len(part), *counts, evidence, lead, *ends))
    words = PLANTED["tables"]
    yield {"title": words["ranks"], "columns": tuple(words["columns"]), "rows": rows}


def summary(study: StudyResult, part: str) -> str:
    """A sentence on the data of a part, and on the method."""
    usual = RankQuestion.most_modes
    factor = usual / min(usual, study.settings["weighed"])
    pages = {"page_modes": usual, "page_restarts": RankQuestion.restarts}
    numbers = pages | {"rank_restarts": RESTARTS, "factor": factor}
    return str(WORDS["parts"][part]["summary"].format(**study.settings | numbers))


def topics(study: StudyResult) -> pd.DataFrame:
    """Columns problem (the collection), column (the rank), model, quantity, x and value."""
    rows = part_of(study, "topics")
    rows = rows[rows["quantity"].str.contains(" ")]
    names = rows["quantity"].str.split(" ", expand=True)
    return rows.assign(model=names[0], quantity=names[1]) if len(rows) else rows


def topics_answer(study: StudyResult) -> str:
    """The paragraph on topics; "" without measurements."""
    found = topics(study)
    if found.empty:
        return ""
    parts = " ".join(_compared(study, found, quantity) for quantity in JUDGED)
    means = found[found["quantity"] == "shared"].groupby("model")["value"].mean()
    of_documents = (
        part_of(study, "topics").groupby(["problem", "quantity"], sort=False)["value"].first()
    )
    corpora = list(dict.fromkeys(found["problem"]))
    counts, squares = (
        ", ".join(f"{of_documents[key, name]:.0%}" for key in corpora)
        for name in ("counts", "squares")
    )
    labels = ", ".join(study.labels[key] for key in corpora)
    single = found[found["quantity"] == "single"].groupby("model")["value"].mean()
    return str(
        TOPICS["answer"].format(
            parts=parts,
            shared=TOPICS["shared"].format(words=study.settings["words"], **means),
            why=TOPICS["why"].format(counts=counts, squares=squares, labels=labels, **single),
        )
    )


def _compared(study: StudyResult, found: pd.DataFrame, quantity: str) -> str:
    """Number of cases where every restart of one noise is better than all of the other."""
    rows = found[found["quantity"] == quantity]
    sign = -1.0 if quantity in LESS else 1.0
    better = dict.fromkeys(LOSSES, 0)
    cases = rows.groupby(["problem", "column"], sort=False)
    for _, part in cases:
        values = {model: sign * of_model["value"] for model, of_model in part.groupby("model")}
        for model, other in (tuple(LOSSES), tuple(LOSSES)[::-1]):
            better[model] += values[model].min() > values[other].max()
    first, second = sorted(better, key=lambda model: -better[model])
    name = TOPICS["quantities"][quantity]
    numbers = {"quantity": name[0].upper() + name[1:], "cases": len(cases)}
    if not better[first]:
        return str(TOPICS["neither"].format(**numbers))
    others = ""
    if better[second]:
        others = TOPICS["others"].format(other=study.labels[second], count=better[second])
    label = study.labels[first]
    return str(
        TOPICS["compared"].format(better=label, clear=better[first], others=others, **numbers)
    )


def topics_evidence(study: StudyResult) -> Iterator[str]:
    """Log evidence of the models on a few documents, a sentence for each collection."""
    rows = part_of(study, "evidence")
    for key, part in rows.groupby("problem", sort=False):
        wide = part.pivot_table(index="column", columns="quantity", values="value", sort=False)
        parts = ", ".join(
            f"{study.labels[model]} {row['log_evidence']:,.0f} ± {row['error']:.1f} nats"
            for model, row in wide.iterrows()
        )
        sizes = {name: int(wide[name].iloc[0]) for name in ("documents", "terms")}
        rank = study.settings["few_rank"]
        yield TOPICS["evidence"].format(corpus=study.labels[key], rank=rank, parts=parts, **sizes)


def topics_tables(study: StudyResult) -> Iterator[Table]:
    """Quantities of all restarts."""
    found = topics(study)
    if found.empty:
        return
    names = TOPICS["quantities"]
    rows = []
    for (key, rank, model), part in found.groupby(["problem", "column", "model"], sort=False):
        values = part.groupby("quantity")["value"].agg(["mean", "min", "max"])
        if model in LOSSES:
            cells = [
                f"{mean:.3f} ({least:.3f}–{most:.3f})"
                for mean, least, most in values.loc[list(names)].itertuples(index=False)
            ]
            rows.append((study.labels[key], int(rank), study.labels[model], *cells))
    columns = ("collection", "rank", "noise", *names.values())
    yield {"title": TOPICS["tables"]["quantities"], "columns": columns, "rows": rows}
