"""``ranks``: compare ranks by evidence, held-out entries, stability and number of modes."""

import argparse
import math
from collections.abc import Callable
from concurrent.futures import Executor

from bnmf_core import registry
from bnmf_core.analysis.described import describe_rank_sample
from bnmf_core.analysis.ranks import (
    RESTARTS,
    RankQuestion,
    RankWork,
    models_for,
    usual_ranks,
    write,
)
from bnmf_core.cli import arguments, running
from bnmf_core.cli.output import Commands, Output
from bnmf_core.cli.records import open_store
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import Cancelled, DiskError, SettingsError
from bnmf_core.core.model import Model
from bnmf_core.core.names import listed
from bnmf_core.core.problem import check_model
from bnmf_core.core.spec import USUAL_MODEL
from bnmf_core.evidence.rank_study import NOISES, RankStudy
from bnmf_core.findings.facts import say
from bnmf_core.findings.ranks import of_counts, recommend

# Columns shown in a terminal and their headings.
SHOWN = {
    "rank": "rank",
    "log_evidence": "log evidence",
    "error": "±",
    "sigma": "σ",
    "rate": "λ",
    "hidden_error": "held out",
    "hidden_error_spread": "±",
    "stability": "turn (°)",
    "modes": "modes",
    "fit": "fit",
}


def add_commands(commands: Commands) -> None:
    """Add ``ranks``."""
    words = "compare numbers of components: evidence, held-out entries, stability, number of modes"
    command = commands.add("ranks", words, ranks, running.scheduling(of_runs=False))
    arguments.add_data(command)
    command.add_argument(
        "--ranks", default="", metavar="FIRST:LAST", help="or a list, 2,4,8 (default: 1:8, or less)"
    )
    command.add_argument(
        "--model",
        metavar="KEY",
        help="noise model and priors (default: the one proposed for the data)",
    )
    command.add_argument(
        "--noise",
        choices=NOISES,
        help="σ of Gaussian models: free at each rank, or the same for all (default: free, or the "
        "same if σ is given)",
    )
    command.add_argument("--sigma", type=float, help="their noise level (default: from the data)")
    command.add_argument("--rate", type=float, help="λ of all ranks (default: by the mean of X)")
    command.add_argument(
        "--restarts", type=int, default=RESTARTS, help=f"of each rank (default: {RESTARTS})"
    )
    command.add_argument(
        "--evidence",
        action=argparse.BooleanOptionalAction,
        help="compute the log evidence (default: if it takes less than a quarter of an hour)",
    )
    arguments.add_seed(command)
    arguments.add_blocks(command)


def ranks(options: argparse.Namespace, output: Output) -> str:
    """Compare the ranks; returns "cancelled" or "complete"."""
    if options.seed < 0:
        raise SettingsError(f"The seed was {options.seed}; a number ≥ 0 is needed.")
    store = open_store(options.store)
    dataset = arguments.dataset(options, store, output)
    tried = parsed(options.ranks, dataset)
    # Only Gaussian noise has a σ.
    sized = USUAL_MODEL if options.sigma is not None or options.noise else None
    key, why = arguments.model(options.model or sized, dataset)
    model = _model(key, dataset)
    for sentence in filter(None, (why, describe_rank_sample(dataset))):
        if not output.as_json:
            output.note(sentence)
    # The same question as on the page Rank, which shows the study.
    noise = options.noise or ("free" if options.sigma is None else "same")
    question = RankQuestion(
        dataset.hash,
        tuple(tried),
        noise,
        options.sigma,
        options.restarts,
        seed=options.seed,
        model=model.key,
        evidence=bool(options.evidence),
    )
    if options.evidence is None:
        question = question.in_time(dataset)
    with (
        running.interruptible() as interrupted,
        running.cluster(options, output) as cluster,
        output.progress() as bars,
    ):
        task = bars.add_task("comparing ranks", total=1.0, made="")

        def study_on(executor: Executor | None) -> RankStudy:
            return question.studied(
                dataset,
                rate=options.rate,
                executor=executor,
                on_progress=lambda part: bars.update(task, completed=part, made=f"{part:.0%}"),
                stopped=interrupted.is_set,
            )

        try:
            study = cluster.make(study_on)
        except Cancelled as stop:
            output.error(str(stop))
            return "cancelled"
    fields = {"model": model.key, "model_said": why}
    output.result(fields | document(study), _shown(study, model, output))
    if options.rate is None:  # the page Rank, which sets no rate, shows the study, too
        try:
            store.add_dataset(dataset)
            write(RankWork(store.root, question, dataset).folder, question, study)
        except DiskError as error:
            output.note(f"The study is not stored. {error}")
    return "complete"


def parsed(text: str, dataset: Dataset) -> list[int]:
    """Parse "2:8" or "2,4,8"; "" gives the default ranks for the data.

    Raises
    ------
    SettingsError
        When the text is neither.
    """
    try:
        if ":" in text or not text:
            first, last = map(int, text.split(":")) if text else usual_ranks(dataset)
            return list(range(first, last + 1))
        return [int(word) for word in text.split(",")]
    except ValueError as error:
        raise SettingsError(
            f"--ranks was {text!r}; write the first and the last as 2:8, or a list as 2,4,8."
        ) from error


def document(study: RankStudy) -> dict[str, object]:
    """A study as plain values; unknown values are None."""
    rows = [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in row.items()
        }
        for row in study.table.to_dict("records")
    ]
    criteria = {key: vars(criterion) for key, criterion in study.criteria.items()}
    found = recommend(study)
    return {
        "ranks": rows,
        "criteria": criteria,
        "noise": study.noise,
        "prior": study.prior,
        "rank": found.rank,
        "rank_grade": found.grade,
        "alternatives": found.alternatives,
        "recommendation": found.sentence,
        "noise_of_counts": {model: vars(one) for model, one in study.of_noise.items()},
    }


def _model(key: str, dataset: Dataset) -> Model:
    model = registry.model(key)
    check_model(dataset, model)
    able = models_for(dataset)
    if key not in able:
        raise SettingsError(
            f"--model was {key!r}; numbers of components are compared under {listed(able, 'or')}."
        )
    return model


def _shown(study: RankStudy, model: Model, output: Output) -> Callable[[], None]:
    loss = model.loss(model.Settings())

    def show() -> None:
        columns = {key: name for key, name in SHOWN.items() if key in study.known}
        known = study.known[list(columns)]
        if "log_evidence" in known:  # nats count, however many there are
            known = known.assign(log_evidence=known["log_evidence"].map("{:.1f}".format))
        rows = known.itertuples(index=False)
        output.table(list(columns.values()), [list(row) for row in rows])
        output.say(f"Held out and fit: {loss.measure}, {loss.axis}.")
        found = recommend(study)
        output.say(f"{found.sentence} ({found.grade}) {found.reason}".rstrip())
        if sentence := say(of_counts(study)):
            output.say(sentence)
        for criterion in study.criteria.values():
            output.say(f"{criterion.label}. {criterion.rule} {criterion.said}")
        output.say(f"{study.noise} {study.prior}".lstrip())

    return show
