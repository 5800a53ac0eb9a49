"""``report``, ``archive``, ``open`` and ``code``: export and import runs."""

import argparse
from collections.abc import Callable
from pathlib import Path

from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.named import Named
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import document, open_store, show_runs
from bnmf_core.cli.running import compute
from bnmf_core.compare.distances import DISTANCES, find_distance
from bnmf_core.core.errors import DamagedError, DiskError, RunError
from bnmf_core.core.particles import Particles
from bnmf_core.findings.answer import Answer
from bnmf_core.lazy import lazy
from bnmf_core.store import files, health
from bnmf_core.store.records import RunRecord

report = lazy("bnmf_core.share.report")
archive = lazy("bnmf_core.share.archive")
opening = lazy("bnmf_core.share.opening")
program = lazy("bnmf_core.share.code")

# Stages of a report, computed if missing; masses, which take minutes, only on request.
STAGES = ["structure", "islands", "mixing", "downstream", "conclusions"]


def add_commands(commands: Commands) -> None:
    """Add ``report``, ``archive``, ``open`` and ``code``."""
    words = "write a report of runs: one HTML file that needs no network"
    _add_runs(commands.add("report", words, lambda o, output: _write(o, output, _report)))
    words = "write runs with their data and results to a ZIP archive"
    _add_runs(commands.add("archive", words, lambda o, output: _write(o, output, archive.write)))
    command = commands.add("open", "import the runs of an archive", open_file)
    command.add_argument("archive", type=Path, metavar="FILE")
    command.add_argument(
        "--salvage",
        action="store_true",
        help="import the intact parts of an archive that is damaged or of a newer version",
    )
    command = commands.add("code", "print a Python program that repeats runs", code)
    command.add_argument("run_ids", nargs="+", metavar="RUN_ID")
    command.add_argument(
        "--archive",
        default="archive.zip",
        metavar="FILE",
        help="path of the data for the program, unless they are a sample (default: archive.zip)",
    )


def _add_runs(command: argparse.ArgumentParser) -> None:
    command.add_argument("run_ids", nargs="+", metavar="RUN_ID")
    command.add_argument("--output", required=True, type=Path, metavar="FILE")
    command.add_argument(
        "--distance", default="max_angle", metavar="KEY", help=", ".join(DISTANCES)
    )
    command.add_argument(
        "--threshold", type=float, help="largest distance within a mode (default: suggested)"
    )
    command.add_argument(
        "--mass",
        action="store_true",
        help="compute posterior masses first, which takes seconds to minutes",
    )


def _report(path: Path, answer: Answer) -> None:
    text = report.report(answer)
    files.hand_over(path, "report", lambda file: file.write(text))


def _write(
    options: argparse.Namespace, output: Output, write: Callable[[Path, Answer], None]
) -> None:
    metric = find_distance(options.distance).key
    store = open_store(options.store)
    comparison = open_comparison(store, options.run_ids)
    weighed = ["evidence", "belief"] if options.mass else []
    try:
        compute(comparison, [*STAGES, *weighed], output)
    except DiskError as error:
        if not structure.STAGE.ready(comparison):
            raise
        output.note(f"{error} What has not been computed is left out.")
    modes = structure.modes_at(comparison, metric, options.threshold)
    output.damaged(health.of_names(store, comparison.runs[0].dataset))
    named = Named.on(comparison.dataset, store.notes.of(comparison.runs[0].dataset))
    answer = Answer(comparison, metric, modes, named=named)
    write(options.output, answer)
    size = options.output.stat().st_size
    fields = {"output": str(options.output), "bytes": size, "runs": answer.comparison.run_ids}
    output.result(fields, lambda: output.say(f"Written to {options.output} ({size / 1e6:.2f} MB)."))


def open_file(options: argparse.Namespace, output: Output) -> None:
    """Import an archive and show its runs."""
    store = open_store(options.store)
    opened = opening.open_archive(store, options.archive, options.salvage)
    records = [store.run(run_id) for run_id in opened.run_ids]

    def show() -> None:
        for sentence in opened.notices:
            output.say(sentence)
        if records:
            show_runs(records, store, output)

    fields = {"runs": [document(record, store) for record in records], "said": list(opened.notices)}
    output.result(fields, show)


def code(options: argparse.Namespace, output: Output) -> None:
    """Print the program."""
    store = open_store(options.store)
    records = sorted((store.run(one) for one in set(options.run_ids)), key=lambda run: run.created)
    if any(record.dataset != records[0].dataset for record in records):
        raise RunError("These runs used different data; request one program for each.")
    made: list[tuple[RunRecord, Particles | None]] = []
    for record in records:
        output.damaged(health.of_run(store, record))
        try:
            made.append((record, store.particles(record.id)))
        except DamagedError:  # the program makes them again
            made.append((record, None))
    text = program.script_of(made, store.dataset(records[0].dataset), options.archive)
    output.result({"program": text}, lambda: print(text, end=""))
