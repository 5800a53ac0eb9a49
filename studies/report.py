"""What every study is on the command line and in the documentation: ``python -m studies NAME``."""

import argparse
import contextlib
import json
import multiprocessing
import os
import sys
import time
from argparse import Namespace
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from benchmarks import harness
from benchmarks.tables import as_markdown, as_text
from studies.result import StudyResult, kept_at
from studies.runner import Progress, Study

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
# ``title``, ``summary`` (sentences), ``tables``, and ``plots``, the names of figures that belong to
# it; see :mod:`benchmarks.tables`.
Section = dict[str, Any]


@dataclass(frozen=True)
class Report:
    """A study as it is asked for and told.

    Attributes
    ----------
    key : its folder here, its results and its pages of documentation.
    words : ``about``, for the command line, and ``heading`` of the documentation, if it has one.
    options : of the command line beside the common ones, as ``argparse`` takes them.
    study : what the options ask for. sections : the study in tables, with names of its figures.
    figures : file name → SVG. instead : what is told without a study, if the options ask for it.
    workers : processes at once when nothing is said; None: as many as there are cores.
    """

    key: str
    words: Mapping[str, Any]
    options: Mapping[str, Mapping[str, Any]]
    study: Callable[[Namespace], Study]
    sections: Callable[[StudyResult, Collection[str]], list[Section]]
    figures: Callable[[StudyResult], dict[str, str]]
    instead: Callable[[Namespace], Section | None] = lambda asked: None
    workers: int | None = None

    def document(self, study: StudyResult, drawn: Iterable[str]) -> str:
        """The page of documentation: what was done, what it says of the paper, tables, figures."""
        parts = [f"# {self.words['heading']}", ""] if "heading" in self.words else []
        for section in self.sections(study, list(drawn)):
            plots = [
                {"title": path, "path": f"{self.key}-study/{path}"}
                for path in section.get("plots", ())
            ]
            parts.append(as_markdown(section | {"plots": plots}))
        return "\n".join(parts).rstrip() + "\n"

    def keep(self, study: StudyResult, drawn: Mapping[str, str], docs: Path = DOCS) -> None:
        """Put the study where the pages and the documentation show it."""
        study.save(kept_at(self.key))
        _write(docs / f"{self.key}-study", drawn)
        (docs / f"{self.key}-study.md").write_text(self.document(study, drawn))

    def main(self, arguments: list[str]) -> int:
        """The command line."""
        asked = self._parser().parse_args(arguments)
        told = self.instead(asked)
        if told is not None:
            print(_as_json([told]) if asked.json else as_text(told))
            return 0
        with _workers(asked.workers) as executor:
            made = self.study(asked).make(
                asked.out / "cells", on_progress=_reporter(), executor=executor
            )
        where = {"machine": harness.machine(), "workers": asked.workers}
        study = replace(made, settings=dict(made.settings) | where)
        study.save(asked.out / "study.json")
        drawn = self.figures(study)
        _write(asked.out, drawn)
        if asked.keep:
            self.keep(study, drawn)
        sections = self.sections(study, drawn)
        print(_as_json(sections, study) if asked.json else "\n\n".join(map(as_text, sections)))
        print(f"Figures and study.json are in {asked.out}.", file=sys.stderr)
        return 0

    def _parser(self) -> argparse.ArgumentParser:
        parser = argparse.ArgumentParser(
            prog=f"python -m studies {self.key}",
            description=self.words["about"],
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        common: dict[str, dict[str, Any]] = {
            "--short": {"action": "store_true", "help": "soon done: numbers mean little"},
            "--keep": {"action": "store_true", "help": "show it on its page and in docs/ from now"},
            "--out": {
                "type": Path,
                "default": ROOT / "studies" / ".made" / self.key,
                "help": "where results are kept",
            },
            "--workers": {
                "type": int,
                "default": self.workers or os.cpu_count() or 1,
                "help": "processes",
            },
            "--json": {"action": "store_true", "help": "print everything as JSON"},
        }
        for name, option in {**self.options, **common}.items():
            parser.add_argument(name, **option)
        return parser


def as_table(title: str, frame: pd.DataFrame) -> dict[str, Any]:
    """A frame as a table of a section; a published row does not repeat what it is of."""
    shown = frame.astype(object)
    if "source" in shown:
        shown.loc[shown["source"] == "published", shown.columns[0]] = ""
    return {"title": title, "columns": tuple(shown.columns), "rows": shown.to_numpy().tolist()}


def machine(study: StudyResult) -> str:
    """Where a study was made, in words."""
    here = study.settings["machine"]
    return f"{here['processor']}, {here['cores']} cores, {study.settings['workers']} cells at once"


def _write(folder: Path, drawn: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path, drawing in drawn.items():
        (folder / path).write_text(drawing)


def _workers(count: int) -> contextlib.AbstractContextManager[ProcessPoolExecutor | None]:
    """So many processes for a study's cells; one is this one."""
    if count == 1:
        return contextlib.nullcontext()
    # A fresh interpreter each: a fork would copy the threads' locks.
    return ProcessPoolExecutor(count, mp_context=multiprocessing.get_context("spawn"))


def _reporter() -> Callable[[Progress], None]:
    """Prints how far a study is, and for how many minutes it has been made."""
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
