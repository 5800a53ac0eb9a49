"""Reports of other programs on the data of the atlas, in sentences and tables."""

from statistics import median
from typing import Any

from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.names import listed, percent
from studies.atlas.findings import shipped
from studies.atlas.measure import RECOMMENDED
from studies.atlas.sources import SOURCES
from studies.practice.measure import PRACTICES, UNSUITED
from studies.practice.plan import WORDS
from studies.result import StudyResult
from studies.words import of

Table = dict[str, Any]
Cells = dict[str, dict[str, Any]]
NONE = "—"


def cells(study: StudyResult) -> dict[str, Cells]:
    """Program → data set → measurements."""
    found: dict[str, Cells] = {}
    for place, (key, practice, _) in study.settings["of"].items():
        found.setdefault(practice, {})[key] = study.settings["cells"][place]
    return found


def _there(of_practice: Cells) -> Cells:
    return {key: cell for key, cell in of_practice.items() if not cell["left_out"]}


def sentences(study: StudyResult) -> list[str]:
    """How often each program reports something else, and what was left out."""
    made = []
    for practice, every in cells(study).items():
        label, found = PRACTICES[practice].label, _there(every)
        if found and not PRACTICES[practice].peer:
            pairs = [cell["pairs"] for cell in found.values()]
            made.append(
                WORDS["sklearn"].format(
                    data=len(found),
                    pairs=percent(median(pairs)),
                    most=sum(part > 0.5 for part in pairs),
                    default=sum(cell["default"] <= SAME_MODE for cell in found.values()),
                )
            )
        elif found:
            known = [key for key in found if SOURCES[key].rank]
            made.append(
                WORDS["proposed"].format(
                    label=label,
                    data=len(found),
                    other=sum(len(set(cell["ranks"])) > 1 for cell in found.values()),
                    published=sum(found[key]["ranks"][0] == SOURCES[key].rank for key in known),
                    known=len(known),
                )
            )
            angles = [max(of_data) for of_data in map(_angles, found.values()) if of_data]
            if angles:
                turned = sum(angle > SAME_MODE for angle in angles)
                made[-1] += " " + WORDS["turned"].format(turned=turned, same=len(angles))
        missing: dict[str, list[str]] = {}
        for key in every.keys() - found.keys():
            missing.setdefault(every[key]["left_out"], []).append(SOURCES[key].label)
        for why, labels in missing.items():
            template = "left_out" if why == UNSUITED else "unavailable"
            made.append(WORDS[template].format(label=label, labels=listed(sorted(labels)), why=why))
    return made


def _angles(cell: dict[str, Any]) -> list[float]:
    return [angle for angle in cell["turned"] if angle is not None]


def tables(study: StudyResult) -> list[Table]:
    """Everything in tables: ``title``, ``columns`` and ``rows``."""
    found = {practice: _there(every) for practice, every in cells(study).items()}
    starts = {p: every for p, every in found.items() if not PRACTICES[p].peer}
    proposals = {p: every for p, every in found.items() if PRACTICES[p].peer}
    made = [_starts(every) for every in starts.values()]
    return [*made, _proposals(proposals), _practices(found)]


def _starts(found: Cells) -> Table:
    rows = [
        (
            SOURCES[key].label,
            cell["rank"],
            percent(cell["pairs"]),
            percent(cell["elsewhere"]),
            cell["unconverged"],
            f"{cell['default']:.1f}°",
            *(f"{cell[which]:.4f}" for which in ("best_error", "median_error", "default_error")),
            cell["default_iterations"],
        )
        for key, cell in found.items()
    ]
    columns = (
        *("data", "components", "pairs that differ", "starts unlike the best"),
        *("stopped at 200 iterations", "default start from the best"),
        *("relative error of the best", "median of the random starts", "default start"),
        "iterations of the default start",
    )
    return {"title": WORDS["tables"]["starts"], "columns": columns, "rows": rows}


def _proposals(found: dict[str, Cells]) -> Table:
    ours, rows = shipped(), []
    for key, source in SOURCES.items():
        proposed = [_proposed(found[practice].get(key)) for practice in found]
        if any(cell != NONE for cell in proposed):
            mine = dict(ours.get(key, [])).get(RECOMMENDED)
            recommended = NONE if mine is None else f"{mine['rank']} ({mine['rank_grade']})"
            rows.append((source.label, source.rank or NONE, recommended, *proposed))
    columns = ("data", "published", "this program", *(PRACTICES[key].label for key in found))
    return {"title": WORDS["tables"]["proposals"], "columns": columns, "rows": rows}


def _proposed(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return NONE
    angles = _angles(cell)
    turned = f" (up to {max(angles):.0f}° apart)" if angles else ""
    return ", then ".join(map(str, cell["ranks"])) + turned


def _practices(found: dict[str, Cells]) -> Table:
    rows = []
    for key, every in found.items():
        versions = {cell["version"] for cell in every.values() if "version" in cell}
        seconds = sum(cell["seconds"] for cell in every.values())
        practice = PRACTICES[key]
        label = " ".join([practice.label, *sorted(versions)])
        rows.append((label, practice.rule, of(len(every), len(SOURCES)), f"{seconds / 60:.1f}"))
    columns = ("program", "how it was used", "data sets", "minutes in all")
    return {"title": WORDS["tables"]["practices"], "columns": columns, "rows": rows}
