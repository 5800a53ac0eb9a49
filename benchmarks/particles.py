"""Time per factorization against other programs, at equal or better error.

Ours: one call of ``run`` for 100 particles; everything it does (checks, the noise level from a
reference NMF, scores of each particle) counts. Theirs: one fit a particle from a random start
with the program's defaults, only the fit counted. A particle of ours stops where scikit-learn's
better fits stop: at the lower quartile of the errors of ten fits made beforehand, which is
stricter than the median that has to be met.
"""

import warnings
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness, peers
from benchmarks.tables import part, spread
from bnmf_core import Dataset, Particles, RunSpec, registry, run
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import q_transform, random_restarts
from bnmf_core.explorers.from_starts import AS_PUBLISHED
from bnmf_core.numerics.residuals import relative_errors
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import make_plan
from bnmf_core.solvers import newton

STARTS = {"random_restarts": random_restarts.starts, "q_transform": q_transform.starts}
OURS = tuple(STARTS)
PARTICLES = 100
# A peer fits as often in one repeat as takes this long, within these numbers; the median of its
# times is the repeat's time.
SECONDS = 1.5
FEWEST_FITS, MOST_FITS = 2, 10
TORCH = ("hals", "halsvar")
# Factorizations of a run whose remaining distance is measured again, separately.
MEASURED = 20
# Particles whose path to an error is followed.
FOLLOWED = 30
# First seed of the untimed fits that set the stopping error.
PILOT_SEED = 10_000
ITERATIONS = (10, 15, 20, 30, 40, 60, 80, 120, 160, 240, 320)


@dataclass(frozen=True)
class Case:
    """A dataset and a rank; the target ratios of times to scikit-learn, in the order of OURS."""

    data: str
    rank: int
    targets: tuple[float, float]

    @property
    def name(self) -> str:
        """Name of the case in tables."""
        return f"{self.data} R={self.rank}"


CASES = (
    Case("faces", 10, (25.0, 20.0)),
    Case("samson", 3, (40.0, 25.0)),
    Case("samson", 6, (25.0, 30.0)),
    Case("newsgroups", 16, (12.0, 12.0)),
    Case("digits", 10, (25.0, 25.0)),
    Case("bbc", 16, (12.0, 12.0)),
    Case("jasper", 4, (20.0, 20.0)),
)
# A smoke test takes a shipped sample.
QUICK = slice(4, 5)
TARGETS = {
    "scikit-learn": {case.name: dict(zip(OURS, case.targets, strict=True)) for case in CASES},
    "nmf-torch": {case.name: dict.fromkeys(OURS, 8.0) for case in CASES},
}
COLUMNS = (
    "data",
    "ours",
    "against",
    "ours, ms",
    "of processor time",
    "of it to measure the way left",
    "theirs, ms",
    "of processor time",
    "ratio (range)",
    "target",
    "of target",
    "median error",
    "theirs",
    "worst error",
    "theirs",
    "error ok",
    "met",
)
REACHED = (
    "data",
    "error to reach",
    "start",
    "error at the start",
    "iterations",
    "ms to reach",
    "Q-Transform sooner by",
)


def measure(quick: bool = False) -> dict[str, Any]:
    """All cases against scikit-learn and nmf-torch, and the way to scikit-learn's error."""
    rows, reached, raw = [], [], {}
    for case in CASES[QUICK] if quick else CASES:
        try:
            data = harness.dataset(case.data)
        except harness.Unavailable as reason:
            skipped = f"skipped: {reason}"
            rows.append([case.name, skipped, *[None] * (len(COLUMNS) - 2)])
            continue
        raw[case.name] = found = _case(case, data, quick)
        rows += _rows(case, found)
        raw[case.name]["way"] = way = _ways(case, data, quick, found["errors"]["scikit-learn"])
        reached += _reached(case, way)
    return {
        "title": "Particles: time per factorization",
        "summary": [
            f"Ours: {PARTICLES} particles in one call, total time over {PARTICLES}, each stopped "
            "at the lower quartile of the errors of ten scikit-learn fits. "
            "scikit-learn: NMF with its defaults (coordinate descent) and "
            'init="random", one fit a particle, in float32 or float64 and with one or all BLAS '
            "threads, whichever of the four is fastest there. nmf-torch 0.1.1: float32, CPU, "
            "random starts, its default tolerance, one or all threads likewise, sparse data "
            "given dense. Ours also measures how far each factorization would still turn if it "
            "went on, which no other does. Repeats take turns; ratios are medians of pairs. Errors "
            "are ‖X − AW‖/‖X‖; the worst is taken among equally many factorizations.",
        ],
        "tables": [
            {"title": "Time per factorization", "columns": COLUMNS, "rows": rows},
            {
                "title": f"Way to scikit-learn's median error ({FOLLOWED} particles)",
                "columns": REACHED,
                "rows": reached,
            },
        ],
        "raw": raw,
    }


def _case(case: Case, data: Dataset, quick: bool) -> dict[str, Any]:
    repeats = harness.QUICK_REPEATS if quick else harness.REPEATS
    count = 4 if quick else PARTICLES
    seconds = 0.0 if quick else SECONDS
    errors: dict[str, list[float]] = {name: [] for name in OURS}
    first: dict[str, dict[int, np.ndarray]] = {name: {} for name in OURS}
    # Processor time per factorization, for programs that run in this process.
    spent: dict[str, list[float]] = {name: [] for name in (*OURS, "scikit-learn")}
    measuring: dict[str, list[float]] = {name: [] for name in OURS}

    chosen, scikit, goal = _scikit(case, data, seconds, errors, spent["scikit-learn"])

    def ours(algorithm: str):
        def one(repeat: int) -> float:
            spec = RunSpec(
                algorithm,
                rank=case.rank,
                particles=count,
                seed=repeat,
                settings=AS_PUBLISHED | {"good_enough": goal},
            )
            results = []
            took, processor = harness.both_times(lambda: results.append(run(data, spec)))
            spent[algorithm].append(processor / count)
            measuring[algorithm].append(_measuring(data, results[0]))
            errors[algorithm] += results[0].error.tolist()
            first[algorithm][repeat] = results[0].error
            return took / count

        run(data, RunSpec(algorithm, rank=case.rank, particles=2))
        return one

    sides = {name: ours(name) for name in OURS}
    sides["scikit-learn"] = scikit
    notes = {"scikit-learn": chosen}
    dense = data.X.toarray() if data.is_sparse else data.X
    try:
        with peers.opened("nmf_torch", {"X": np.ascontiguousarray(dense.T)}) as peer:
            for algorithm in TORCH:
                key = f"nmf-torch {algorithm}"
                sides[key], notes[key] = _torch(peer, case, algorithm, seconds, errors)
            times = harness.in_turn(repeats, *sides.values())
    except harness.Unavailable as reason:
        notes["nmf-torch"] = f"skipped: {reason}"
        sides = {name: side for name, side in sides.items() if not name.startswith("nmf-torch")}
        for values in errors.values():
            values.clear()
        times = harness.in_turn(repeats, *sides.values())
    return {
        "seconds": dict(zip(sides, times, strict=True)),
        "spent": spent,
        "measuring": measuring,
        "errors": errors,
        "first": {name: list(by.values()) for name, by in first.items()},
        "notes": notes,
        "repeats": repeats,
    }


def _measuring(data: Dataset, particles: Particles) -> float:
    """Processor time per factorization to measure its remaining distance, in seconds."""
    problem = Problem.without_model(data, particles.A.shape[2])
    A, W = particles.A[:MEASURED], particles.W[:MEASURED]
    with one_blas_thread():
        newton.measured(problem, A[:1], W[:1])  # X has been reduced
        _, processor = harness.both_times(lambda: newton.measured(problem, A, W))
    return processor / len(A)


def _scikit(
    case: Case,
    data: Dataset,
    seconds: float,
    errors: dict[str, list[float]],
    spent: list[float],
):
    samples = {kind: _samples(data, kind) for kind in (np.float64, np.float32)}
    errors["scikit-learn"] = []

    def fit(kind: type, threads: int | None, seed: int) -> tuple[float, float, float]:
        model = NMF(case.rank, init="random", random_state=seed)
        factors = []
        with warnings.catch_warnings(), harness.blas_threads(threads):
            warnings.simplefilter("ignore", ConvergenceWarning)
            times = harness.both_times(lambda: factors.append(model.fit_transform(samples[kind])))
        A, W = model.components_.T[None], factors[0].T[None]
        return *times, float(relative_errors(data.X, A, W)[0])

    ways = [(kind, threads) for kind in samples for threads in (None, 1)]
    trial = {way: min(fit(*way, seed)[0] for seed in range(2)) for way in ways}
    kind, threads = min(trial, key=trial.get)
    fits = _fits(trial[kind, threads], seconds)

    def one(repeat: int) -> float:
        found = [fit(kind, threads, repeat * fits + i) for i in range(fits)]
        errors["scikit-learn"].extend(error for _, _, error in found)
        spent.extend(processor for _, processor, _ in found)
        return median(took for took, _, _ in found)

    goal = float(np.quantile([fit(kind, threads, PILOT_SEED + i)[2] for i in range(10)], 0.25))
    return f"{np.dtype(kind)}, BLAS threads: {threads or 'all'}", one, goal


def _fits(one: float, seconds: float) -> int:
    return int(np.clip(seconds / one, FEWEST_FITS, MOST_FITS))


def _samples(data: Dataset, kind: type) -> Any:
    """Observations in rows, in the layout that is fastest for scikit-learn."""
    X = data.X.T.astype(kind)
    return X.tocsr() if data.is_sparse else np.ascontiguousarray(X)


def _torch(peer: peers.Peer, case: Case, algorithm: str, seconds: float, errors: dict):
    key = f"nmf-torch {algorithm}"
    errors[key] = []

    def ask(threads: int, seeds: list[int]) -> dict[str, Any]:
        return peer.ask(rank=case.rank, algorithm=algorithm, threads=threads, seeds=seeds)

    trial = {threads: min(ask(threads, [0])["seconds"]) for threads in {1, peer.ready["threads"]}}
    threads = min(trial, key=trial.get)
    fits = _fits(trial[threads], seconds)

    def one(repeat: int) -> float:
        answer = ask(threads, [repeat * fits + i for i in range(fits)])
        errors[key].extend(answer["errors"])
        return median(answer["seconds"])

    return one, f"float32, threads: {threads}"


def _rows(case: Case, found: dict[str, Any]) -> list[list[Any]]:
    rows = []
    for name in OURS:
        for other in [key for key in found["seconds"] if key not in OURS]:
            target = TARGETS[other.split()[0]][case.name][name]
            theirs = found["errors"][other]
            each = len(theirs) // found["repeats"]
            as_many = np.concatenate([errors[:each] for errors in found["first"][name]])
            middle, worst = median(found["errors"][name]), float(as_many.max())
            good = middle <= median(theirs) and worst <= max(theirs)
            times = found["seconds"][name], found["seconds"][other]
            ratio = harness.ratio(times[1], times[0])
            verdict = harness.against(ratio["median"], target)
            rows.append(
                [
                    case.name,
                    registry.algorithm(name).label,
                    f"{other} ({found['notes'][other]})",
                    1e3 * median(times[0]),
                    _milliseconds(found["spent"].get(name)),
                    _milliseconds(found["measuring"].get(name)),
                    1e3 * median(times[1]),
                    _milliseconds(found["spent"].get(other)),
                    spread(ratio),
                    verdict["target"],
                    part(verdict["part"]),
                    f"{middle:.5f}",
                    f"{median(theirs):.5f}",
                    f"{worst:.5f}",
                    f"{max(theirs):.5f}",
                    good,
                    verdict["met"] and good,
                ]
            )
    if "nmf-torch" in found["notes"]:
        words = f"nmf-torch {found['notes']['nmf-torch']}"
        rows.append([case.name, None, words, *[None] * (len(COLUMNS) - 3)])
    return rows


def _milliseconds(spent: list[float] | None) -> float | None:
    return 1e3 * median(spent) if spent else None


def _ways(case: Case, data: Dataset, quick: bool, errors: list[float]) -> dict[str, Any]:
    """Iterations and time that each start needs to reach the median of ``errors``."""
    goal = median(errors)
    ways: dict[str, Any] = {"goal": goal}
    for name in OURS:
        spec = RunSpec(name, rank=case.rank, particles=FOLLOWED)
        ways[name] = {"start": _start_error(data, spec), "steps": []}
    going = list(OURS)
    for iterations in ITERATIONS[:3] if quick else ITERATIONS:
        for name in list(going):
            settings = {"max_iterations": iterations, "tolerance": 0.0}
            spec = RunSpec(name, rank=case.rank, particles=FOLLOWED, settings=settings)
            results = []
            took = harness.seconds(lambda spec=spec, into=results: into.append(run(data, spec)))
            error = float(np.median(results[0].error))
            ways[name]["steps"].append((iterations, took / FOLLOWED, error))
            if error <= goal:
                going.remove(name)
    return ways


def _start_error(data: Dataset, spec: RunSpec) -> float:
    plan = make_plan(data, spec)
    A, W = STARTS[spec.algorithm](plan.problem, plan.settings, plan.shards[0])
    return float(np.median(relative_errors(data.X, A, W)))


def _reached(case: Case, ways: dict[str, Any]) -> list[list[Any]]:
    found = {}
    for name in OURS:
        steps = ways[name]["steps"]
        found[name] = steps[-1] if steps[-1][2] <= ways["goal"] else None
    restarts, transform = (found[name] for name in OURS)
    sooner = None
    if restarts and transform:
        sooner = f"{restarts[1] / transform[1]:.2f}× in time, " + (
            f"{restarts[0]} → {transform[0]} iterations"
        )
    return [
        [
            case.name,
            f"{ways['goal']:.5f}",
            registry.algorithm(name).label,
            f"{ways[name]['start']:.4f}",
            found[name][0] if found[name] else "not reached",
            1e3 * found[name][1] if found[name] else None,
            sooner if name == "q_transform" else None,
        ]
        for name in OURS
    ]


if __name__ == "__main__":
    harness.main(measure)
