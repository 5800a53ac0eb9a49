"""One cell of the atlas: a data set taken through the automatic analysis, as Analyse does it."""

import json
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.analysis import structure
from bnmf_core.analysis.described import dominant_lines
from bnmf_core.analysis.mode_table import good_left
from bnmf_core.analysis.proposal import proposal
from bnmf_core.analysis.ranks import RankQuestion, compared
from bnmf_core.cli.analyse import METRIC, STAGES
from bnmf_core.core.dataset import Dataset
from bnmf_core.findings import verdicts
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.components import component_facts
from bnmf_core.findings.ranks import recommend
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.launch import KINDS, preset
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share import archive
from bnmf_core.share.flat import flattened, too_many
from bnmf_core.share.pictures import Subject, pictures
from bnmf_core.store.run_store import RunStore
from studies.atlas.sources import SOURCES
from studies.runner import Cell

# Seconds after which a launch, or its analysis, times out.
PATIENCE = 7200.0
RECOMMENDED, PUBLISHED = "recommended", "published"
# The timed parts of an analysis; the pictures that a cell stores.
PARTS = ("ranks", "runs", "findings")
DRAWN = ("map", "components")
EXPLORERS = KINDS["parts"].explorers


@dataclass(frozen=True)
class AtlasPlan:
    """What decides the numbers.

    Attributes
    ----------
    seeds : analyses of each data set. restarts : of each kind of start, fewer of large data.
    minutes : processor time for each kind of start; only large data need it.
    first_rank, last_rank : range of ranks for the recommendation.
    """

    seeds: int = 1
    restarts: int = 200
    minutes: float = 10.0
    first_rank: int = 1
    last_rank: int = 8


def measured(
    key: str,
    of_rank: str,
    seed: int,
    plan: AtlasPlan,
    data: Path | None,
    sessions: Path | None = None,
) -> Cell:
    """The analysis of a data set at its recommended or published number of components.

    Depends on its arguments only, but for seconds. ``sessions``: a folder for the whole analysis,
    as an archive that the app opens.
    """
    source, clock = SOURCES[key], [time.perf_counter()]
    dataset = source.load(data)
    model = proposal(dataset)
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        cell: dict[str, Any] = {
            "model": model.model,
            "model_said": model.sentence,
            "data_said": dominant_lines(dataset) if model.by_squares else "",
        }
        if of_rank == RECOMMENDED:
            cell |= _recommended(store, dataset, model.model, seed, plan)
        else:
            cell["rank"] = source.rank
        clock.append(time.perf_counter())
        restarts, minutes = source.restarts or plan.restarts, plan.minutes * (not source.restarts)
        recommended = preset(dataset, cell["rank"], seed, restarts=restarts, model=model.model)
        specs = [
            replace(spec, seconds=60.0 * minutes) if spec.algorithm in EXPLORERS else spec
            for spec in recommended.specs
        ]
        with closing(JobRunner(store)) as runner:
            run_ids = runner.start(dataset, specs)
            runner.wait(run_ids, PATIENCE)
            clock.append(time.perf_counter())
            found = runner.wait_analysis(run_ids, *STAGES, timeout=PATIENCE)
            answer = Answer(found, METRIC, structure.modes_at(found, METRIC))
            cell |= _facts(answer, source.conclusion)
            clock.append(time.perf_counter())
            if sessions is not None:
                sessions.mkdir(parents=True, exist_ok=True)
                archive.write(sessions / f"{key}-{of_rank}-{seed}.zip", answer, readable=False)
        cell["left_out"] = list(recommended.left_out)
    parts = dict(zip(PARTS, np.diff(clock).tolist(), strict=True))
    cell["missing"] = float(dataset.missing) / (dataset.D * dataset.N)
    return cell | {"shape": [dataset.D, dataset.N], "seconds": sum(parts.values()), "parts": parts}


def _recommended(
    store: RunStore, dataset: Dataset, model: str, seed: int, plan: AtlasPlan
) -> dict[str, Any]:
    """The rank that the comparison of ranks recommends, and its grade."""
    most = min(plan.last_rank, dataset.D - 1, dataset.N - 1)
    ranks = tuple(range(plan.first_rank, most + 1))
    question = RankQuestion(store.add_dataset(dataset), ranks, seed=seed, model=model)
    with one_blas_thread():
        advice = recommend(compared(store.root, question, dataset))
    return {"rank": advice.rank, "rank_grade": advice.grade, "rank_said": advice.sentence}


def _facts(answer: Answer, conclusion: str) -> dict[str, Any]:
    table, comparison = answer.table, answer.comparison
    optima = comparison.optima
    facts = component_facts(answer)
    labels, weighed = answer.conclusions, _weighed(answer)
    return {
        "threshold": float(answer.modes.threshold),
        "restarts": int(optima.sum()),
        "unconverged": int(comparison.members["converged"].eq(False).sum()),
        "modes": len(table),
        "as_good": int(table["as_good_as_best"].sum()),
        "masses": [float(mass) if weighed and mass >= 0 else None for mass in table["mass"]],
        "family": answer.one_family,
        "elsewhere": 0.0 if answer.one_family else _elsewhere(answer),
        "states": list(facts.states),
        "verdicts": {
            title: {"word": verdict.word, "grade": verdict.grade, "said": verdict.sentence}
            for title, verdict in verdicts.of(answer, facts).items()
        },
        "conclusions": [] if labels is None or not conclusion else labels.table.to_dict("records"),
        "pictures": _pictures(answer),
        "findings": [f"{finding.sentence} {finding.doubt}".rstrip() for finding in answer.findings],
    }


def _weighed(answer: Answer) -> bool:
    """Whether masses identify the most probable mode."""
    return bool(answer.table["mass"].notna().any()) and not good_left(answer.table)


def _elsewhere(answer: Answer) -> float:
    """Fraction of converged restarts outside the most probable mode, or the mode that fits best.

    A usual single run would report one of these restarts.
    """
    table, optima = answer.table, answer.comparison.optima
    best = verdicts.leading(answer)[0] if _weighed(answer) else int(table["best_error"].argmin())
    return float(np.mean(answer.modes.labels[optima] != best))


def _pictures(answer: Answer) -> dict[str, dict[str, Any]]:
    """The map and the components: a small figure each, with its reading help."""
    figures = {}
    for picture in pictures(Subject(answer)):
        if picture.key in DRAWN and picture.figure is not None:
            figure = picture.figure.update_layout(template="none", width=None)
            drawn = (flattened(figure) if too_many(figure) else figure).to_json()
            figures[picture.key] = {"reading": picture.reading, "figure": json.loads(drawn)}
    return figures
