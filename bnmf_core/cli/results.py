"""``runs``, ``metrics`` and ``export``: list, compare and export runs."""

import argparse
from collections.abc import Hashable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pandas as pd

from bnmf_core.analysis import distances, structure
from bnmf_core.analysis.comparison import Comparison, open_comparison
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import document, of_one_owner, open_store, show_runs
from bnmf_core.cli.running import compute
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.compare.distances import DISTANCES, find_distance
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.facts import say
from bnmf_core.share import formats
from bnmf_core.share.formats import FORMATS
from bnmf_core.store import files, health

# Columns of the table of modes and their headings.
COLUMNS = {
    "mode": "mode",
    "found_by": "found by",
    "draws": "draws",
    "below_best": "log joint below best (nats)",
    "mass": "mass",
    "size": "members",
    "spread": "spread",
    "nearest": "nearest",
    "best_error": "best error",
}


def add_commands(commands: Commands) -> None:
    """Add ``runs``, ``metrics`` and ``export``."""
    command = commands.add("runs", "list all runs, newest first", runs)
    command.add_argument(
        "--quick",
        action="store_true",
        help="do not check factorizations and data for damage",
    )
    words = "modes, distances, covering numbers and errors of runs of the same data and rank"
    command = commands.add("metrics", words, metrics)
    command.add_argument("run_ids", nargs="+", metavar="RUN_ID")
    command.add_argument(
        "--distance", default=next(iter(DISTANCES)), metavar="KEY", help=", ".join(DISTANCES)
    )
    command.add_argument(
        "--threshold",
        type=float,
        help="largest distance within a mode (default: suggested, as in the dashboard)",
    )
    command.add_argument(
        "--radius",
        type=float,
        action="append",
        default=[],
        help="radius of a covering number; repeat for several (default: the threshold)",
    )
    command.add_argument(
        "--mass",
        action="store_true",
        help="compute the posterior mass of each mode, which takes seconds to minutes",
    )
    words = (
        "write a run's factorizations (npz, nc), the scores of each (csv), or the best-fitting "
        "one: in the layout of SigProfiler (signatures.txt, activities.txt) or cNMF (spectra.txt, "
        "usages.txt), with the data (h5ad), or its strongest features (gmt)"
    )
    command = commands.add("export", words, export)
    command.add_argument("run_id", metavar="RUN_ID")
    command.add_argument("--format", required=True, choices=list(FORMATS))
    command.add_argument("--output", required=True, type=Path, metavar="FILE")


def runs(options: argparse.Namespace, output: Output) -> None:
    """List the runs."""
    store = open_store(options.store)
    records = store.runs()
    if not options.quick:
        for record in records:
            output.damaged(health.of_run(store, record))
        for dataset_id in dict.fromkeys(record.dataset for record in records):
            output.damaged(health.of_data(store, dataset_id))
    output.result(
        {"runs": [document(record, store) for record in records]},
        lambda: (
            show_runs(records, store, output)
            if records
            else output.say(of_one_owner(store) or "No runs yet.")
        ),
    )


def metrics(options: argparse.Namespace, output: Output) -> None:
    """Compare the factorizations of runs with the analysis of the dashboard."""
    store = open_store(options.store)
    distance = find_distance(options.distance)
    found = open_comparison(store, options.run_ids)
    weighed = ["evidence"] if options.mass else []
    compute(found, ["structure", "islands", *weighed], output)
    results = _compare(found, options)

    def show() -> None:
        count = results["mode_count"]
        origin = "suggested" if results["threshold_suggested"] else "given"
        at = f"{results['threshold']:.4g}{distance.unit_behind}"
        output.say(
            f"{count} mode{'s' * (count != 1)} under {distance.label} at {at} "
            f"({origin}), {results['members']} factorizations"
        )
        for sentence in results["sentences"]:
            output.say(f"- {sentence}")
        columns = COLUMNS | {"best_error": f"best {found.measure_heading}"}
        rows = [_row(mode, found) for mode in results["modes"]]
        output.table(list(columns.values()), rows)
        radii = [f"balls {radius:.3g}" for radius in results["radii"]]
        output.table(
            [
                "run",
                "algorithm",
                "members",
                "largest",
                "mean",
                f"best {found.measure_heading}",
                "median",
                "worst",
                *radii,
            ],
            [
                (
                    r["id"],
                    r["algorithm"],
                    r["members"],
                    r["largest_distance"],
                    r["mean_distance"],
                    *map(found.format_measure, r["error"].values()),
                    *r["covering_numbers"],
                )
                for r in results["runs"]
            ],
        )

    output.result(results, show)


def export(options: argparse.Namespace, output: Output) -> None:
    """Write a run to a file, in full or not at all."""
    store, made = open_store(options.store), []

    def write(file: BinaryIO) -> None:
        made.append(formats.write(store, options.run_id, options.format, file))

    record = store.run(options.run_id)
    output.damaged(health.of_particles(record, store.particles(record.id)))
    output.damaged(health.of_names(store, record.dataset))
    files.hand_over(options.output, "file", write)
    size = options.output.stat().st_size
    of_all = "" if made[0] >= record.done else f"of {record.done} "
    fields = {
        "run": options.run_id,
        "format": options.format,
        "output": str(options.output),
        "bytes": size,
        "particles": made[0],
    }
    output.result(
        fields,
        lambda: output.say(
            f"{made[0]} {of_all}factorizations written to {options.output} ({size / 1e6:.2f} MB)"
        ),
    )


def mode_rows(answer: Answer) -> list[dict[Hashable, object]]:
    """Rows of the table of modes, numbered from 1; unknown values are None."""
    return plain_rows(answer.table.assign(mode=answer.table["mode"] + 1))


def plain_rows(table: pd.DataFrame) -> list[dict[Hashable, object]]:
    """Rows of a table as plain values; unknown values are None."""
    return table.astype(object).where(table.notna(), None).to_dict("records")


def _row(mode: dict[Hashable, object], found: Comparison) -> tuple[object, ...]:
    error = mode["best_error"]
    best = found.format_measure(error) if isinstance(error, float) else None
    cells = mode | {"best_error": best}
    return tuple("" if cells[key] is None else cells[key] for key in COLUMNS)


def _compare(found: Comparison, options: argparse.Namespace) -> dict[str, Any]:
    """The document of ``metrics``."""
    key, members = options.distance, found.members
    matrix = np.asarray(distances.STAGE.of(found).matrix(key))
    within = structure.STAGE.of(found)
    modes = structure.modes_at(found, key, options.threshold)
    radii: list[float] = options.radius or [modes.threshold]
    spread = within.spread(key).set_index("run")
    largest, mean = spread["largest"].to_dict(), spread["mean"].to_dict()
    curve = within.coverage(key)
    per_run = []
    for record in found.runs:
        own = np.flatnonzero(members["run"] == record.id)
        error = members["error"].to_numpy()[own]
        per_run.append(
            {
                "id": record.id,
                "name": record.name,
                "algorithm": record.spec.algorithm,
                "members": own.size,
                "largest_distance": largest[record.id],
                "mean_distance": mean[record.id],
                "error": {
                    "least": error.min(),
                    "median": np.median(error),
                    "most": error.max(),
                },
                "covering_numbers": covering_numbers(matrix[np.ix_(own, own)], np.array(radii)),
                "covering_curve": curve.loc[curve["run"] == record.id, "covering"].to_numpy(),
            }
        )
    answer = Answer(found, key, modes)
    return {
        "distance": {
            "key": key,
            "label": DISTANCES[key].label,
            "unit": DISTANCES[key].unit,
        },
        "rank": found.rank,
        "members": len(members),
        "threshold": modes.threshold,
        "threshold_suggested": options.threshold is None,
        "mode_count": modes.count,
        "modes": mode_rows(answer),
        "sentences": [
            say(fact, answer.mode_names) for facts in answer.facts.values() for fact in facts
        ],
        "radii": radii,
        "curve_radii": curve["epsilon"].to_numpy()[: len(curve) // len(found.runs)],
        "runs": per_run,
    }
