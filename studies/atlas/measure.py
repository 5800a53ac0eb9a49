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
from bnmf_core.analysis.described import dominant_line
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

# Seconds after which a launch, or its analysis, is given up.
PATIENCE = 7200.0
RECOMMENDED, PUBLISHED = "recommended", "published"
# What an analysis spends its time on; and what of its pictures is kept.
PARTS = ("ranks", "runs", "findings")
DRAWN = ("map", "components")
EXPLORERS = KINDS["parts"].explorers


@dataclass(frozen=True)
class AtlasPlan:
    """What decides the numbers.

    Attributes
    ----------
    seeds : analyses of each data set. restarts : of each kind of start, fewer of large data.
    minutes : of processor time for each kind of start, which only large data need.
    first_rank, last_rank : that are compared where the program recommends one.
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
    """What the program says of a data set at its recommended or published number of components.

    Depends on its arguments only, but for seconds. ``sessions``: a folder for the whole analysis,
    as an archive that the app opens.
    """
    source, clock = SOURCES[key], [time.perf_counter()]
    dataset = source.load(data)
    model = proposal(dataset)
    with tempfile.TemporaryDirectory() as folder:
        store = RunStore(Path(folder))
        told: dict[str, Any] = {
            "model": model.model,
            "model_said": model.sentence,
            "data_said": dominant_line(dataset) if model.by_squares else "",
        }
        if of_rank == RECOMMENDED:
            told |= _recommended(store, dataset, model.model, seed, plan)
        else:
            told["rank"] = source.rank
        clock.append(time.perf_counter())
        restarts, minutes = source.restarts or plan.restarts, plan.minutes * (not source.restarts)
        recommended = preset(dataset, told["rank"], seed, restarts=restarts, model=model.model)
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
            told |= _said(answer, source.conclusion)
            clock.append(time.perf_counter())
            if sessions is not None:
                sessions.mkdir(parents=True, exist_ok=True)
                archive.write(sessions / f"{key}-{of_rank}-{seed}.zip", answer, readable=False)
        told["left_out"] = list(recommended.left_out)
    parts = dict(zip(PARTS, np.diff(clock).tolist(), strict=True))
    told["missing"] = float(dataset.missing) / (dataset.D * dataset.N)
    return told | {"shape": [dataset.D, dataset.N], "seconds": sum(parts.values()), "parts": parts}


def _recommended(
    store: RunStore, dataset: Dataset, model: str, seed: int, plan: AtlasPlan
) -> dict[str, Any]:
    """The rank that the comparison of ranks recommends, and how surely."""
    most = min(plan.last_rank, dataset.D - 1, dataset.N - 1)
    ranks = tuple(range(plan.first_rank, most + 1))
    asked = RankQuestion(store.add_dataset(dataset), ranks, seed=seed, model=model)
    with one_blas_thread():
        advice = recommend(compared(store.root, asked, dataset))
    return {"rank": advice.rank, "rank_grade": advice.grade, "rank_said": advice.sentence}


def _said(answer: Answer, conclusion: str) -> dict[str, Any]:
    """The numbers behind the verdicts, and their words."""
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
            title: {"word": one.word, "grade": one.grade, "said": one.sentence}
            for title, one in verdicts.of(answer, facts).items()
        },
        "conclusions": [] if labels is None or not conclusion else labels.table.to_dict("records"),
        "pictures": _pictures(answer),
        "findings": [f"{finding.sentence} {finding.doubt}".rstrip() for finding in answer.findings],
    }


def _weighed(answer: Answer) -> bool:
    """Whether masses say which mode is the most probable."""
    return bool(answer.table["mass"].notna().any()) and not good_left(answer.table)


def _elsewhere(answer: Answer) -> float:
    """Of the converged restarts, those that miss the most probable mode.

    It is what the usual single run would have reported. Where masses do not say, the mode that fits
    best.
    """
    table, optima = answer.table, answer.comparison.optima
    best = verdicts.leading(answer)[0] if _weighed(answer) else int(table["best_error"].argmin())
    return float(np.mean(answer.modes.labels[optima] != best))


def _pictures(answer: Answer) -> dict[str, dict[str, Any]]:
    """The map and the components, each as a figure and how to read it, small enough to be kept."""
    kept = {}
    for picture in pictures(Subject(answer)):
        if picture.key in DRAWN and picture.figure is not None:
            figure = picture.figure.update_layout(template="none", width=None)
            drawn = flattened(figure) if too_many(figure) else figure
            kept[picture.key] = {"reading": picture.reading, "figure": json.loads(drawn.to_json())}
    return kept
