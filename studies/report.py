"""Command line and documentation of every study: ``python -m studies NAME``."""

import argparse
import contextlib
import csv
import io
import json
import multiprocessing
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import harness
from benchmarks.tables import as_markdown, as_text, cell
from studies.result import StudyResult, full, result_path
from studies.runner import Progress, Study

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# ``title``, ``summary`` (sentences), ``tables``, and ``plots``, the names of figures that belong to
# it; see :mod:`benchmarks.tables`.
Section = dict[str, Any]
# Folders that change no number.
FOLDERS = {
    "data": "folder with public data sets",
    "sessions": "folder in which the analyses themselves are kept, as archives",
}
# The tables that a page of documentation has no room for.
TABLES = "tables.csv"


@dataclass(frozen=True)
class Report:
    """A study's command line and documentation.

    Attributes
    ----------
    key : its folder here, its results and its pages of documentation.
    words : ``about``, for the command line, and ``heading`` of the documentation, if it has one.
    study, short : the whole study, and a quick one. Names in their tables and numbers of
        their plans become options of the command line.
    sections : the study in tables, with names of its figures. figures : file name → SVG.
    calibrate : makes the section that ``--calibrate`` prints instead of a study.
    workers : default number of processes; None: the number of cores.
    first : number of tables on the page of documentation; a separate file has the others.
    """

    key: str
    words: Mapping[str, Any]
    study: Study
    short: Study
    sections: Callable[[StudyResult, Collection[str]], list[Section]]
    figures: Callable[[StudyResult], dict[str, str]]
    calibrate: Callable[[int | None], Section] | None = None
    workers: int | None = None
    first: int = 13

    def document(self, study: StudyResult, drawn: Iterable[str]) -> tuple[str, dict[str, str]]:
        """The page of documentation, and the file of further tables, if any.

        The page describes the study and its conclusions on the paper, with tables and figures.
        """
        parts = [f"# {self.words['heading']}", ""] if "heading" in self.words else []
        left_out: list[dict[str, Any]] = []
        room = self.first
        for section in self.sections(study, list(drawn)):
            tables = section["tables"]
            left_out += tables[room:]
            plots = [
                {"title": path, "path": f"{self.key}-study/{path}"}
                for path in section.get("plots", ())
            ]
            parts.append(as_markdown(section | {"plots": plots, "tables": tables[:room]}))
            room = max(room - len(tables), 0)
        if left_out:
            parts.append(
                f"{len(left_out)} more tables are in [{TABLES}]({self.key}-study/{TABLES}).\n"
            )
        page = "\n".join(parts).rstrip() + "\n"
        return page, {TABLES: _as_csv(left_out)} if left_out else {}

    def keep(self, study: StudyResult, drawn: Mapping[str, str], docs: Path = DOCS) -> None:
        """Store the study for the pages and the documentation."""
        study.save(result_path(self.key))
        page, tables = self.document(study, drawn)
        _write(docs / f"{self.key}-study", {**drawn, **tables})
        (docs / f"{self.key}-study.md").write_text(page)

    def main(self, arguments: list[str]) -> int:
        """The command line."""
        options = self._parser().parse_args(arguments)
        if self.calibrate and options.calibrate:
            section = self.calibrate(options.repetitions)
            print(_as_json([section]) if options.json else as_text(section))
            return 0
        with _workers(options.workers) as executor:
            made = self._selected(options).make(
                options.out / "cells",
                on_progress=_reporter(),
                executor=executor,
                stored_only=options.stored,
                earlier=None if options.anew else full(self.key),
            )
        load = os.getloadavg()[-1]
        where = {"machine": harness.machine(), "workers": options.workers, "load": load}
        study = replace(made, settings=dict(made.settings) | where)
        study.save(options.out / "study.json")
        drawn = self.figures(study)
        _write(options.out, drawn)
        if options.keep:
            self.keep(study, drawn)
        sections = self.sections(study, drawn)
        print(_as_json(sections, study) if options.json else "\n\n".join(map(as_text, sections)))
        print(f"Figures and study.json are in {options.out}.", file=sys.stderr)
        return 0

    def _selected(self, options: Namespace) -> Study:
        usual = self.short if options.short else self.study
        values = {name: value for name, value in vars(options).items() if value is not None}
        chosen = {name: tuple(values[name]) for name in usual.tables if name in values}
        if values.get("only"):
            words = tuple(f"_{word}" for word in options.only)
            every = chosen.get("problems", usual.tables["problems"][1])
            found = tuple(key for key in every if f"_{key}".endswith(words))
            chosen["problems"] = found or tuple(options.only)
        chosen |= {name: getattr(options, name) for name in FOLDERS if hasattr(usual, name)}
        numbers = {name: values[name] for name in _numbers(usual.plan) if name in values}
        return replace(usual, plan=replace(usual.plan, **numbers), **chosen)

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"python -m studies {self.key}",
            description=self.words["about"],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        option = parser.add_argument
        for name, (kind, entries) in self.study.tables.items():
            words = f"this {kind} only, or these"
            option(f"--{name[:-1]}", dest=name, nargs="+", choices=tuple(entries), help=words)
        if "problems" in self.study.tables:
            words = "problems that are called so, or whose name ends so"
            option("--only", nargs="+", help=words)
        for name, usual in _numbers(self.study.plan).items():
            if isinstance(usual, bool):
                option(f"--{name}", default=None, action=argparse.BooleanOptionalAction)
            else:
                option(f"--{name}", type=type(usual), help=f"{usual:,g} when left out")
        for name, words in FOLDERS.items():
            if hasattr(self.study, name):
                option(f"--{name}", type=Path, help=words)
        if self.calibrate:
            option("--calibrate", action="store_true", help="find what is not published")
        option("--short", action="store_true", help="soon done: numbers mean little")
        option("--stored", action="store_true", help="only what is measured already")
        option("--anew", action="store_true", help="measure also what came with the program")
        option("--keep", action="store_true", help="show it on its page and in docs/ from now on")
        out = ROOT / "studies" / ".made" / self.key
        option("--out", type=Path, default=out, help="where results are kept")
        workers = self.workers or os.cpu_count() or 1
        option("--workers", type=int, default=workers, help="processes")
        option("--json", action="store_true", help="print everything as JSON")
        return parser


def _numbers(plan: Any) -> dict[str, int | float]:
    return {name: value for name, value in asdict(plan).items() if isinstance(value, int | float)}


def as_table(title: str, frame: pd.DataFrame) -> dict[str, Any]:
    """A frame as a table of a section; a published row leaves out its first label."""
    shown = frame.astype(object)
    if "source" in shown:
        shown.loc[shown["source"] == "published", shown.columns[0]] = ""
    return {"title": title, "columns": tuple(shown.columns), "rows": shown.to_numpy().tolist()}


def _as_csv(tables: Iterable[Mapping[str, Any]]) -> str:
    """Tables in sequence: title, columns, rows and an empty line."""
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    for table in tables:
        write([table["title"]])
        write(table["columns"])
        for row in table["rows"]:
            write([cell(value) for value in row])
        write([])
    return text.getvalue()


def machine(study: StudyResult) -> str:
    """The machine that made a study, in words."""
    here = study.settings["machine"]
    return (
        f"{here['processor']}, {here['cores']} cores, {study.settings['workers']} cells at once, "
        f"{study.settings['load']:.1f} processes at work on it at the end"
    )


def _write(folder: Path, drawn: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, drawing in drawn.items():
        (folder / path).write_text(drawing)


def _workers(count: int) -> contextlib.AbstractContextManager[ProcessPoolExecutor | None]:
    """A pool of processes for a study's cells; None for one, which runs here."""
    if count == 1:
        return contextlib.nullcontext()
    # A fresh interpreter each: a fork would copy the threads' locks.
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def _reporter() -> Callable[[Progress], None]:
    """A callback that prints progress and elapsed minutes."""
    began = time.perf_counter()

    def report(progress: Progress) -> None:
        minutes = (time.perf_counter() - began) / 60
        words = f"{progress.done}/{progress.total} {progress.stage} ({minutes:.1f} min)"
        print(words, file=sys.stderr, flush=True)

    return report


def _as_json(sections: list[Section], study: StudyResult | None = None) -> str:
    values = [] if study is None else json.loads(study.values.to_json(orient="records"))
    whole = {"results": sections, "raw": {"values": values}, "machine": harness.machine()}
    return json.dumps(whole, indent=1, default=harness.plain)
