"""Islands or a ridge: whether modes are separate, or pieces of one connected family.

Complete linkage cuts a continuum of factorizations into pieces that look like modes. Two modes are
connected when a path leads from a member of one to a member of the other along which the error does
not rise. Paths are sought between the closest members of modes that are neighbours in a minimum
spanning tree, by the string method (E, Ren & Vanden-Eijnden 2007): factorizations in a row, first
on the straight line between the matched ends, are improved by the solver and spaced evenly again,
in turn. In between, components have equal Euclidean norm in A and W, for else the scale of a
component would make two equal factorizations look far apart.

Any path proves that its ends are connected at its height, so what is found is an upper bound: a
better path may lie lower.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.alignment import matching
from bnmf_core.compare.coverage import checked_distances
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError, raise_if_cancelled
from bnmf_core.core.loss import Loss
from bnmf_core.core.names import listed
from bnmf_core.core.problem import Problem
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.lazy import lazy
from bnmf_core.solvers import usual_solver
from bnmf_core.solvers.solution import Stopping, solve_with

graphs = lazy("scipy.sparse.csgraph")

# Factorizations on a path, rounds of improving and spacing them, and iterations a round.
ALONG, ROUNDS, ITERATIONS = 13, 14, 5
# A path that is too high by this factor after half of the rounds is abandoned.
HOPELESS = 100.0
# Number of the largest modes that are examined.
MOST_MODES = 12
# The density on the way is nowhere below a twentieth (e⁻³) of that at the worse end.
ALLOWED_NATS = 3.0
# A missing path does not prove that there is none.
UNJOINED = "no two of them joined by a path that was found"


@dataclass(frozen=True, eq=False)
class Connections:
    """Connections of modes.

    Attributes
    ----------
    family : (K,) the family of each examined mode, 0-based in the order of their first modes.
    paths : a row for each path: ``mode`` and ``other``, ``distance`` between the ends (closest
        members), ``end_error`` (the larger measure of fit of the ends), ``path_error`` (the largest
        on the way), ``rise`` (their difference in nats, see :func:`connections`) and ``connected``.
    modes : number of modes, K of which were examined.
    single_linkage : groups of all members when chains of steps up to the threshold join them.
    verdict : all of it in a sentence.
    """

    family: np.ndarray
    paths: pd.DataFrame
    modes: int
    single_linkage: int
    verdict: str

    @property
    def families(self) -> int:
        """Number of families among the examined modes."""
        return int(self.family.max()) + 1


def connections(
    dataset: Dataset,
    A: np.ndarray,
    W: np.ndarray,
    labels: np.ndarray,
    distances: np.ndarray,
    threshold: float,
    allowed: float = ALLOWED_NATS,
    on_progress: Callable[[float], None] | None = None,
    cancel: Callable[[], bool] | None = None,
    loss: Loss = SQUARED_ERROR,
) -> Connections:
    """Tell modes that are apart from pieces of one family, by the loss along paths.

    The rise of a path is its loss at the highest − at the worse end, in nats: by how much the
    log-likelihood falls on the way. For the squared error that is (‖X − AW‖² at the highest − at
    the worse end)/(2σ²), with the noise σ that the best factorization leaves.

    Parameters
    ----------
    dataset : what the factorizations are of.
    A : (M, D, R). W : (M, R, N). labels : (M,) modes, 0-based, the largest first.
    distances : (M, M). threshold : at which the modes were found, in the distances' unit.
    allowed : rise in nats up to which two modes count as connected.
    on_progress : called with the fraction done, 0 to 1. cancel : checked between rounds.
    loss : minimized by the factorizations.

    Raises
    ------
    DataError
        When the shapes do not fit. Cancelled: when ``cancel()`` returned True.

    Examples
    --------
    >>> from bnmf_core import RunSpec, connections, distances, find_modes, laurberg, run
    >>> data = laurberg("two")
    >>> found = run(data, RunSpec("random_restarts", rank=3, particles=8, seed=1))
    >>> apart = distances(found)
    >>> labels = find_modes(apart, threshold=15.0).labels
    >>> connections(data, found.A, found.W, labels, apart, threshold=15.0).verdict
    '2 modes, no two of them joined by a path that was found'
    """
    distances = checked_distances(distances)
    labels = np.asarray(labels)
    M = len(distances)
    if not (labels.shape == (M,) and len(A) == len(W) == M):
        raise DataError(
            f"Distances between {M} factorizations need {M} of them and {M} modes; got {len(A)} "
            f"and {labels.size}."
        )
    modes = int(labels.max()) + 1
    K = min(modes, MOST_MODES)
    members = [np.flatnonzero(labels == k) for k in range(K)]
    examined = np.concatenate(members)
    problem = Problem.without_model(dataset, A.shape[2], loss=loss)
    best = loss.values(problem, A[examined], W[examined]).min()
    per_loss = float(loss.nats(dataset, best))
    family = np.arange(K)
    rows = []
    edges = _neighbours(distances, members)
    for done, (mode, other) in enumerate(edges):
        between = distances[np.ix_(members[mode], members[other])]
        row, column = np.unravel_index(int(between.argmin()), between.shape)
        first, last = int(members[mode][row]), int(members[other][column])
        raise_if_cancelled(cancel, "paths between modes")
        pair = [first, last]
        ends = float(loss.values(problem, A[pair], W[pair]).max())
        goal, hopeless = ends + allowed / per_loss, ends + allowed * HOPELESS / per_loss
        path = lowest_path(problem, A[pair], W[pair], goal, hopeless, cancel)
        highest = max(path.highest, ends)
        rows.append(
            {
                "mode": mode,
                "other": other,
                "distance": distances[first, last],
                "end_error": float(loss.measured(dataset, np.array(ends))),
                "path_error": float(loss.measured(dataset, np.array(highest))),
                "rise": (highest - ends) * per_loss,
                "connected": highest <= goal,
            }
        )
        if highest <= goal:
            family[family == family[other]] = family[mode]
        if on_progress is not None:
            on_progress((done + 1) / len(edges))
    firsts, family = np.unique(family, return_inverse=True)
    order = np.argsort([np.flatnonzero(family == k)[0] for k in range(firsts.size)])
    family = np.argsort(order)[family]
    columns = ["mode", "other", "distance", "end_error", "path_error", "rise", "connected"]
    chains, _ = graphs.connected_components(distances <= threshold)
    return Connections(
        family=family,
        paths=pd.DataFrame(rows, columns=columns),
        modes=modes,
        single_linkage=int(chains),
        verdict=family_verdict(family, np.arange(K), modes - K),
    )


def _neighbours(distances: np.ndarray, members: list[np.ndarray]) -> list[tuple[int, int]]:
    """Pairs of modes in a minimum spanning tree of closest members, the nearest pair first."""
    K = len(members)
    apart = np.zeros((K, K))
    for k in range(K):
        for other in range(k):
            # To the tree a zero is no edge at all.
            nearest = distances[np.ix_(members[k], members[other])].min()
            apart[other, k] = max(nearest, np.finfo(float).tiny)
    tree = graphs.minimum_spanning_tree(apart).tocoo()
    order = np.argsort(tree.data, kind="stable")
    return [(int(tree.row[edge]), int(tree.col[edge])) for edge in order]


@dataclass(frozen=True, eq=False)
class Path:
    """Factorizations in a row: A (P, D, R), W (P, R, N), and their losses f (P,)."""

    A: np.ndarray
    W: np.ndarray
    f: np.ndarray

    @property
    def highest(self) -> float:
        """The largest loss on the way."""
        return float(self.f.max())


def lowest_path(
    problem: Problem,
    A: np.ndarray,
    W: np.ndarray,
    goal: float = 0.0,
    hopeless: float = np.inf,
    cancel: Callable[[], bool] | None = None,
) -> Path:
    """The best path found between two factorizations A (2, D, R), W (2, R, N).

    It holds the factorizations on the path and the middles between them. A path below the goal
    is good enough; one above ``hopeless`` half-way is given up.
    """
    order = matching(A[1:], A[0])[0]
    ends_A, ends_W = _balanced(
        np.stack([A[0], A[1][:, order]]).astype(np.float64),
        np.stack([W[0], W[1][order]]).astype(np.float64),
    )
    path_A, path_W = _spaced(ends_A, ends_W)
    best = _with_middles(problem, path_A, path_W)
    solver, improved = usual_solver(problem), Stopping(ITERATIONS, 0.0)
    for done in range(ROUNDS):
        if best.highest <= goal or (best.highest > hopeless and done >= ROUNDS // 2):
            break
        raise_if_cancelled(cancel, "paths between modes")
        better = solve_with(solver, problem, path_A[1:-1], path_W[1:-1], improved)
        inner_A, inner_W = _balanced(*better)
        path_A, path_W = _spaced(
            np.concatenate([path_A[:1], inner_A, path_A[-1:]]),
            np.concatenate([path_W[:1], inner_W, path_W[-1:]]),
        )
        best = min(best, _with_middles(problem, path_A, path_W), key=lambda path: path.highest)
    return best


def _with_middles(problem: Problem, A: np.ndarray, W: np.ndarray) -> Path:
    """A path (P, …) with the middles between its factorizations, in their order."""
    A, W = np.repeat(A, 2, axis=0)[:-1], np.repeat(W, 2, axis=0)[:-1]
    for finer in (A, W):
        finer[1::2] = 0.5 * (finer[:-1:2] + finer[2::2])
    return Path(A, W, problem.loss.values(problem, A, W))


def _balanced(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rescale each component so that its column of A and row of W have equal norm."""
    norm_A = np.sqrt(np.einsum("mdr,mdr->mr", A, A))
    norm_W = np.sqrt(np.einsum("mrn,mrn->mr", W, W))
    both = (norm_A > 0) & (norm_W > 0)
    scale = np.sqrt(np.where(both, norm_W, 1.0) / np.where(both, norm_A, 1.0))
    return A * scale[:, None, :], W / scale[:, :, None]


def _spaced(A: np.ndarray, W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``ALONG`` factorizations at equal steps on the straight pieces between those given."""
    squared = (np.diff(A, axis=0) ** 2).sum(axis=(1, 2)) + (np.diff(W, axis=0) ** 2).sum(
        axis=(1, 2)
    )
    steps = np.sqrt(squared)
    at = np.concatenate([[0.0], np.cumsum(steps)])
    places = np.linspace(0.0, at[-1], ALONG)
    piece = np.clip(np.searchsorted(at, places, "right") - 1, 0, len(steps) - 1)
    part = (places - at[piece]) / np.where(steps[piece] > 0, steps[piece], 1.0)
    part = np.clip(part, 0.0, 1.0)[:, None, None]
    between = [(1 - part) * F[piece] + part * F[piece + 1] for F in (A, W)]
    return between[0], between[1]


def family_verdict(family: np.ndarray, modes: np.ndarray, missing: int = 0) -> str:
    """Which modes are joined by paths, in words.

    family : (K,) any label of the family of each mode. modes : (K,) what the modes are called,
    0-based; on screen one more. missing : further modes, smaller ones, of which nothing is known.
    """
    K, kinds = family.size, np.unique(family)
    among = f"{K} of {K + missing} modes were examined: " if missing else ""
    if kinds.size == 1:
        whole = "one mode" if K == 1 else f"one connected family, shown as {K} pieces"
        return among + whole
    if kinds.size == K:
        return among + f"{K} modes, {UNJOINED}"
    groups = [modes[family == kind] + 1 for kind in kinds]
    joined = [f"modes {listed(g)} are one connected family" for g in groups if g.size > 1]
    alone = [int(g[0]) for g in groups if g.size == 1]
    if alone:
        one = len(alone) == 1
        joined.append(f"mode{'s' * (not one)} {listed(alone)} {'stands' if one else 'stand'} alone")
    return among + f"{kinds.size} families, {UNJOINED}: " + "; ".join(joined)
