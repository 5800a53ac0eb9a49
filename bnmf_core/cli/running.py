"""``run`` and ``resume``: make factorizations; Ctrl-C stops and keeps finished ones."""

import argparse
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from types import FrameType

from bnmf_core.analysis import stages
from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.described import describe_sample
from bnmf_core.analysis.proposal import proposal
from bnmf_core.analysis.stage import Cluster
from bnmf_core.cli import arguments, inputs
from bnmf_core.cli.output import Commands, Output, duration
from bnmf_core.cli.records import document, open_store, show_runs
from bnmf_core.core.errors import RunError, SchedulerError, SettingsError
from bnmf_core.core.spec import USUAL_MODEL, RunSpec
from bnmf_core.data.samples import SAMPLES
from bnmf_core.likelihoods import MODELS
from bnmf_core.registry import ALGORITHMS, model
from bnmf_core.runs.executors import default_scheduler, open_executor
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store import health
from bnmf_core.store.records import RunRecord

LOOK_EVERY = 0.1


def add_commands(commands: Commands) -> None:
    """Add ``run`` and ``resume``."""
    where = scheduling()
    words = "factorize a sample, generated data or a file"
    run = commands.add("run", words, start, where)
    arguments.add_data(run)
    arguments.add_blocks(run)
    add_runs(run)
    run.add_argument("--name", default="", help="what the runs are called")
    words = "resume a run that was cancelled, interrupted or failed"
    again = commands.add("resume", words, resume, where)
    again.add_argument("run_id", metavar="RUN_ID")


def scheduling(of_runs: bool = True) -> argparse.ArgumentParser:
    """Options for the scheduler; an analysis falls back to this machine, runs only if allowed."""
    where = argparse.ArgumentParser(add_help=False)
    where.add_argument(
        "--scheduler",
        default=default_scheduler(),
        metavar="ADDRESS",
        help="dask scheduler whose workers run it (default: BNMF_SCHEDULER; none: this machine)",
    )
    if of_runs:
        where.add_argument(
            "--local-if-unreachable",
            action="store_true",
            help="run on this machine if the scheduler does not answer",
        )
    return where


def add_runs(command: argparse.ArgumentParser) -> None:
    """Add the options of :func:`make_specs`."""
    command.add_argument(
        "--algorithm",
        action="append",
        metavar="KEY",
        help=f"{', '.join(ALGORITHMS)}; give it again for more side by side",
    )
    command.add_argument("--rank", type=int, help="number of components (samples suggest one)")
    command.add_argument(
        "--model", metavar="KEY", help=f"{', '.join(MODELS)} (default: {USUAL_MODEL})"
    )
    command.add_argument("--particles", type=int, default=60, help="factorizations (default: 60)")
    command.add_argument(
        "--repeats",
        type=int,
        default=1,
        metavar="N",
        help="repetitions of each with different seeds (default: 1)",
    )
    command.add_argument(
        "--seconds",
        type=float,
        default=0.0,
        help="budget of each run in seconds of processor time, the same for all; --particles is "
        "then the maximum of each (default: none)",
    )
    arguments.add_seed(command)
    arguments.add_holdout(command)
    for option, words in (
        ("--set", "a setting of the algorithms, or of one as algorithm.key=value"),
        ("--model-set", "a setting of the model"),
    ):
        command.add_argument(option, action="append", default=[], metavar="KEY=VALUE", help=words)
    command.add_argument(
        "--hide",
        type=float,
        metavar="PART",
        help="share of the entries to mask, up to 0.9, to measure how well they are predicted",
    )


def start(options: argparse.Namespace, output: Output) -> str:
    """Start the runs and wait for them; return "cancelled" or "complete"."""
    store = open_store(options.store)
    dataset = arguments.dataset(options, store, output, options.hide)
    if (sampled := describe_sample(dataset)) and not output.as_json:
        output.note(sampled)
    specs = make_specs(options)
    names = [options.name] * len(specs)
    with closing(JobRunner(store)) as runner:

        def begin(scheduler: str) -> list[str]:
            started = runner.start(dataset, specs, names, scheduler)
            if options.model is None and not output.as_json:
                suited = proposal(dataset)
                if suited.model != USUAL_MODEL:
                    usual = model(USUAL_MODEL).label
                    words = f"These runs assume “{usual}”, as no model was chosen. "
                    words += suited.sentence
                    output.note(f"{words} Choose it with --model {suited.model}.")
            return started

        return _work(runner, begin, options, output)


def resume(options: argparse.Namespace, output: Output) -> str:
    """Resume a run and wait for it; return "cancelled" or "complete"."""
    store = open_store(options.store)
    output.damaged(health.of_data(store, store.run(options.run_id).dataset))
    with closing(JobRunner(store)) as runner:

        def begin(scheduler: str) -> list[str]:
            runner.resume(options.run_id, scheduler)
            return [options.run_id]

        return _work(runner, begin, options, output)


def make_specs(options: argparse.Namespace) -> list[RunSpec]:
    """One spec for each chosen algorithm and each of its repetitions.

    Raises
    ------
    BNMFError
        When a name or a setting is unknown or invalid.
    """
    keys = list(dict.fromkeys(options.algorithm or [next(iter(ALGORITHMS))]))
    settings = inputs.settings_by_algorithm(keys, inputs.pairs(options.set, "--set"))
    chosen_model = model(options.model or USUAL_MODEL)
    model_settings = inputs.typed(
        chosen_model.Settings, inputs.pairs(options.model_set, "--model-set"), chosen_model.label
    )
    rank = options.rank
    if rank is None:
        if options.data not in SAMPLES:
            raise SettingsError("The number of components is missing; give it as --rank R.")
        rank = SAMPLES[options.data].suggested_rank
    if options.repeats < 1:
        raise SettingsError(f"--repeats was {options.repeats}; at least 1 is needed.")
    return [
        RunSpec(
            key,
            rank,
            chosen_model.key,
            options.particles,
            options.seed + repetition,
            settings[key],
            model_settings,
            options.holdout,
            options.seconds,
        )
        for key in keys
        for repetition in range(options.repeats)
    ]


def _work(
    runner: JobRunner,
    begin: Callable[[str], list[str]],
    options: argparse.Namespace,
    output: Output,
) -> str:
    with interruptible() as interrupted:
        run_ids = made(runner, begin, options, output, interrupted)
    records = [runner.store.run(run_id) for run_id in run_ids]
    output.result(
        {"runs": [document(record, runner.store) for record in records]},
        lambda: show_runs(records, runner.store, output),
    )
    refuse_broken(records)
    return "cancelled" if any(r.status == "cancelled" for r in records) else "complete"


def made(
    runner: JobRunner,
    begin: Callable[[str], list[str]],
    options: argparse.Namespace,
    output: Output,
    interrupted: threading.Event,
) -> list[str]:
    """Start runs on the chosen scheduler, wait for them, and return their ids."""
    try:
        run_ids = begin(options.scheduler)
    except SchedulerError as error:
        if not options.local_if_unreachable:
            raise
        output.note(f"{error} Working on this machine instead.")
        run_ids = begin("")
    watch(runner, run_ids, interrupted, output)
    return run_ids


def refuse_broken(records: Sequence[RunRecord]) -> None:
    """Raise if runs failed or were interrupted.

    Raises
    ------
    RunError
        When one did; the message lists them.
    """
    broken = [record for record in records if record.status in ("failed", "interrupted")]
    if broken:
        raise RunError(" ".join(f"Run {r.id} has {r.status}: {r.message}" for r in broken))


def watch(
    runner: JobRunner, run_ids: Sequence[str], interrupted: threading.Event, output: Output
) -> None:
    """Show progress until no run is active; cancel all runs when interrupted."""
    cancelled = False
    with output.progress() as bars:
        tasks = {run_id: bars.add_task(run_id, total=1.0, made="waiting") for run_id in run_ids}
        while True:
            records = [runner.store.run(run_id) for run_id in run_ids]
            for record in records:
                left = f", {duration(record.remaining)} left" if record.remaining else ""
                now = f", {record.message}" if record.active and record.message else ""
                bars.update(
                    tasks[record.id],
                    completed=record.fraction,
                    description=f"{record.spec.algorithm} {record.id}",
                    made=f"{record.done} of {record.spec.particles}{now}{left}",
                )
            if not any(record.active for record in records):
                return
            if interrupted.is_set() and not cancelled:
                cancelled = True
                for record in records:
                    if record.active:
                        runner.cancel(record.id)
            time.sleep(LOOK_EVERY)


def compute(
    comparison: Comparison,
    wanted: Sequence[str],
    output: Output,
    interrupted: threading.Event | None = None,
    cluster: Cluster | None = None,
) -> None:
    """Compute these stages of a comparison and their dependencies, until ``interrupted``.

    ``cluster`` : from :func:`cluster`; None for this machine.
    """
    with output.progress() as bars:
        task = bars.add_task("Comparing", total=1.0, made="")

        def tell(part: float, stage: str) -> None:
            bars.update(task, completed=part, description=stage)

        stopped = interrupted.is_set if interrupted is not None else lambda: False
        stages.compute(comparison, tell, stopped, wanted, cluster)
    for record, particles in zip(comparison.runs, comparison.particles, strict=True):
        output.damaged(health.of_particles(record, particles))
    for sentence in stages.repaired(comparison):
        output.note(sentence)
        output.repaired.append(sentence)


@contextmanager
def cluster(options: argparse.Namespace, output: Output) -> Iterator[Cluster]:
    """The cluster of the options for an analysis; a note reports its loss."""
    with ExitStack() as opened:

        def find() -> Executor | None:
            if not options.scheduler:
                return None
            return opened.enter_context(open_executor(options.scheduler))

        cluster = Cluster(cache(find))
        yield cluster
        if cluster.failure:
            output.note(cluster.failure)


@contextmanager
def interruptible() -> Iterator[threading.Event]:
    """The first Ctrl-C sets the event; a second one raises KeyboardInterrupt."""
    event = threading.Event()

    def handle(number: int, frame: FrameType | None) -> None:
        if event.is_set():
            raise KeyboardInterrupt
        event.set()

    before = signal.signal(signal.SIGINT, handle)
    try:
        yield event
    finally:
        signal.signal(signal.SIGINT, before)
