"""Data in blocks outside memory: time for each pass, growth, memory, workers, and peers.

Planted counts with 5 % of 2,000 features stored, and dense measurements of 200 features, lie on
disk; every point runs in a process of its own.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks import harness
from benchmarks.peers import opened
from benchmarks.tables import part

TARGETS = {
    "growth of a pass": 1.05,
    "peak memory, GB": 1.5,
    "efficiency of two workers": 0.8,
    "times as fast as a peer": 10.0,
}
SIZES = (10_000, 100_000, 1_000_000)
KINDS = (("counts", "gaussian"), ("dense", "gaussian"))
RANK, PARTICLES = 10, 8
POINT_SECONDS = 5400
# Observations written at a time, and the size at which peers are measured.
WRITTEN, PEERS_AT = 20_000, 100_000
EPOCHS = 100
POINTS = (
    *("data", "observations", "X on disk, MB", "passes", "seconds a pass", "seconds in all"),
    *("peak, GB", "of that files, GB", "relative error", "KKT", "converged"),
)
AGAINST_PEERS = "Against peers, at the peer's error"
AGAINST = ("data", "peer", "its seconds", "its error", "ours, s a particle", "times", "of target")


def measure(quick: bool = False) -> dict[str, Any]:
    """Both kinds under Gaussian noise, and the peers."""
    return measured(KINDS, (2_000, 6_000) if quick else SIZES, quick)


def measured(kinds: Sequence[tuple[str, str]], sizes: Sequence[int], quick: bool) -> dict[str, Any]:
    """Every point, a run in memory, two workers, and the peers."""
    found: dict[str, list[dict[str, Any]]] = {}
    peers: list[list[Any]] = []
    with tempfile.TemporaryDirectory() as folder:
        for kind, model in kinds:
            name = f"{kind}, {model}"
            found[name] = []
            for N in sizes:
                with written(Path(folder), kind, N) as path:
                    small = N <= PEERS_AT  # where memory holds it, and workers are compared
                    options = {"path": str(path), "model": model, "compared": small, "N": N}
                    found[name].append(_point(options | {"two_workers": small}))
                    print(name, json.dumps(found[name][-1]), file=sys.stderr, flush=True)
                    if model == "gaussian" and (quick or N == PEERS_AT):
                        peers += _peers(kind, path, quick)
    return {
        "title": f"Data in blocks outside memory: {'; '.join(found)}",
        "summary": [
            f"random_restarts, R={RANK}, {PARTICLES} particles served by the same passes, until "
            "all have converged, by two threads of one process. Peak memory is that of the whole "
            "process, with the pages of files that it has mapped. A peer factorizes X in memory, "
            "once; ours take as long, for each particle, to come to the peer's error.",
        ],
        "tables": [
            {"title": "Points", "columns": POINTS, "rows": _rows(found)},
            {
                "title": "Targets",
                "columns": ("data", "what", "measured", "target", "of target", "met"),
                "rows": _judged(found),
            },
            *([{"title": AGAINST_PEERS, "columns": AGAINST, "rows": peers}] if peers else []),
        ],
        "raw": {"points": found},
    }


@contextmanager
def written(folder: Path, kind: str, N: int) -> Iterator[Path]:
    """A temporary file of planted data with N observations in its rows."""
    rng = np.random.default_rng(7)
    path = folder / f"{kind}-{N}.{'npz' if kind == 'counts' else 'npy'}"
    D = 2_000 if kind == "counts" else 200
    A = rng.gamma(0.1 if kind == "counts" else 0.5, 1, (D, RANK))
    A /= A.sum(axis=0)
    parts = []
    X = None if kind == "counts" else np.lib.format.open_memmap(path, "w+", np.float64, (N, D))
    for first in range(0, N, WRITTEN):
        W = rng.dirichlet(np.full(RANK, 0.3), min(WRITTEN, N - first))
        Y = W @ A.T
        if X is None:
            counts = sparse.csr_array(rng.poisson(120 * Y).astype(np.float32))
            counts.indices = counts.indices.astype(np.int32)
            parts.append(counts)
        else:
            noisy = 100 * Y + 0.1 * rng.standard_normal(Y.shape)
            X[first : first + len(W)] = np.maximum(noisy, 0.0)
    if X is None:
        sparse.save_npz(path, sparse.vstack(parts, format="csr"), compressed=False)
    del parts, X
    try:
        yield path
    finally:
        path.unlink()


def _point(options: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale_point"],
        input=json.dumps(options),
        capture_output=True,
        text=True,
        cwd=harness.ROOT,
        timeout=POINT_SECONDS,
        check=False,
    )
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["it was killed"])[-1]
        return options | {"failed": last}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _rows(found: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    keys = ("passes", "pass", "seconds", "peak", "mapped", "error", "kkt", "converged")
    rows = []
    for name, points in found.items():
        for point in points:
            if "failed" in point:
                rows.append([name, f"{point['N']:,}", f"failed: {point['failed']}", *[None] * 8])
            else:
                cells = [point[key] for key in keys]
                rows.append([name, f"{point['N']:,}", point["bytes"] / 1e6, *cells])
    return rows


def _judged(found: dict[str, list[dict[str, Any]]]) -> list[list[Any]]:
    rows = []
    for name, points in found.items():
        good = [point for point in points if "failed" not in point]
        if len(good) < 2:
            continue
        slope = harness.slope([p["N"] for p in good], [p["pass"] for p in good])
        measured = [("growth of a pass", slope, False)]
        measured.append(("peak memory, GB", max(p["peak"] for p in good), False))
        workers = [p["efficiency"] for p in good if "efficiency" in p][-1]
        measured.append(("efficiency of two workers", workers, True))
        for what, value, at_least in measured:
            verdict = harness.against(value, TARGETS[what], at_least)
            rows.append(
                [name, what, value, verdict["target"], part(verdict["part"]), verdict["met"]]
            )
        for point in good:
            if point.get("nats") is not None:
                words = f"nats above in memory, N = {point['N']:,}"
                rows.append([name, words, point["nats"], "< 0.03", "—", point["nats"] < 0.03])
    return rows


def _peers(kind: str, path: Path, quick: bool) -> list[list[Any]]:
    """Time of peers to their error, and of a particle here to the same."""
    rows = []
    peers = {
        "MiniBatchNMF": _scikit_learn,
        f"MiniBatchNMF, {EPOCHS} passes": partial(_scikit_learn, epochs=EPOCHS),
        "nmf-torch, online": _nmf_torch,
    }
    for label, peer in peers.items():
        try:
            seconds, error = peer(kind, path)
        except harness.Unavailable as why:
            rows.append([kind, label, f"not measured: {why}", *[None] * 4])
            continue
        ours = _point({"path": str(path), "model": "gaussian", "good_enough": error, "N": 0})
        each = ours["seconds"] / PARTICLES
        verdict = harness.against(seconds / each, TARGETS["times as fast as a peer"])
        rows.append([kind, label, seconds, error, each, seconds / each, part(verdict["part"])])
    return rows


def _loaded(kind: str, path: Path) -> Any:
    return sparse.load_npz(path).tocsr() if kind == "counts" else np.load(path)


def _scikit_learn(kind: str, path: Path, epochs: int = 0) -> tuple[float, float]:
    from sklearn.decomposition import MiniBatchNMF  # noqa: PLC0415

    X = _loaded(kind, path)
    # By default it stops when ten batches have not improved; ``epochs`` sets the passes.
    longer = {"max_no_improvement": None, "tol": 0.0, "max_iter": epochs} if epochs else {}
    model = MiniBatchNMF(RANK, init="random", batch_size=1024, random_state=0, **longer)
    made: list[np.ndarray] = []
    seconds = harness.seconds(lambda: made.append(model.fit_transform(X)))
    W, A = made[0].astype(np.float64), model.components_.astype(np.float64)
    overlap = float(np.sum((X @ A.T) * W))
    norm = float(X.data @ X.data) if kind == "counts" else float(np.einsum("nd,nd->", X, X))
    squared = norm - 2 * overlap + float(np.sum((W.T @ W) * (A @ A.T)))
    return seconds, float(np.sqrt(squared / norm))


def _nmf_torch(kind: str, path: Path) -> tuple[float, float]:
    X = _loaded(kind, path)
    X = (X.toarray() if kind == "counts" else X).astype(np.float32)
    with opened("nmf_torch", {"X": X}) as peer:
        answer = peer.ask(rank=RANK, algorithm="halsvar", seeds=[0], threads=2, mode="online")
    return answer["seconds"][0], answer["errors"][0]


if __name__ == "__main__":
    harness.main(measure)
