"""Speed of the machine's matrix products, and of each compiled kernel relative to it."""

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import harness
from benchmarks.distances import FEATURES, perturbed
from benchmarks.tables import part
from bnmf_core import RunSpec, distances
from bnmf_core.core.problem import Problem
from bnmf_core.explorers import random_restarts
from bnmf_core.likelihoods import gaussian
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import make_plan
from bnmf_core.samplers import gibbs
from bnmf_core.solvers import kernels

SIZE = 1024
COLUMNS = (
    "kernel",
    "what is counted",
    "in its own unit",
    "GFLOP/s",
    "limit, 1 thread",
    "part of the limit",
)


def measure(quick: bool) -> dict[str, Any]:
    """Two tables: products, and kernels on one core."""
    size, tries = (256, 2) if quick else (SIZE, 7)
    limits = {
        (kind, threads): product_rate(kind, threads, size, tries)
        for kind in (np.float32, np.float64)
        for threads in sorted({1, os.cpu_count() or 1})
    }
    products = [[np.dtype(kind).name, threads, rate] for (kind, threads), rate in limits.items()]
    rows, raw = [], {}
    for name, (counted, kind, rate) in KERNELS.items():
        limit = limits[kind, 1]
        try:
            with one_blas_thread():
                found = rate(tries)
        except Exception as reason:  # a kernel that has changed must not lose the other rows
            rows.append([name, f"not measured: {type(reason).__name__}", None, None, limit, None])
            continue
        raw[name] = found
        own = None
        if name in UNITS:
            unit, flops = UNITS[name]
            own = f"{1e3 * found / flops:.3g} million {unit}/s"
        rows.append([name, counted, own, found, limit, part(found / limit)])
    return {
        "tables": [
            {
                "title": f"Matrix products, {size}×{size}",
                "columns": ("precision", "BLAS threads", "GFLOP/s"),
                "rows": products,
            },
            {"title": "Kernels on one core", "columns": COLUMNS, "rows": rows},
        ],
        "raw": {"products": products, "kernels": raw},
    }


def product_rate(kind: type, threads: int, size: int, tries: int) -> float:
    """GFLOP/s of a square matrix product, the best of several."""
    rng = np.random.default_rng(0)
    left, right = (rng.random((size, size)).astype(kind) for _ in range(2))
    out = np.empty((size, size), kind)
    with harness.blas_threads(threads):
        return _best(lambda: np.matmul(left, right, out=out), 2.0 * size**3, tries)


def _best(function: Callable[[], Any], flops: float, tries: int) -> float:
    function()
    return flops / min(harness.seconds(function) for _ in range(tries)) / 1e9


def _sweep(kind: type) -> Callable[[int], float]:
    def rate(tries: int) -> float:
        m, R, n, sweeps = 20, 10, 4096, 3
        rng = np.random.default_rng(0)
        F, C = rng.random((m, R, n)).astype(kind), R * rng.random((m, R, n)).astype(kind)
        other = rng.random((m, R, 50)).astype(kind)
        G = other @ other.transpose(0, 2, 1)
        return _best(lambda: kernels.sweep(F, C, G, sweeps), 2.0 * m * R * R * n * sweeps, tries)

    return rate


def _problem(name: str, rank: int) -> tuple[Problem, np.ndarray, np.ndarray]:
    spec = RunSpec("random_restarts", rank=rank, particles=20, model_settings={"sigma": 1.0})
    plan = make_plan(harness.dataset(name), spec)
    A, W = random_restarts.starts(plan.problem, plan.settings, plan.shards[0])
    return plan.problem, np.ascontiguousarray(A.transpose(0, 2, 1)), W


def _approach(tries: int) -> float:
    problem, A, W = _problem("faces", 10)
    X = problem.compression
    iterations, sweeps = 10, 3
    A, W = A.astype(np.float32), W.astype(np.float32)
    step, limit = np.full(len(A), 0.5), np.ones(len(A))
    held = np.zeros(problem.rank, dtype=bool)
    D, N = problem.dataset.D, problem.dataset.N
    each = 4.0 * X.U.shape[1] * 10 * (D + N) + (2.0 * sweeps + 4.0) * 10 * 10 * (D + N)
    return _best(
        lambda: kernels.accelerated_round(
            X.U, X.V, X.squared_norm, A, W, step, limit, iterations, sweeps, held
        ),
        each * iterations * len(A),
        tries,
    )


def _products(name: str, rank: int) -> Callable[[int], float]:
    def rate(tries: int) -> float:
        problem, A, W = _problem(name, rank)
        flops = 4.0 * problem.dataset.stored_entries * rank * len(A)
        return _best(lambda: (problem.times_columns(A), problem.times_rows(W)), flops, tries)

    return rate


def _gibbs(tries: int) -> float:
    problem, A, W = _problem("digits", 10)
    F, G, C = W[:1], A[:1] @ A[:1].transpose(0, 2, 1), problem.times_columns(A[:1])
    rng = np.random.default_rng(0)
    flops = 2.0 * F.size * F.shape[1]
    law = gaussian.MODEL.conditionals(problem.model_settings)
    return _best(lambda: gibbs.draw(F, C, G, law.noise_variance, law.W, rng), flops, tries)


def _distance(metric: str, flops_per_entry: float) -> Callable[[int], float]:
    def rate(tries: int) -> float:
        count, rank = 150, 10
        particles = perturbed(count, rank, np.random.default_rng(0))
        flops = flops_per_entry * count * (count - 1) / 2 * rank * rank * FEATURES
        return _best(lambda: distances(particles, metric), flops, min(tries, 3))

    return rate


KERNELS: dict[str, tuple[str, type, Callable[[int], float]]] = {
    "HALS sweep, float64": ("2R² a column and sweep", np.float64, _sweep(np.float64)),
    "HALS sweep, float32": ("2R² a column and sweep", np.float32, _sweep(np.float32)),
    "HALS on compressed X": ("its products and sweeps (faces, R=10)", np.float32, _approach),
    "X with all particles, dense": (
        "4DNR a particle (faces, R=10)",
        np.float64,
        _products("faces", 10),
    ),
    "X with all particles, sparse": (
        "4R an entry and particle (newsgroups, R=16)",
        np.float64,
        _products("newsgroups", 16),
    ),
    "Gibbs rows": ("2R a draw, not the draw itself (digits, R=10)", np.float64, _gibbs),
    "Distance, max_angle": (
        "2R²D a pair, not the matching (R=10)",
        np.float64,
        _distance("max_angle", 2),
    ),
    "Distance, l1_sum": (
        "3R²D a pair, not the matching (R=10)",
        np.float64,
        _distance("l1_sum", 3),
    ),
}
# Weight of one unit of work, for kernels whose work is mostly something else.
UNITS = {
    "Gibbs rows": ("draws", 20.0),
    "Distance, max_angle": ("pairs", 2.0 * 10 * 10 * FEATURES),
    "Distance, l1_sum": ("pairs", 3.0 * 10 * 10 * FEATURES),
}
