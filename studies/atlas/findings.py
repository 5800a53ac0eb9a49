"""Tables of the atlas: modes, verdicts, changes by other seeds, and sources of data."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

from bnmf_core.compare.conclusions import MATTERS, OPEN, SAME
from bnmf_core.core.names import listed, percent
from bnmf_core.findings.components import AMBIGUOUS, DETERMINED, PROVISIONAL
from bnmf_core.findings.verdicts import UNCLEAR, WAITING
from studies.atlas.measure import PUBLISHED, RECOMMENDED
from studies.atlas.plan import WORDS
from studies.atlas.sources import SOURCES
from studies.result import StudyResult, full
from studies.words import of

Table = dict[str, Any]
Of = tuple[str, str, int]
Ranked = tuple[str, dict[str, Any]]
# Label, kind of rank and cell of the first seed.
First = tuple[str, str, dict[str, Any]]
UNDECIDED = (UNCLEAR, WAITING)
NONE = "—"
# States of components, in the order of the table.
STATES = (DETERMINED, PROVISIONAL, AMBIGUOUS)
JUDGED = (MATTERS, OPEN, SAME)


def cells(study: StudyResult) -> dict[Of, dict[str, Any]]:
    """Results by data set, kind of rank and seed."""
    return {
        (key, of_rank, int(seed)): stored["cell"]
        for name, stored in study.settings["cells"].items()
        for key, of_rank, seed in [name.split("|")]
    }


def by_data(study: StudyResult) -> dict[str, list[Ranked]]:
    """Data set → kind of rank and cell of the first seed; one where both ranks are the same.

    The recommended number comes first.
    """
    found: dict[str, list[Ranked]] = {}
    for (key, of_rank, seed), cell in sorted(cells(study).items(), key=_recommended_first):
        ranked = found.setdefault(key, [])
        if seed == 0 and all(cell["rank"] != before["rank"] for _, before in ranked):
            ranked.append((of_rank, cell))
    return {key: ranked for key, ranked in found.items() if ranked}


def shipped() -> dict[str, list[Ranked]]:
    """The same for the shipped atlas."""
    study = full("atlas")
    return {} if study is None else by_data(study)


def at_published(every: Mapping[str, list[Ranked]]) -> dict[str, dict[str, Any]]:
    """Data set → cell at the published number of components, if analysed."""
    return {
        key: cell
        for key, ranked in every.items()
        for _, cell in ranked
        if cell["rank"] == SOURCES[key].rank
    }


def _recommended_first(entry: tuple[Of, dict[str, Any]]) -> tuple[int, bool]:
    key, of_rank, _ = entry[0]
    return list(SOURCES).index(key), of_rank != RECOMMENDED


def answer(study: StudyResult) -> str:
    """Data sets with several explanations, also at the published rank, and open verdicts."""
    every = by_data(study)
    first = [ranked[0][1] for ranked in every.values()]
    published = at_published(every)
    grades = [verdict["grade"] for cell in first for verdict in cell["verdicts"].values()]
    return WORDS["answer"].format(
        data=len(first),
        several=sum(cell["as_good"] > 1 and not cell["family"] for cell in first),
        other=sum(cell["elsewhere"] >= 0.5 for cell in first),
        all_=sum(cell["elsewhere"] == 0 for cell in published.values()),
        known=len(published),
        open=sum(grade in UNDECIDED for grade in grades),
        verdicts=len(grades),
    )


def counted(study: StudyResult) -> str:
    """A sentence on the ranks behind the answer, and the definition of a mode."""
    published = [
        SOURCES[key].label for key, ranked in by_data(study).items() if ranked[0][0] == PUBLISHED
    ]
    clause = WORDS["at_published"].format(labels=listed(sorted(published))) if published else ""
    return WORDS["at"].format(published=clause)


def components_label(cell: dict[str, Any]) -> str:
    """Its number of components, in words."""
    return f"{cell['rank']} component{'s' * (cell['rank'] != 1)}"


def verdicts_of(ranked: list[Ranked]) -> Table:
    """Every verdict on one data set, at each number of components, with its evidence."""
    rows = [
        (f"{cell['rank']} ({of_rank})", title, verdict["word"], verdict["said"])
        for of_rank, cell in ranked
        for title, verdict in cell["verdicts"].items()
    ]
    columns = ("components", "verdict", "", "what it rests on")
    return {"title": WORDS["tables"]["data"], "columns": columns, "rows": rows}


def tables(study: StudyResult) -> list[Table]:
    """Everything in tables: ``title``, ``columns`` and ``rows``."""
    found = cells(study)
    first = [
        (SOURCES[key].label, of_rank, cell)
        for key, ranked in by_data(study).items()
        for of_rank, cell in ranked
    ]
    made = [_modes(first), _verdicts(first), _conclusions(first)]
    if len({seed for *_, seed in found}) > 1:
        made.append(_stability(found))
    return [*made, _sources(found)]


def _number(of_rank: str, cell: dict[str, Any]) -> str:
    return f"{cell['rank']}{' (published)' * (of_rank == PUBLISHED)}"


def _modes(first: list[First]) -> Table:
    rows = []
    for label, of_rank, cell in first:
        masses = [mass for mass in cell["masses"] if mass is not None]
        states = Counter(cell["states"])
        rows.append(
            (
                label,
                _number(of_rank, cell),
                cell["restarts"],
                cell["modes"],
                "one family" if cell["family"] else str(cell["as_good"]),
                _share(max(masses), cell["modes"]) if masses and not cell["family"] else NONE,
                percent(cell["elsewhere"]),
                *(of(states[state], sum(states.values())) for state in STATES),
            )
        )
    columns = (
        *("data", "components", "converged restarts", "modes", "as good as the best"),
        *("largest mass", "restarts that miss the most probable", *STATES),
    )
    return {"title": WORDS["tables"]["modes"], "columns": columns, "rows": rows}


def _share(mass: float, modes: int) -> str:
    """A mass in percent, below 100 % if there are several modes."""
    return percent(mass if modes == 1 else min(mass, 0.9999))


def _verdicts(first: list[First]) -> Table:
    titles = list(dict.fromkeys(title for *_, cell in first for title in cell["verdicts"]))
    rows = [
        (
            label,
            of_rank,
            *(_graded(cell["verdicts"].get(title)) for title in titles),
            cell.get("rank_said", NONE),
        )
        for label, of_rank, cell in first
    ]
    columns = ("data", "components", *titles, "number of components")
    return {"title": WORDS["tables"]["verdicts"], "columns": columns, "rows": rows}


def _graded(verdict: dict[str, str] | None) -> str:
    """The verdict's word, with its grade if they differ."""
    if verdict is None:
        return NONE
    word, grade = verdict["word"], verdict["grade"]
    return word if word == grade else f"{word} ({grade})"


def _conclusions(first: list[First]) -> Table:
    """Differences of AUC between explanations, for labels of published conclusions.

    A row for each label; the largest difference is that of one class.
    """
    rows = []
    for label, of_rank, cell in first:
        by_label: dict[str, list[dict[str, Any]]] = {}
        for task in cell["conclusions"]:
            by_label.setdefault(task["label"], []).append(task)
        for name, tasks in by_label.items():
            best = [task["areas"][0] for task in tasks]
            judged = Counter(task["verdict"] for task in tasks)
            widest = max(tasks, key=lambda task: task["difference"])
            compared = len(widest["areas"])
            rows.append(
                (
                    label,
                    _number(of_rank, cell),
                    name,
                    compared,
                    f"{min(best):.3f} to {max(best):.3f}" if len(best) > 1 else f"{best[0]:.3f}",
                    f"{widest['difference']:.3f} ({widest['task']})" if compared > 1 else NONE,
                    *(of(judged[verdict], len(tasks)) for verdict in JUDGED),
                )
            )
    columns = (
        *("data", "components", "labels", "factorizations compared", "AUC of the best fit"),
        *("largest difference", *JUDGED),
    )
    return {"title": WORDS["tables"]["conclusions"], "columns": columns, "rows": rows}


def _stability(found: dict[Of, dict[str, Any]]) -> Table:
    """How often another seed changes each verdict, and how many verdicts are open.

    A pair counts if both seeds have a verdict; a change is a contradiction if neither is open.
    """
    changed: dict[str, Counter[bool]] = {}
    contradicted: Counter[str] = Counter()
    undecided: dict[str, Counter[bool]] = {}
    for (key, of_rank, seed), cell in found.items():
        first = found.get((key, of_rank, 0))
        for title, verdict in cell["verdicts"].items():
            still = undecided.setdefault(title, Counter())
            still[verdict["grade"] in UNDECIDED] += 1
            if seed and first and title in first["verdicts"]:
                other = verdict["word"] != first["verdicts"][title]["word"]
                changed.setdefault(title, Counter())[other] += 1
                settled = {verdict["grade"], first["verdicts"][title]["grade"]}.isdisjoint(
                    UNDECIDED
                )
                contradicted[title] += other and settled
    rows = [
        (
            title,
            of(pairs[True], pairs.total()),
            of(contradicted[title], pairs.total()),
            of(undecided[title][True], undecided[title].total()),
        )
        for title, pairs in changed.items()
    ]
    pairs, open_ = (sum(counts.values(), Counter()) for counts in (changed, undecided))
    settled = of(contradicted.total(), pairs.total())
    rows.append(("all", of(pairs[True], pairs.total()), settled, of(open_[True], open_.total())))
    columns = ("verdict", "changed by another seed", "both settled, and different", "open")
    return {"title": WORDS["tables"]["stability"], "columns": columns, "rows": rows}


def _sources(found: dict[Of, dict[str, Any]]) -> Table:
    rows = [
        (
            source.label,
            source.field,
            "with the program" if source.sample else source.file or "scikit-learn",
            source.licence or "see sample_data/SOURCES.md",
            source.reference or NONE,
        )
        for key, source in SOURCES.items()
        if any(of_data == key for of_data, *_ in found)
    ]
    columns = ("data", "field", "from", "licence", "published")
    return {"title": WORDS["tables"]["sources"], "columns": columns, "rows": rows}
