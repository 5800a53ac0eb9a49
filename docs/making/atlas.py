"""A page for each data set of the atlas: what the program says of it, and figures to touch.

Figures are drawn by a script that comes with the site; nothing is asked of another host.
"""

import json
from collections.abc import Iterator
from typing import Any

from docs.making.markdown import escaped, listed, table
from studies.atlas.findings import Ranked, components_label, shipped
from studies.atlas.sources import SOURCES, Source

ABOUT = (
    "Published data sets through the automatic analysis, with nothing set by hand: how many "
    "factorizations explain each of them as well as the best, and what depends on the choice. "
    "[The study](../atlas-study.md) has the protocol, all tables, and how often another seed says "
    "something else. [Common practice](../practice-study.md) tells what other programs report."
)


def documents() -> dict[str, str]:
    """Path in the site → Markdown, of the data sets that have been analysed."""
    found = shipped()
    pages = {f"atlas/{key}.md": _page(SOURCES[key], told) for key, told in found.items()}
    links = [f"[{escaped(SOURCES[key].label)}]({key}.md): {SOURCES[key].field}" for key in found]
    return pages | {"atlas/index.md": "\n\n".join(["# Atlas", ABOUT, listed(links)])}


def _page(source: Source, told: list[Ranked]) -> str:
    parts = [f"# {escaped(source.label)}"]
    if source.reference:
        parts.append(f"Published: {escaped(source.reference)}.")
    for of_rank, cell in told:
        parts += _analysis(source.key, of_rank, cell)
    return "\n\n".join(parts)


def figures() -> dict[str, str]:
    """Name → JSON, of the figures that the pages hold."""
    return {
        _name(key, of_rank, drawn): json.dumps(picture["figure"])
        for key, told in shipped().items()
        for of_rank, cell in told
        for drawn, picture in cell["pictures"].items()
    }


def _name(key: str, of_rank: str, drawn: str) -> str:
    return f"{key}-{of_rank}-{drawn}"


def _analysis(key: str, of_rank: str, cell: dict[str, Any]) -> Iterator[str]:
    D, N = cell["shape"]
    yield f"## {components_label(cell)}, {of_rank}"
    yield f"{D:,} features × {N:,} observations. {escaped(cell['model_said'])}"
    if cell.get("rank_said"):
        yield escaped(cell["rank_said"])
    rows = [
        (escaped(title), f"**{escaped(verdict['word'])}**", escaped(verdict["said"]))
        for title, verdict in cell["verdicts"].items()
    ]
    yield table(("verdict", "", "what it rests on"), rows)
    for drawn, picture in cell["pictures"].items():
        yield f'<div class="figure-to-touch" data-figure="{_name(key, of_rank, drawn)}"></div>'
        yield escaped(picture["reading"])
    yield listed(map(escaped, cell["findings"]))
