"""The atlas in tables: modes, verdicts, what other seeds change, and where data are from."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from bnmf_core.core.names import percent
from bnmf_core.findings.verdicts import UNCLEAR, WAITING
from studies.atlas.measure import PUBLISHED
from studies.atlas.plan import WORDS
from studies.atlas.sources import SOURCES
from studies.result import StudyResult
from studies.words import of

Table = dict[str, Any]
Of = tuple[str, str, int]
NONE = "—"


def cells(study: StudyResult) -> dict[Of, dict[str, Any]]:
    """What was said of each data set, kind of rank and seed."""
    return {
        (key, of_rank, int(seed)): told["cell"]
        for name, told in study.settings["cells"].items()
        for key, of_rank, seed in [name.split("|")]
    }


def tables(study: StudyResult) -> list[Table]:
    """Everything in tables: ``title``, ``columns`` and ``rows``."""
    found = cells(study)
    made = [_modes(found), _verdicts(found)]
    if len({seed for *_, seed in found}) > 1:
        made.append(_stability(found))
    return [*made, _sources(found)]


def _first(found: dict[Of, dict[str, Any]]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Label, kind of rank and cell of the first seed."""
    for (key, of_rank, seed), cell in found.items():
        if seed == 0:
            yield SOURCES[key].label, of_rank, cell


def _modes(found: dict[Of, dict[str, Any]]) -> Table:
    rows = []
    for label, of_rank, cell in _first(found):
        masses = [mass for mass in cell["masses"] if mass is not None]
        states = Counter(cell["states"])
        rows.append(
            (
                label,
                f"{cell['rank']}{' (published)' * (of_rank == PUBLISHED)}",
                cell["restarts"],
                cell["modes"],
                cell["as_good"],
                percent(max(masses)) if masses else NONE,
                percent(cell["elsewhere"]),
                of(states["determined"], sum(states.values())),
                of(states["ambiguous"], sum(states.values())),
            )
        )
    columns = (
        *("data", "components", "converged restarts", "modes", "as good as the best"),
        *("largest mass", "restarts that end in another", "determined", "ambiguous"),
    )
    return {"title": WORDS["tables"]["modes"], "columns": columns, "rows": rows}


def _verdicts(found: dict[Of, dict[str, Any]]) -> Table:
    titles = list(dict.fromkeys(title for cell in found.values() for title in cell["verdicts"]))
    rows = [
        (
            label,
            of_rank,
            *(cell["verdicts"].get(title, {"word": NONE})["word"] for title in titles),
            cell.get("rank_said", NONE),
        )
        for label, of_rank, cell in _first(found)
    ]
    columns = ("data", "components", *titles, "number of components")
    return {"title": WORDS["tables"]["verdicts"], "columns": columns, "rows": rows}


def _stability(found: dict[Of, dict[str, Any]]) -> Table:
    """Of every verdict how often another seed says another word than the first, and how many open.

    A pair counts where both seeds say something.
    """
    changed: dict[str, Counter[bool]] = {}
    undecided: dict[str, Counter[bool]] = {}
    for (key, of_rank, seed), cell in found.items():
        first = found.get((key, of_rank, 0))
        for title, verdict in cell["verdicts"].items():
            still = undecided.setdefault(title, Counter())
            still[verdict["grade"] in (UNCLEAR, WAITING)] += 1
            if seed and first and title in first["verdicts"]:
                other = verdict["word"] != first["verdicts"][title]["word"]
                changed.setdefault(title, Counter())[other] += 1
    rows = [
        (
            title,
            of(pairs[True], pairs.total()),
            of(undecided[title][True], undecided[title].total()),
        )
        for title, pairs in changed.items()
    ]
    columns = ("verdict", "changed by another seed", "open")
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
