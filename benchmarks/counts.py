"""Counts: time to factorizations of maximum Poisson likelihood, beside multiplicative updates."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.decomposition import NMF
from sklearn.exceptions import ConvergenceWarning

from benchmarks import harness, peers
from benchmarks.growth_point import _forget_peak, _resident
from benchmarks.tables import spread
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import stored
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.solvers import solution as shared
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.coordinate_descent import ROUND, work_per_iteration
from bnmf_core.solvers.solution import Solution, Stopping, random_start

TARGETS = {200: 20.0, 1000: 50.0, "growth": 1.1, "memory": 2.0}
# Data, rank, factorizations, and numbers of multiplicative updates whose divergence is the goal.
CASES = (
    ("words", 8, 2, (200, 1000)),
    ("words", 16, 2, (200, 1000)),
    ("bbc", 16, 2, (200, 1000)),
    ("tumours", 5, 16, (200, 1000)),
    ("golub", 3, 8, (200, 1000)),
    ("cells", 10, 1, (200,)),
)
QUICK = (("planted", 3, 2, (20, 50)),)
WORDS = 1000
# Genes, cells, topics and share of entries above 0 of the planted cells; numbers of cells whose
# times are compared.
CELLS, GROWN = (2000, 50_000, 10, 0.05), (6_250, 12_500, 25_000, 50_000)
# Seconds that the certificate of a case may take.
PATIENCE = 120.0
# Smallest X whose memory is judged, in bytes.
SMALL = 2**22
COLUMNS = (
    "data",
    "entries above 0",
    "factorizations",
    "updates",
    "theirs, s",
    "ours to there, s",
    "ratio (range)",
    "target",
    "met",
    "iterations",
)
ENDS = (
    "data",
    "until converged, s",
    "iterations",
    "converged",
    "lower than their last by, nats",
    "memory beside X, of X",
    "target",
    "met",
)
PEERS = ("data", "program", "updates", "one update, ms", "one of ours, ms", "ratio")


def measure(quick: bool = False) -> dict[str, Any]:
    """Time to the divergence of multiplicative updates, to the certificate, growth and memory."""
    rows, ends, others, raw = [], [], [], {}
    for name, rank, count, goals in QUICK if quick else CASES:
        label = f"{name} R={rank}"
        try:
            problem = Problem.without_model(_data(name), rank, loss=KULLBACK_LEIBLER)
        except harness.Unavailable as reason:
            rows.append([label, f"skipped: {reason}", *[None] * (len(COLUMNS) - 2)])
            continue
        raw[label] = found = _case(problem, count, goals, quick)
        rows += _goal_rows(label, problem, found)
        ends.append(_end_row(label, found))
        if not quick and name != "cells":
            others += _peers(label, problem, found)
    tables = [
        {"title": "To the divergence of multiplicative updates", "columns": COLUMNS, "rows": rows},
        {"title": "To the end", "columns": ENDS, "rows": ends},
    ]
    if not quick:
        raw["growth"] = grown = _growth()
        tables += [
            {"title": "Other programs", "columns": PEERS, "rows": others},
            {
                "title": "Growth with the entries above 0",
                "columns": ("cells", "entries above 0", "one iteration, ms"),
                "rows": [[f"{N:,}", f"{stored:,}", 1e3 * took] for N, stored, took in grown],
            },
        ]
    return {
        "title": "Counts: maximum likelihood under Poisson noise",
        "summary": _summary(raw),
        "tables": tables,
        "raw": raw,
    }


def _summary(raw: dict[str, Any]) -> list[str]:
    sentences = [
        'Ours against scikit-learn\'s NMF(solver="mu", beta_loss="kullback-leibler") from the same '
        "starts, processor time of one thread for one factorization: what theirs takes for so many "
        "updates, and ours to a divergence as low, looked at every five iterations and worked out "
        "by one function in double precision for both. Converged: with its certificate. Memory: "
        "the most that a batch takes beside X and its factorizations.",
    ]
    if "growth" in raw:
        x, y = zip(*((stored, took) for _, stored, took in raw["growth"]), strict=True)
        judged = harness.against(harness.slope(x, y), TARGETS["growth"], at_least=False)
        sentences.append(
            f"An iteration grows with the entries above 0 to the power {harness.slope(x, y):.2f} "
            f"(wanted: {judged['target']})."
        )
    return sentences


def _data(name: str) -> Dataset:
    if name == "cells":
        return cells(*CELLS)
    if name == "planted":
        return cells(60, 200, 3, 0.2)
    data = harness.dataset("posts" if name == "words" else name)
    if name == "words":  # the most frequent ones
        X = sparse.csr_array(data.X)
        chosen = np.sort(np.argsort(-X.sum(axis=1), kind="stable")[:WORDS])
        return Dataset.from_array(X[chosen], name="words")
    if data.is_sparse:
        return data
    return Dataset.from_array(np.round(np.maximum(data.X, 0.0)), name=name)


def cells(D: int, N: int, R: int, share: float) -> Dataset:
    """Poisson counts of D genes in N cells, R programs, with about this share of them above 0."""
    rng = np.random.default_rng(0)
    A, W = rng.gamma(0.3, 1.0, (D, R)), rng.gamma(0.5, 1.0, (R, N))
    A, W = A / A.sum(axis=0), W / W.sum(axis=0) * rng.lognormal(0.0, 0.4, N)
    low, high, some = 1.0, 1e5, A @ W[:, :500]
    for _ in range(40):
        depth = np.sqrt(low * high)
        low, high = (depth, high) if -np.expm1(-depth * some).mean() < share else (low, depth)
    parts = [
        sparse.csc_array(rng.poisson(depth * (A @ W[:, first : first + 1000])).astype(float))
        for first in range(0, N, 1000)
    ]
    return Dataset.from_array(sparse.hstack(parts, format="csc"), name="cells")


def _case(problem: Problem, count: int, goals: tuple[int, ...], quick: bool) -> dict[str, Any]:
    data, rank = problem.dataset, problem.rank
    pairs = [random_start(data, rank, np.random.default_rng([3, i])) for i in range(count)]
    A, W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    with one_blas_thread():
        theirs = [_multiplicative(problem, *pair, goals) for pair in pairs]
        _solved(problem, A[:1], W[:1], Stopping(20, None))  # compiled
        fresh = Problem.without_model(data, rank, loss=KULLBACK_LEIBLER)
        _forget_peak()
        before = _resident("VmRSS")
        ours = _solved(fresh, A, W, Stopping(10_000, None), 5.0 if quick else PATIENCE)
        peak = _resident("VmHWM") - before - 2 * (A.nbytes + W.nbytes)
    solution, looks = ours["solution"], ours["looks"]
    size = _bytes(data)
    found: dict[str, Any] = {"goals": {}, "memory": max(peak, 0) / size, "bytes": size}
    for k, updates in enumerate(goals):
        reached = [_reached(looks[p], theirs[p][k][1]) for p in range(count)]
        found["goals"][updates] = {
            "theirs": [theirs[p][k][0] for p in range(count)],
            "ours": [seconds for seconds, _ in reached],
            "iterations": [iterations for _, iterations in reached],
        }
    done = Stopping().converged(solution.kkt, solution.movement, solution.gain)
    lower = [theirs[p][-1][1] - looks[p][-1][2] for p in range(count)]
    found |= {
        "until": [look[-1][0] for look in looks],
        "all iterations": [int(i) for i in solution.iterations],
        "converged": [bool(d) for d in done],
        "lower": lower,
        "each": [look[0][0] / look[0][1] for look in looks],
    }
    return found


def _multiplicative(
    problem: Problem, A: np.ndarray, W: np.ndarray, goals: tuple[int, ...]
) -> list[tuple[float, float]]:
    """Seconds of scikit-learn's updates, and the divergence then, at each number of them."""
    data = problem.dataset
    X = sparse.csr_array(data.X.T) if data.is_sparse else np.ascontiguousarray(data.X.T)
    weights, basis = W.T.copy(), A.T.copy()
    found, seconds, made = [], 0.0, 0
    options: dict[str, Any] = {"solver": "mu", "beta_loss": "kullback-leibler", "tol": 0}
    for updates in goals:
        # Updates have no state: continuing equals one longer run.
        model = NMF(problem.rank, init="custom", max_iter=updates - made, **options)
        began = time.thread_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weights = model.fit_transform(X, W=weights, H=basis)
        seconds += time.thread_time() - began
        basis, made = model.components_, updates
        found.append((seconds, _divergence(problem, basis.T, weights.T)))
    return found


def _divergence(problem: Problem, A: np.ndarray, W: np.ndarray) -> float:
    pair = np.ascontiguousarray(A)[None], np.ascontiguousarray(W)[None]
    return float(KULLBACK_LEIBLER.values(problem, *pair)[0])


def _solved(
    problem: Problem, A: np.ndarray, W: np.ndarray, stopping: Stopping, most: float = np.inf
) -> dict[str, Any]:
    """The solution, and of each particle (seconds, iterations, divergence) after every step."""
    solver = usual_solver(problem)
    state: Solution = solver.start(problem, A, W)
    looks: list[list[tuple[float, int, float]]] = [[] for _ in range(A.shape[0])]
    spent = np.zeros(A.shape[0])
    with _one_round(problem, A.shape[0]):
        while state.active.any() and spent.sum() < most:
            began, before = time.thread_time(), state.iterations
            state = solver.advance(problem, state, stopping)
            moved = np.flatnonzero(state.iterations != before)
            spent[moved] += (time.thread_time() - began) / max(1, moved.size)
            for p in moved:
                if np.isfinite(state.squared_error[p]):
                    look = (spent[p], int(state.iterations[p]), float(state.squared_error[p]))
                    looks[p].append(look)
    return {"solution": state, "looks": looks}


@contextmanager
def _one_round(problem: Problem, count: int) -> Iterator[None]:
    """Steps of one round of all factorizations together, which share its time."""
    usual = shared.STEP_WORK
    shared.STEP_WORK = count * ROUND * work_per_iteration(problem)
    try:
        yield
    finally:
        shared.STEP_WORK = usual


def _reached(looks: list[tuple[float, int, float]], goal: float) -> tuple[float, int]:
    """Seconds and iterations to this divergence; infinite if never reached."""
    return next(((s, i) for s, i, f in looks if f <= goal), (np.inf, 0))


def _bytes(data: Dataset) -> int:
    X = data.X
    return X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if data.is_sparse else X.nbytes


def _goal_rows(label: str, problem: Problem, found: dict[str, Any]) -> list[list[Any]]:
    above = int(np.count_nonzero(stored(problem.dataset.X)))
    rows = []
    for updates, goal in found["goals"].items():
        times = harness.ratio(goal["theirs"], goal["ours"])
        judged = harness.against(times["median"], TARGETS.get(updates, 1.0))
        rows.append(
            [
                label,
                f"{above:,}",
                len(goal["ours"]),
                updates,
                float(np.mean(goal["theirs"])),
                float(np.mean(goal["ours"])),
                spread(times),
                judged["target"],
                judged["met"],
                f"{median(goal['iterations']):g}",
            ]
        )
    return rows


def _end_row(label: str, found: dict[str, Any]) -> list[Any]:
    judged = harness.against(max(found["memory"], 1e-3), TARGETS["memory"], at_least=False)
    if found["bytes"] < SMALL:  # buffers of a fixed size are most of it
        judged = {"target": None, "met": None}
    return [
        label,
        float(np.mean(found["until"])),
        f"{median(found['all iterations']):g}",
        f"{np.mean(found['converged']):.0%}",
        f"{min(found['lower']):,.0f} to {max(found['lower']):,.0f}",
        f"{found['memory']:.2f}×",
        judged["target"],
        judged["met"],
    ]


def _peers(label: str, problem: Problem, found: dict[str, Any]) -> list[list[Any]]:
    """Time of other programs' update on a dense X, and of one iteration of ours."""
    data, ours = problem.dataset, median(found["each"])
    A, W = random_start(data, problem.rank, np.random.default_rng([3, 0]))
    rows = []
    for name, X in (("nimfa", data.dense()), ("nmf_torch", data.dense().T)):
        updates = 20
        try:
            with peers.opened(name, {"X": np.ascontiguousarray(X), "A": A, "W": W}) as peer:
                answer = peer.ask(divergence=True, rank=problem.rank, updates=updates, threads=1)
        except harness.Unavailable as reason:
            rows.append([label, name, f"skipped: {reason}", None, None, None])
            continue
        each = answer["seconds"] / updates
        rows.append([label, name, updates, 1e3 * each, 1e3 * ours, f"{each / ours:.3g}×"])
    return rows


def _growth() -> list[tuple[int, int, float]]:
    """Cells, entries above 0, and seconds of one iteration."""
    whole, found = cells(*CELLS), []
    for N in GROWN:
        data = whole.columns(np.arange(N))
        problem = Problem.without_model(data, CELLS[2], loss=KULLBACK_LEIBLER)
        A, W = random_start(data, CELLS[2], np.random.default_rng(4))
        with one_blas_thread():
            problem.count_lines  # noqa: B018 (made once for all iterations)
            looks = _solved(problem, A[None], W[None], Stopping(20, 1e-5))["looks"][0]
        found.append((N, data.stored_entries, looks[-1][0] / looks[-1][1]))
    return found


if __name__ == "__main__":
    harness.main(measure)
