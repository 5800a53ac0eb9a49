"""``compare``: run several algorithms on the same data and show one scoreboard."""

import argparse
from contextlib import closing

from bnmf_core.analysis import scoreboard, structure
from bnmf_core.analysis.board import Board
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.criteria import CRITERIA
from bnmf_core.cli import arguments, running
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import open_store
from bnmf_core.cli.results import plain_rows
from bnmf_core.compare.distances import DISTANCES, find_distance
from bnmf_core.core.errors import SettingsError
from bnmf_core.findings.facts import say
from bnmf_core.findings.groups import groups_found
from bnmf_core.runs.launch import group_names
from bnmf_core.runs.runner import JobRunner

USUAL = ["random_restarts", "q_transform", "gibbs"]


def add_commands(commands: Commands) -> None:
    """Add ``compare``."""
    words = "run several algorithms on the same data and compare them on a scoreboard"
    command = commands.add("compare", words, compare, running.scheduling())
    arguments.add_data(command)
    running.add_runs(command)
    command.add_argument(
        "--distance", default="max_angle", metavar="KEY", help=", ".join(DISTANCES)
    )
    command.add_argument(
        "--threshold",
        type=float,
        help="threshold between modes, in the distance's unit (default: suggested)",
    )
    command.add_argument(
        "--radius", type=float, help="radius of the balls (default: the threshold)"
    )


def compare(options: argparse.Namespace, output: Output) -> str:
    """Make the runs and show the scoreboard; return "cancelled" or "complete"."""
    distance = find_distance(options.distance)
    for name in ("threshold", "radius"):
        value = getattr(options, name)
        if value is not None and not value >= 0:
            raise SettingsError(f"--{name} was {value:g}; a number ≥ 0 is needed.")
    store = open_store(options.store)
    dataset = arguments.dataset(options, store, output, options.hide)
    options.algorithm = options.algorithm or USUAL
    specs = running.make_specs(options)
    with running.interruptible() as interrupted:
        with closing(JobRunner(store)) as runner:

            def begin(scheduler: str) -> list[str]:
                return runner.start(dataset, specs, scheduler=scheduler)

            run_ids = running.made(runner, begin, options, output, interrupted)
        records = [store.run(run_id) for run_id in run_ids]
        for record in records:
            if record.status in ("failed", "interrupted"):
                output.note(f"Run {record.id} has {record.status}: {record.message}")
        usable = [record.id for record in records if record.done]
        if interrupted.is_set() or not usable:
            running.refuse_broken(records)
            return "cancelled"
        comparison = open_comparison(store, usable)
        wanted = ["structure", *(stage.key for stage in scoreboard.stages())]
        with running.cluster(options, output) as cluster:
            running.compute(comparison, wanted, output, interrupted, cluster)
        if interrupted.is_set():
            return "cancelled"
    modes = structure.modes_at(comparison, distance.key, options.threshold)
    radius = modes.threshold if options.radius is None else options.radius
    show(Board(comparison, distance.key, modes, radius), output)
    return "complete"


def show(board: Board, output: Output) -> None:
    """Print a scoreboard."""
    table = scoreboard.scoreboard(board)
    names = group_names(board.comparison.runs, board.groups)
    summary = say(groups_found(board, names))
    distance = DISTANCES[board.metric]
    document = {
        "distance": {"key": board.metric, "unit": distance.unit},
        "threshold": board.modes.threshold,
        "radius": board.radius,
        "said": summary,
        "groups": [{"name": names[group], "runs": ids} for group, ids in board.groups.items()],
        "scores": plain_rows(table.assign(group=table["group"].map(names))),
    }

    def print_it() -> None:
        threshold = f"{board.modes.threshold:.3g}{distance.unit_behind}"
        output.say(f"{summary} The threshold between modes is {threshold}.")
        marked = table["text"] + table["best"].map({True: " *", False: ""})
        cells = dict(zip(zip(table["criterion"], table["group"], strict=True), marked, strict=True))
        rows = []
        for key in table["criterion"].unique():
            criterion = CRITERIA[key].of(board.comparison)
            texts = [cells.get((key, group), "–") for group in names]
            rows.append([criterion.label, *texts, criterion.better, criterion.favours or "nobody"])
        output.table(["criterion", *names.values(), "better", "biased towards"], rows)
        output.say("* the best of its row; for repetitions the median, minimum and maximum.")

    output.result(document, print_it)
