"""The study of counts on the command line and in the documentation."""

from collections.abc import Callable, Collection

from bnmf_core.data.channels import channels
from studies.counts import findings, shapes
from studies.counts.plan import PARTS, SHORT, WORDS, CountsStudy
from studies.counts.signatures import genomes, turned
from studies.drawing.boxes import boxes
from studies.drawing.panels import Panel, panels
from studies.report import Report, Section, machine
from studies.result import StudyResult

ANSWERS: dict[str, Callable[[StudyResult], str]] = {
    "planted": findings.planted_answer,
    "signatures": shapes.signatures_answer,
    "topics": findings.topics_answer,
}
TABLES = {
    "planted": findings.planted_tables,
    "signatures": shapes.signatures_tables,
    "topics": findings.topics_tables,
}


def sections(found: StudyResult, drawn: Collection[str] = ()) -> list[Section]:
    """An answer to each question, then a section with tables for each part that was measured."""
    answers = {part: answer(found) for part, answer in ANSWERS.items()}
    summary = [line for part in answers.values() if part for line in (part, "")]
    summary += [WORDS["where"].format(where=machine(found)), *found.notes]
    first: Section = {"title": WORDS["title"], "summary": summary, "tables": [], "plots": []}
    return [first, *(_of_part(found, part, drawn) for part in PARTS if answers[part])]


def _of_part(found: StudyResult, part: str, drawn: Collection[str]) -> Section:
    summary = [findings.summary(found, part)]
    if part == "topics":
        summary += findings.topics_evidence(found)
    plots = [path for path in drawn if path.startswith(part)]
    tables = list(TABLES[part](found))
    return {"title": PARTS[part], "summary": summary, "tables": tables, "plots": plots}


def figures(found: StudyResult) -> dict[str, str]:
    """File name → SVG: components of signatures by the model, and coherence of topics."""
    drawn = {}
    known = shapes.bases(found)
    if shapes.OURS in known:
        drawn["signatures.svg"] = _components(found)
    coherences = findings.topics(found)
    if len(coherences):
        coherences = coherences[coherences["quantity"] == "coherence"]
        series = {
            f"{found.labels[key]}, {rank}: {found.labels[model]}": part["value"].to_numpy()
            for (key, rank, model), part in coherences.groupby(
                ["problem", "column", "model"], sort=False
            )
        }
        title = WORDS["figures"]["topics"]
        drawn["topics.svg"] = boxes(title, WORDS["topics"]["quantities"]["coherence"], series, {})
    return dict(sorted(drawn.items()))


def _components(found: StudyResult) -> str:
    """A row of bars for each model, channels as COSMIC draws them, components aligned."""
    known, order = shapes.bases(found), channels(genomes().features).drawn_order
    reference, _ = known[shapes.OURS]
    most = max(float(A.max()) for A, _ in known.values())
    rows = []
    for model, (A, _) in known.items():
        aligned = A[:, turned(A, reference)[0]][order]
        rows.append(
            [
                Panel(
                    f"{found.labels[model]}, {r + 1}",
                    x=(0.0, float(len(order))),
                    y=(0.0, most),
                    bars={"": list(enumerate(column.tolist()))},
                )
                for r, column in enumerate(aligned.T)
            ]
        )
    words = WORDS["figures"]
    return panels(words["signatures"], rows, words["channels"], words["share"], height=70)


# One cell at a time: a rank study uses the cores by itself.
REPORT = Report("counts", WORDS, CountsStudy(), SHORT, sections, figures, workers=1)
