"""Whether Findings hold against a reference, and whether the recommended rank is right.

Every sentence of an analysis with its defaults is compared with a reference of the same data: five
times as many restarts and all chains ten times as long, from other seeds. Ranks are compared with
planted ones.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

import arviz_stats.base as arviz
import numpy as np

from benchmarks import harness
from bnmf_core import Dataset, JobRunner, RunStore, load_file, load_sample, low_rank, preset
from bnmf_core.analysis import posterior, structure
from bnmf_core.compare.alignment import component_angles, matching
from bnmf_core.compare.conclusions import OPEN, conclusions
from bnmf_core.compare.downstream import predictions
from bnmf_core.compare.modes import SAME_MODE
from bnmf_core.core.names import listed
from bnmf_core.evidence.rank_study import rank_study
from bnmf_core.findings.answer import Answer, Finding
from bnmf_core.findings.components import COMPARED, SHARED
from bnmf_core.findings.ranks import recommend
from bnmf_core.runs.launch import longer

METRIC = "max_angle"
STAGES = ("structure", "chains", "islands", "conclusions", "evidence", "posterior")
CASES = (
    ("genes × tumours", "golub_all_aml/ALL_AML_data.txt", 3),
    ("signatures", "breast21_signatures/Samples_SBS.txt", 5),
    ("digits", "digits", 10),
    ("newsgroups", "newsgroups", 8),
)
TIMES, MORE, REFERENCE_SEED = 10, 5, 1
PLANTED = (("Gaussian, noise 5 %", (2, 4, 6), 10), ("counts, 2,000 a column", (4,), 10))
RANKS = range(1, 9)
PATIENCE = 20_000.0


def measure(quick: bool = False) -> dict[str, Any]:
    """Every sentence with its reference, and ranks with the planted ones."""
    sentences, ranks = [], []
    for name, source, rank in () if quick else CASES:
        sentences += _case(name, _data(source), rank)
    for kind, planted, draws in PLANTED:
        for rank in planted[:1] if quick else planted:
            ranks.append([kind, rank, *_recommended(kind, rank, 1 if quick else draws)])
    return {
        "title": "Sentences and ranks that hold up",
        "summary": [
            f"Reference: {MORE} times as many restarts and all chains {TIMES} times as long, from "
            "other seeds. A sentence is withheld where chains have not settled.",
        ],
        "tables": [
            {
                "title": "Sentences",
                "columns": ("data", "said", "reference", "agrees"),
                "rows": sentences,
            },
            {
                "title": "Ranks",
                "columns": ("planted", "rank", "right and not open", "wrong and not open", "open"),
                "rows": ranks,
            },
        ],
    }


def _data(source: str) -> Dataset:
    if "/" not in source:
        return load_sample(source)
    return load_file(harness.public(source))


@contextmanager
def _analysed(data: Dataset, rank: int, times: int = 1) -> Iterator[Answer]:
    """What one click finds; or with so many times as long chains, from other seeds."""
    seed = REFERENCE_SEED if times > 1 else 0
    specs = preset(data, rank, seed).specs
    if times > 1:
        specs = [
            longer(spec, times)
            if spec.algorithm == "gibbs"
            else replace(spec, particles=MORE * spec.particles)
            for spec in specs
        ]
    within = {
        "DRAWS": posterior.DRAWS * times,
        "NUMBERS": posterior.NUMBERS * times,
        "BUDGET": posterior.BUDGET * times,
        "LONGEST": posterior.LONGEST * times,
        "SEED": posterior.SEED + seed,
    }
    with (
        tempfile.TemporaryDirectory() as folder,
        patch.multiple(posterior, **within),
        closing(JobRunner(RunStore(Path(folder)))) as runner,
    ):
        run_ids = runner.start(data, specs)
        runner.wait(run_ids, PATIENCE)
        found = runner.wait_analysis(run_ids, *STAGES, timeout=PATIENCE)
        modes = structure.modes_at(found, METRIC, SAME_MODE)
        yield Answer(found, METRIC, modes)


def _case(name: str, data: Dataset, rank: int) -> list[list[str]]:
    with _analysed(data, rank) as answer, _analysed(data, rank, TIMES) as reference:
        theirs = {finding.key: finding for finding in reference.findings}
        rows = []
        for finding in answer.findings:
            beside, agrees = JUDGES.get(finding.key, _same)(finding, answer, reference, theirs)
            rows.append([name, finding.sentence, beside, agrees])
        rows += [
            [name, f"Withheld: {finding['said']}.", finding["reason"], "–"]
            for finding in answer.withheld
        ]
    return rows


Judged = tuple[str, str]


def _word(agrees: bool) -> str:
    return "yes" if agrees else "NO"


def _same(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """The reference says it in the same words."""
    other = theirs.get(finding.key)
    return (
        ("nothing", "NO")
        if other is None
        else (other.sentence, _word(other.sentence == finding.sentence))
    )


def _found(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """As many modes fit as well as the best."""
    ours, others = (int(side.table["as_good_as_best"].sum()) for side in (answer, reference))
    return theirs["found"].sentence, _word(ours == others)


def _probable(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """The mass of the most probable mode lies within what the sentence gives."""
    ours, others = (
        [] if side.posterior is None else list(side.posterior.modes) for side in (answer, reference)
    )
    sentence = theirs["probable"].sentence if "probable" in theirs else "nothing"
    if not ours or not others:
        return sentence, _word(bool(ours) == bool(others))
    first = ours[0]
    of_ours = answer.comparison.factors([first.row])[0][0]
    for mode in others:
        if _apart(reference.comparison.factors([mode.row])[0], of_ours)[0] <= SAME_MODE:
            return sentence, _word(first.low - 5e-4 <= mode.mass <= first.high + 5e-4)
    return sentence, "NO"


def _apart(A: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """(M,) degrees between the components farthest from their partners."""
    return component_angles(A, reference, matching(A, reference)).max(axis=1)


def _turned(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """The median angle of each component lies within the reference's and its own sampling error."""
    ours, others = answer.posterior, reference.posterior
    if ours is None or others is None or not others.modes or not others.modes[0].settled:
        return "chains of the reference have not settled", "–"
    first, second = (
        one.comparison.factors([found.modes[0].row])[0][0]
        for one, found in ((answer, ours), (reference, others))
    )
    order = matching(second[None], first)[0]
    mine, exact = ours.turned(), others.turned()[order]
    error = np.hypot(_error(ours), _error(others)[order])
    worst = np.abs(mine - exact) / np.maximum(error, 1e-12)
    far = int(mine.argmax())
    beside = (
        f"{exact[far]:.3g}° ± {1.96 * error[far]:.2g}°; farthest of {mine.size} components: "
        f"{worst.max():.1f} standard errors"
    )
    # With R components the largest of R deviations of 3 is rare: p < 0.003 R.
    return beside, _word(bool(worst.max() <= 3.0))


def _error(found: posterior.Posterior) -> np.ndarray:
    """Standard error of the median angles, (R,)."""
    turned = found.draws[0]["turned"]
    chains = turned.reshape(posterior.CHAINS, -1, turned.shape[1])
    return np.array(
        [arviz.array_stats.mcse(chains[..., r], method="median") for r in range(turned.shape[1])]
    )


def _chains(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """Chains that have settled stay so ten times as long."""
    ours, others = answer.verdicts, reference.verdicts
    settled = ours is not None and bool(ours.settled)
    still = others is not None and bool(others.settled)
    return theirs["chains"].sentence, _word(still or not settled)


def _missing(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """Restarts of the reference end in modes unknown before as rarely as the sentence allows."""
    assert answer.unseen is not None
    known = answer.comparison.factors(answer.modes.representative)[0]
    optima = np.flatnonzero(reference.comparison.optima)
    A = reference.comparison.factors(optima)[0]
    nearest = np.min([_apart(A, basis) for basis in known], axis=0)
    share, most = float((nearest > SAME_MODE).mean()), answer.unseen.new_probability_interval[1]
    beside = f"{share:.1%} of {optima.size} further restarts did (at most {most:.1%} expected)"
    return beside, _word(share <= most)


def _fit(finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]) -> Judged:
    """The best error is the same to three digits."""
    best = [
        side.comparison.members["error"].to_numpy()[side.comparison.optima].min()
        for side in (answer, reference)
    ]
    return theirs["fit"].sentence, _word(abs(best[0] / best[1] - 1.0) < 2e-3)


def _twins(rows: np.ndarray, answer: Answer, reference: Answer) -> np.ndarray:
    """Of each of these members the nearest optimum of the reference; −1 where none is its mode."""
    optima = np.flatnonzero(reference.comparison.optima)
    A = reference.comparison.factors(optima)[0]
    apart = np.array([_apart(A, basis) for basis in answer.comparison.factors(rows)[0]])
    nearest = apart.argmin(axis=1)
    return np.where(apart.min(axis=1) <= SAME_MODE, optima[nearest], -1)


def _shared(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """Optima of the reference in the modes compared share as many components with mode 1."""
    rows = [row for row in answer.modes.representative[:COMPARED] if answer.comparison.optima[row]]
    twins = _twins(np.array(rows), answer, reference)
    if (twins < 0).any():
        return f"{(twins < 0).sum()} of these modes were not found again", "–"
    A = reference.comparison.factors(twins)[0]
    of_first = component_angles(A[1:], A[0], matching(A[1:], A[0])).max(axis=0)
    shared = int((of_first <= SHARED).sum())
    claimed = len(finding.facts[0].values["shared"])
    return f"{shared} of {of_first.size} in the same modes", _word(shared == claimed)


def _of_label(
    finding: Finding, answer: Answer, reference: Answer, theirs: dict[str, Finding]
) -> Judged:
    """No class is judged the other way by the reference's optima in the same modes, other folds."""
    found = answer.conclusions
    assert found is not None
    dataset, label = reference.comparison.dataset, finding.facts[0].values.get("label")
    if found.table is None or label not in dataset.labels:
        return _same(finding, answer, reference, theirs)
    twins = _twins(np.array(found.rows), answer, reference)
    if (twins < 0).any():
        return f"{(twins < 0).sum()} of these modes were not found again", "–"
    again = predictions(reference.comparison.bases(twins), dataset, label, seed=REFERENCE_SEED)
    table = conclusions(again.probabilities, again.members, np.random.default_rng(REFERENCE_SEED))
    ours = found.table.loc[found.table["label"] == label, "verdict"].to_numpy()
    others = table["verdict"].to_numpy()
    counts = listed(f"{verdict} for {(others == verdict).sum()}" for verdict in np.unique(others))
    turned = int(((ours != others) & (ours != OPEN) & (others != OPEN)).sum())
    return f"{counts}; {turned} of {ours.size} classes the other way", _word(turned == 0)


Judge = Callable[[Finding, Answer, Answer, dict[str, Finding]], Judged]
JUDGES: dict[str, Judge] = {
    "found": _found,
    "probable": _probable,
    "uncertainty": _turned,
    "chains": _chains,
    "missing": _missing,
    "fit": _fit,
    "components": _shared,
    "labels": _of_label,
    "next": lambda *_: ("advice", "–"),
}


def _recommended(kind: str, rank: int, draws: int) -> tuple[str, str, str]:
    """Of so many draws: right and not open, wrong and not open, open."""
    right = wrong = 0
    for seed in range(draws):
        found = recommend(
            rank_study(
                _planted(kind, rank, np.random.default_rng([rank, seed])),
                RANKS,
                restarts=10,
                rng=np.random.default_rng(seed),
            )
        )
        print(kind, rank, seed, found.rank, found.grade, flush=True)
        settled = found.grade != "open"
        right += settled and found.rank == rank
        wrong += settled and found.rank != rank
    return f"{right} of {draws}", str(wrong), str(draws - right - wrong)


def _planted(kind: str, rank: int, rng: np.random.Generator) -> Dataset:
    if kind.startswith("Gaussian"):
        # Entries have mean R.
        return low_rank(40, 60, rank, noise=0.05 * rank, rng=rng)
    A = rng.dirichlet(np.full(96, 0.2), size=rank).T
    W = rng.dirichlet(np.ones(rank), size=40).T
    return Dataset.from_array(rng.poisson(2_000 * A @ W).astype(float), name="counts", unit="count")


if __name__ == "__main__":
    harness.main(measure)
