"""The static part of a report: sentences and tables as HTML."""

import platform
from collections.abc import Mapping, Sequence
from datetime import datetime
from html import escape

import numpy as np

from bnmf_core.analysis import stages
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.analysis.scoreboard import scoreboard
from bnmf_core.core.names import numbered, percent
from bnmf_core.core.papers import cited
from bnmf_core.findings import verdicts
from bnmf_core.findings.modes import mass_in_words
from bnmf_core.runs.launch import group_names, in_words
from bnmf_core.share import code
from bnmf_core.share.methods import methods, packages, references
from bnmf_core.share.naming import origin_of
from bnmf_core.share.pictures import Picture, Subject
from bnmf_core.version import VERSION

# A longer table scrolls in a box.
MOST_ROWS = 40


def body(subject: Subject, title: str, shown: Sequence[Picture]) -> str:
    """The HTML between head and script, with placeholders for the pictures."""
    comparison, answer = subject.comparison, subject.answer
    now = datetime.now().astimezone()
    lacking = "; ".join(stage.label for stage in stages.missing(comparison))
    parts = [
        f"<h1>{escape(title)}</h1>",
        f"<p class='soft'>{escape(origin_of(comparison))}. Written {now:%d %B %Y, %H:%M}.</p>",
        f"<p class='soft'>Not done when this was written: {escape(lacking)}.</p>" * bool(lacking),
        "<p id='told' class='soft' role='status'>Opening the pictures …</p>",
        "<h2>Verdicts</h2><ul>",
        *(
            f"<li><strong>{escape(name)}{'' if name.endswith('?') else ':'} "
            f"{escape(verdict.word)}.</strong> {escape(verdict.sentence)}</li>"
            for name, verdict in verdicts.of(answer).items()
        ),
        "</ul><h2>Findings</h2><ol class='findings'>",
        *(
            f"<li><strong>{escape(finding.sentence)}</strong> "
            f"<span class='doubt'>{escape(finding.doubt)}</span></li>"
            for finding in answer.findings
        ),
        "</ol>",
        _modes(subject),
        _scores(subject),
        _notes(subject),
        "<h2>Pictures</h2>",
        *(_figure(i, picture) for i, picture in enumerate(shown)),
        "<h2>All factorizations</h2>",
        "<p class='soft'>Click a heading to sort, a row to highlight it in the pictures. The first "
        "row is the median of those shown. <button id='all_csv'>Data (CSV)</button></p>",
        "<noscript>The table needs JavaScript.</noscript>",
        "<div class='scroll'><table id='factorizations'><thead><tr></tr></thead><tbody></tbody>"
        "</table></div>",
        _runs(subject),
        "<h2>Methods</h2>",
        *(f"<p>{escape(one)}</p>" for one in methods(answer).split("\n\n")[:-1]),
        _provenance(subject, now),
    ]
    return "\n".join(parts)


def _modes(subject: Subject) -> str:
    table, comparison = subject.answer.table, subject.comparison
    rows = [
        (
            f"<span data-mode='{k}'>{escape(subject.answer.mode_names[k])}</span>",
            *map(
                escape,
                (
                    "" if np.isnan(mode["found_by"]) else percent(mode["found_by"]),
                    "" if np.isnan(mode["below_best"]) else f"{mode['below_best']:.1f}",
                    mass_in_words(mode),
                    "" if np.isnan(mode["draws"]) else percent(mode["draws"]),
                    comparison.format_measure(mode["best_error"]),
                    f"{mode['size']:.0f}",
                ),
            ),
        )
        for k, (_, mode) in enumerate(table.iterrows())
    ]
    heads = (
        "mode",
        "found by",
        "log joint below best (nats)",
        "posterior mass (90 %)",
        "draws",
        f"best {comparison.measure_heading}",
        "factorizations",
    )
    return (
        "<h2>Modes</h2><p class='soft'>Found by is the share of converged restarts that end in a "
        "mode and no probability; how probable a mode is, its posterior mass says. Modes are told "
        f"apart at {subject.modes.threshold:.3g}{escape(subject.distance.unit_behind)} of "
        f"{escape(subject.distance.label)}.</p>{_table(heads, rows)}"
    )


def _notes(subject: Subject) -> str:
    """Table of the notes on modes and components."""
    answer, comparison = subject.answer, subject.comparison
    A = comparison.aligned(subject.modes.representative[:1])[0]
    found = zip(answer.mode_names, answer.named.of_modes(comparison, subject.modes), strict=True)
    rows = [(name, note.text) for name, note in found if note]
    of_components = answer.named.of_components(A)
    numbers = numbered([note.name if note else "" for note in of_components])
    rows += [
        (f"component {number}", note.text)
        for number, note in zip(numbers, of_components, strict=True)
        if note
    ]
    if not rows:
        return ""
    cells = [(escape(name), escape(text)) for name, text in rows]
    return (
        "<h2>Names and notes</h2><p class='soft'>Components have the numbers of the first mode."
        f"</p>{_table(('', ''), cells)}"
    )


def _scores(subject: Subject) -> str:
    comparison = subject.comparison
    board = Board(comparison, subject.answer.metric, subject.modes, subject.modes.threshold)
    if len(board.groups) < 2:
        return ""
    names = group_names(comparison.runs, board.groups)
    found = scoreboard(board)
    columns = (found[name].tolist() for name in ("criterion", "group", "text", "best"))
    cells = {
        (criterion, group): f"<strong>{escape(text)}</strong>" if best else escape(text)
        for criterion, group, text, best in zip(*columns, strict=True)
    }
    rows = [
        (
            escape(CRITERIA[key].of(comparison).label),
            *(cells.get((key, group), "–") for group in names),
            CRITERIA[key].better or "–",
            CRITERIA[key].favours or "nobody",
        )
        for key in CRITERIA
        if key in set(found["criterion"])
    ]
    heads = ("criterion", *map(escape, names.values()), "better", "biased towards")
    return (
        "<h2>Scoreboard</h2><p class='soft'>Bold is the best of its row; of repetitions the "
        "median, and from least to most. A criterion is biased towards whom it favours by what it "
        "measures.</p>" + _table(heads, rows)
    )


def _figure(number: int, picture: Picture) -> str:
    heading = f"<h3>{escape(picture.title)}</h3>" if picture.title else ""
    table = ""
    if picture.figure is None:
        rows = [tuple(escape(str(value)) for value in row) for row in picture.table.to_numpy()]
        table = _table([escape(str(column)) for column in picture.table.columns], rows)
    named = picture.title or (picture.figure.layout.title.text if picture.figure else "")
    return (
        f"<figure id='picture_{number}'>{heading}{table}"
        f"<div class='drawn' role='img' aria-label='{escape(f'{named}. {picture.reading}')}'></div>"
        f"<figcaption>{escape(picture.reading)} <span class='buttons'></span></figcaption></figure>"
    )


RUN_HEADS = ("run", "what", "model", "seed", "settings", "ended", "seconds")


def run_rows(subject: Subject) -> list[tuple[str, ...]]:
    """A row for each run with the columns :data:`RUN_HEADS`."""
    rows: list[tuple[str, ...]] = []
    comparison = subject.comparison
    for run, particles in zip(comparison.runs, comparison.particles, strict=True):
        settings: Mapping[str, object] = {
            **particles.info.get("model_settings", run.spec.model_settings),
            **particles.info.get("settings", run.spec.settings),
        }
        rows.append(
            (
                subject.names[run.id],
                in_words(run.spec),
                run.spec.model,
                str(run.spec.seed),
                ", ".join(f"{key} = {_setting(value)}" for key, value in settings.items()),
                run.status,
                f"{run.seconds:.1f}",
            )
        )
    return rows


def _runs(subject: Subject) -> str:
    rows = [
        (f"<span data-run='{i}'>{escape(name)}</span>", *map(escape, others))
        for i, (name, *others) in enumerate(run_rows(subject))
    ]
    return f"<h2>What was run</h2>{_table(RUN_HEADS, rows)}"


def _setting(value: object) -> str:
    if value is None:
        return "left open"
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _provenance(subject: Subject, now: datetime) -> str:
    comparison, dataset = subject.comparison, subject.comparison.dataset
    sources = references(subject.answer)
    named = "".join(f"<li>{escape(what)}: {escape(short)}</li>" for what, short in sources)
    works = cited("; ".join(short for _, short in sources))
    in_full = "".join(f"<li>{escape(work)}</li>" for work in works)
    program = code.script(comparison, f"bnmf-{comparison.key}.zip")
    made = ", ".join(dict.fromkeys(run.version for run in comparison.runs if run.version))
    data = f"{dataset.name}: {dataset.D:,} features × {dataset.all_N:,} observations"
    data += f", of which a random sample of {dataset.N:,} is shown" * (dataset.whole is not None)
    rows = [
        ("data", escape(data)),
        ("data hash", f"<code>{escape(dataset.hash)}</code>"),
        ("source of the data", escape(dataset.source or "not told")),
        ("runs", escape(", ".join(comparison.run_ids))),
        ("made by", f"bnmf {escape(made or VERSION)}; this report by bnmf {escape(VERSION)}"),
        ("with", escape(f"Python {platform.python_version()}, {packages()}, {platform.system()}")),
    ]
    return (
        f"<h2>Where it comes from</h2>{_table(('', ''), rows)}"
        f"<h3>References</h3><ul>{named}</ul><ul>{in_full}</ul>"
        "<h3>The program that repeats it</h3>"
        f"<pre><code>{escape(program)}</code></pre>"
    )


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; headings and cells are HTML already."""
    head = "".join(f"<th scope='col'>{head}</th>" for head in heads) if any(heads) else ""
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    inside = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    kind = "scroll" if len(rows) > MOST_ROWS else "wide"
    return f"<div class='{kind}'>{inside}</div>"
