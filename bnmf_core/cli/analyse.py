"""``analyse``: from a file to the findings, in one command."""

import argparse
import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import BinaryIO

import numpy as np

from bnmf_core.analysis import chains, structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.described import describe_sample
from bnmf_core.analysis.named import Named
from bnmf_core.analysis.ranks import RankQuestion, compared
from bnmf_core.cli import arguments, beside
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.ranks import parsed
from bnmf_core.cli.records import open_store
from bnmf_core.cli.results import mode_rows, plain_rows
from bnmf_core.cli.running import compute, interruptible, watch
from bnmf_core.compare.alignment import component_stability
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, RunError, SettingsError
from bnmf_core.data.samples import SAMPLES
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.components import component_names
from bnmf_core.findings.facts import say
from bnmf_core.findings.ranks import Recommendation, recommend
from bnmf_core.findings.spreads import Spreads, facts, spreads
from bnmf_core.lazy import lazy
from bnmf_core.runs.launch import KINDS, preset, runs_in_words
from bnmf_core.runs.runner import JobRunner
from bnmf_core.store import files
from bnmf_core.store.run_store import RunStore

report = lazy("bnmf_core.share.report")
methods = lazy("bnmf_core.share.methods")
workbook = lazy("bnmf_core.share.workbook")

METRIC = "max_angle"
# Additional stages for tiles.
TILES = ("tiles",)
STAGES = (
    "structure",
    "chains",
    "islands",
    "quality",
    "conclusions",
    "evidence",
    "posterior",
    "belief",
    "resampling",
)


def add_commands(commands: Commands) -> None:
    """Add ``analyse``."""
    words = "from a file to the findings: restarts and chains, modes, masses, conclusions"
    command = commands.add("analyse", words, analyse)
    arguments.add_data(command)
    arguments.add_blocks(command)
    command.add_argument(
        "--rank",
        default="",
        metavar="R",
        help="number of components, or auto: chosen by the evidence (default: what a sample "
        "suggests, else auto)",
    )
    command.add_argument(
        "--ranks", default="", metavar="FIRST:LAST", help="that auto tries (default: 1:8, or less)"
    )
    command.add_argument(
        "--kind",
        choices=KINDS,
        default="parts",
        help="components that add up, or tiles of a binary matrix, which need a --rank (default: "
        "%(default)s)",
    )
    command.add_argument(
        "--model",
        metavar="KEY",
        help="noise model and priors (default: the one proposed for the data)",
    )
    command.add_argument(
        "--restarts", type=int, help="number of each kind (default: 60, fewer for large data)"
    )
    arguments.add_seed(command)
    arguments.add_holdout(command)
    command.add_argument(
        "--catalogue",
        type=Path,
        metavar="FILE",
        help="known components to compare with, such as COSMIC's signatures: the first column "
        "names features, each other column is an entry",
    )
    command.add_argument(
        "--report", type=Path, metavar="FILE", help="write the pictures, too: HTML"
    )
    command.add_argument(
        "--methods", type=Path, metavar="FILE", help="write what was done, to be cited: text"
    )
    command.add_argument(
        "--workbook", type=Path, metavar="FILE", help="write findings and factors, too: XLSX"
    )


def analyse(options: argparse.Namespace, output: Output) -> str:
    """Run and analyse the restarts; return "cancelled" or "complete"."""
    store = open_store(options.store)
    dataset = arguments.dataset(options, store, output)
    catalogue = beside.matched(options.catalogue, dataset)
    model, why = arguments.model(options.model, dataset, options.kind)
    if not output.as_json and why:
        output.note(why)
    with interruptible() as interrupted:
        try:
            chosen_rank = _rank(options, store, dataset, model, output, interrupted.is_set)
        except Cancelled as stop:
            output.error(str(stop))
            return "cancelled"
        advice = chosen_rank if isinstance(chosen_rank, Recommendation) else None
        rank = chosen_rank.rank if isinstance(chosen_rank, Recommendation) else chosen_rank
        recommended = preset(
            dataset,
            rank,
            options.seed,
            options.holdout,
            options.restarts,
            options.kind,
            model=model,
        )
        for sentence in () if output.as_json else recommended.left_out:
            output.note(sentence)
        with closing(JobRunner(store)) as runner:
            run_ids = runner.start(dataset, recommended.specs)
            watch(runner, run_ids, interrupted, output)
        if interrupted.is_set():
            return "cancelled"
        for run in map(store.run, run_ids):
            if run.status == "failed" and not run.done:
                raise RunError(f"Run {run.id} failed: {run.message}")
        comparison = open_comparison(store, run_ids)
        wanted = STAGES + (TILES if comparison.of_tiles else ())
        compute(comparison, wanted, output, interrupted)
        if interrupted.is_set():
            return "cancelled"
    modes = structure.modes_at(comparison, METRIC)
    answer = Answer(comparison, METRIC, modes, named=Named.on(dataset))
    findings = answer.findings
    written = _written(options, answer)
    chosen = answer.modes.representative[:1]
    first, others = comparison.aligned(chosen)[0], np.flatnonzero(comparison.optima)
    # The angle of a component to itself is uninformative.
    A = comparison.aligned(others if others.size < 2 else others[others != chosen[0]])
    components = component_stability(A, first).assign(name=component_names(dataset, first))
    turned = spreads(answer)
    of_labels = answer.conclusions
    verdicts = chains.STAGE.of(comparison)
    advised = "" if advice is None else f"{advice.sentence} {advice.reason}".rstrip()
    labels = None if of_labels is None else of_labels.table
    document = {
        "model": model,
        "model_said": why,
        "rank": rank,
        "rank_grade": None if advice is None else advice.grade,
        "alternatives": () if advice is None else advice.alternatives,
        "rank_said": advised,
        "sample_said": describe_sample(dataset),
        "runs": run_ids,
        "threshold": modes.threshold,
        "modes": mode_rows(answer),
        "components": plain_rows(components.assign(component=components["component"] + 1)),
        "spreads": None if turned is None else _spreads(turned, answer),
        "catalogue": (known := None if catalogue is None else beside.compared(answer, catalogue)),
        "settled": verdicts.settled,
        "chains": [_chains(verdict) for verdict in verdicts.by_run.values()],
        "withheld": answer.withheld,
        "conclusions": [] if labels is None else plain_rows(labels),
        "sentences": [finding.plain() for finding in findings],
    }

    def show() -> None:
        runs = runs_in_words(recommended.specs)
        output.say(f"{dataset.name}, rank {rank}. {runs} {advised}".rstrip())
        if dataset.whole is not None:
            output.say(describe_sample(dataset))
        for finding in findings:
            output.say(f"- {finding.sentence} {finding.doubt}".rstrip())
        for statement in answer.withheld:
            output.say(f"- Withheld: {statement['said']}. {statement['reason']}")
        beside.show(known, output)
        for sentence in written:
            output.say(sentence)

    output.result(document, show)
    return "complete"


def _written(options: argparse.Namespace, answer: Answer) -> list[str]:
    """Write the requested files and return a sentence on each."""
    made: list[tuple[str, Path | None, Callable[[BinaryIO], object]]] = [
        ("The pictures are", options.report, lambda file: file.write(report.report(answer))),
        (
            "What was done is",
            options.methods,
            lambda file: file.write(methods.methods(answer).encode()),
        ),
        ("All numbers are", options.workbook, lambda file: workbook.write_workbook(file, answer)),
    ]
    sentences = []
    for what, path, write in made:
        if path is not None:
            files.hand_over(path, "file", write)
            sentences.append(f"{what} in {path}.")
    return sentences


def _spreads(found: Spreads, answer: Answer) -> dict[str, object]:
    """Rotation of the components of the best mode in degrees, and reasons for unknown values."""
    return {
        "mode": found.mode + 1,
        "said": say(facts(found), answer.mode_names),
        "angles": plain_rows(found.table),
        "missing": {kind: reason for kind, reason in found.missing.items() if reason},
        "resamples": {kind: many for kind, (many, _) in found.resamples.items()},
        "converged": {kind: done for kind, (_, done) in found.resamples.items()},
    }


def _chains(verdict: chains.Verdict) -> dict[str, object]:
    """The verdict on one run; unknown values are None."""
    numbers = {"r_hat": verdict.r_hat, "ess_bulk": verdict.ess_bulk, "ess_tail": verdict.ess_tail}
    known = {name: value if math.isfinite(value) else None for name, value in numbers.items()}
    return {
        "run": verdict.run,
        "settled": verdict.settled,
        **known,
        "modes": verdict.modes,
        "reason": verdict.reason,
    }


def _rank(
    options: argparse.Namespace,
    store: RunStore,
    dataset: Dataset,
    model: str,
    output: Output,
    stopped: Callable[[], bool],
) -> int | Recommendation:
    if options.rank.isdigit() and int(options.rank):
        return int(options.rank)
    if not options.rank and options.data in SAMPLES:
        return SAMPLES[options.data].suggested_rank
    if options.rank not in ("", "auto"):
        raise SettingsError(f"--rank was {options.rank!r}; write a number, or auto.")
    if options.kind != "parts":
        raise SettingsError(
            "The number of tiles cannot be chosen automatically; give one as --rank R, and compare "
            "a few."
        )
    # The same question as on the page Rank, which shows the result.
    tried = tuple(parsed(options.ranks, dataset))
    question = RankQuestion(store.add_dataset(dataset), tried, seed=options.seed, model=model)
    with output.progress() as bars:
        task = bars.add_task("comparing ranks", total=1.0, made="")
        study = compared(
            store.root,
            question,
            dataset,
            lambda part, _: bars.update(task, completed=part),
            stopped,
        )
    return recommend(study)
