"""Map of the nodes of trees and of other runs.

A run is a tree when its particles tell which one they grew from: the diagnostic "parent", the
number of a particle, −1 for one that the tree began with.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from bnmf_core.analysis.comparison import Comparison
from bnmf_core.analysis.stage import Report, Stage, Stopped
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import cross, pairwise
from bnmf_core.compare.projection import place, projection_quality, simplex_projection
from bnmf_core.core.dataset import Truth
from bnmf_core.core.errors import raise_if_cancelled
from bnmf_core.data.split import split
from bnmf_core.numerics.completion import completed
from bnmf_core.numerics.linalg import evenly_spaced
from bnmf_core.store import files

METRIC = "max_angle"
# Nodes of all trees together, and entries of their factors: half a gigabyte.
MOST_NODES = 1500
MOST_ENTRIES = 2**26
# Up to so many points have all their distances measured; more are placed by their distances to so
# many of them (landmark scaling, de Silva & Tenenbaum 2004).
LANDMARKS = 500
MOST_KNOWN = 10
# Diagnostics of every particle, and the values of missing ones.
MISSING = {
    "ids": -1,
    "parent": -1,
    "kind": -1,
    "turn": -1,
    "least_angle": np.nan,
    "log_joint": np.nan,
    "error": np.nan,
    "seconds": np.nan,
}


class TreePart(NamedTuple):
    """Trees, the other runs and the known factorizations on one map.

    table : one row per point, trees first. Columns run (its id, "" for a known factorization), name
        (of a known one), tree (whether it is a tree's node), ids (particle number), member (row in
        the comparison's members, −1 for none), parent (particle number, −1 for none), parent_row
        (row in this table, −1), to_parent (distance to it, NaN without), kind, turn, least_angle,
        log_joint, error, seconds, x, y; x, y and to_parent in the unit of ``METRIC``.
    quality : share of the squared distances that the map preserves, 0 to 1. nodes : number of all.
    between_known : largest distance between known factorizations, 0 where there are not two.
    data, bases : (N, 2) and (points, 3, 2) in the data's simplex at rank 3, else None.
    """

    table: pd.DataFrame
    quality: float
    nodes: int
    between_known: float
    data: np.ndarray | None
    bases: np.ndarray | None


def trees(comparison: Comparison) -> list[int]:
    """Numbers of the comparison's runs that are trees."""
    return [i for i, p in enumerate(comparison.particles) if "parent" in p.diagnostics]


def compute(comparison: Comparison, folder: Path, report: Report, stopped: Stopped) -> None:
    """Store the map, where there is a tree."""
    if not trees(comparison):
        return
    run, position, parent = _choose(comparison)
    known = _known(comparison)
    A, W = _factors(comparison, run, position)
    A, W = (
        np.concatenate([F, *(k[None] for k in ks)]) for F, ks in zip((A, W), known, strict=True)
    )
    landmarks = evenly_spaced(len(A), LANDMARKS)
    apart = cross(
        A,
        W,
        A[landmarks],
        W[landmarks],
        DISTANCES[METRIC],
        lambda part: report(0.8 * part),
        stopped,
    )
    among = apart[landmarks]
    among = np.where(np.eye(len(among), dtype=bool), 0.0, np.minimum(among, among.T))
    arrays = {
        "run": run,
        "position": position,
        "parent": parent,
        "to_parent": _to_parent(A, W, parent, stopped),
        "points": place(apart, among),
        "kept": np.array(projection_quality(among)),
        "between_known": pairwise(A[run < 0], W[run < 0], DISTANCES[METRIC]).max(initial=0.0),
    }
    if comparison.rank == 3 and min(comparison.dataset.D, comparison.dataset.N) >= 3:
        # What was not seen is no zero: the picture shows it as a product of rank 3 has it.
        data, bases = simplex_projection(completed(comparison.dataset, 3), A)
        arrays |= {"data": data, "bases": bases}
    files.write_arrays(folder / "tree.npz", arrays)


def _choose(comparison: Comparison) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Run, position in its arrays and parent (row here, −1) of every point: (P,) each."""
    found = trees(comparison)
    first = comparison.particles[0]
    room = MOST_ENTRIES // (first.R * (first.A.shape[1] + first.W.shape[2]))
    most = max(1, min(MOST_NODES, room) // len(found))
    parts = []
    before = 0
    for i in found:
        particles = comparison.particles[i]
        number = {int(n): row for row, n in enumerate(particles.ids)}
        parent = np.array([number.get(int(p), -1) for p in particles.diagnostics["parent"]])
        nodes = with_ancestors(parent, most)
        # −1 stays: it is what a parent that is not there finds.
        row = np.full(len(parent) + 1, -1)
        row[nodes] = before + np.arange(nodes.size)
        parts.append((np.full(nodes.size, i), nodes, row[parent[nodes]]))
        before += nodes.size
    ids = comparison.run_ids
    others = comparison.members[~comparison.members["run"].isin([ids[i] for i in found])]
    run = np.array([ids.index(run_id) for run_id in others["run"]], dtype=np.int64)
    parts.append((run, others["position"].to_numpy(dtype=np.int64), np.full(len(others), -1)))
    known = len(_known(comparison)[0])
    parts.append((np.full(known, -1), np.arange(known), np.full(known, -1)))
    runs, positions, parents = (np.concatenate(column) for column in zip(*parts, strict=True))
    return runs, positions, parents


def with_ancestors(parent: np.ndarray, most: int) -> np.ndarray:
    """Evenly spaced nodes and all that they grew from, at most ``most``: sorted numbers.

    ``parent`` (M,) comes before its children; −1 for none.
    """
    wanted = most
    while True:
        chosen = np.zeros(len(parent), dtype=bool)
        chosen[evenly_spaced(len(parent), wanted)] = True
        for node in range(len(parent) - 1, -1, -1):
            if chosen[node] and parent[node] >= 0:
                chosen[parent[node]] = True
        if chosen.sum() <= most or wanted == 1:
            return np.flatnonzero(chosen)
        wanted = max(1, 3 * wanted // 4)


def _known(comparison: Comparison) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Bases and weights of the known exact factorizations of this rank, of what the runs saw."""
    seen, _ = split(comparison.dataset, comparison.holdout)
    fitting = _known_of_rank(comparison)
    return [np.asarray(k.A, dtype=float) for k in fitting], [
        np.asarray(k.W, dtype=float)[:, seen] for k in fitting
    ]


def _known_of_rank(comparison: Comparison) -> list[Truth]:
    return [k for k in comparison.dataset.truth if k.A.shape[1] == comparison.rank][:MOST_KNOWN]


def _factors(
    comparison: Comparison, run: np.ndarray, position: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    rows = [position[run == i] for i in range(len(comparison.runs))]
    order = np.concatenate([np.flatnonzero(run == i) for i in range(len(comparison.runs))])
    back = np.argsort(order)
    pairs = [(p.A[r], p.W[r]) for p, r in zip(comparison.particles, rows, strict=True)]
    A, W = (np.concatenate(factors)[back] for factors in zip(*pairs, strict=True))
    return A, W


def _to_parent(A: np.ndarray, W: np.ndarray, parent: np.ndarray, stopped: Stopped) -> np.ndarray:
    """Distance of every point to its parent (P,), NaN where it has none."""
    apart = np.full(len(parent), np.nan)
    for node in np.unique(parent[parent >= 0]):
        raise_if_cancelled(stopped, "distances within the tree")
        children = np.flatnonzero(parent == node)
        one = slice(node, node + 1)
        apart[children] = cross(A[one], W[one], A[children], W[children], DISTANCES[METRIC])[0]
    return apart


def read(comparison: Comparison, folder: Path) -> TreePart | None:
    """The stored map; None where no run is a tree."""
    found = trees(comparison)
    if not found:
        return None
    stored = files.read_arrays(folder / "tree.npz")
    run, position, parent_row = stored["run"], stored["position"], stored["parent"]
    known = _known_of_rank(comparison)
    ids = comparison.run_ids
    members = {(r.run, r.position): r.Index for r in comparison.members.itertuples()}
    run_ids = [ids[i] if i >= 0 else "" for i in run]
    columns: dict[str, object] = {
        "run": run_ids,
        "name": [known[p].name if i < 0 else "" for i, p in zip(run, position, strict=True)],
        "tree": np.isin(run, found),
        "member": [
            members.get((i, p), -1) for i, p in zip(run_ids, position.tolist(), strict=True)
        ],
        "parent_row": parent_row,
        "to_parent": stored["to_parent"],
        "x": stored["points"][:, 0],
        "y": stored["points"][:, 1],
    }
    columns |= {
        name: _of_particles(comparison, run, position, name, missing)
        for name, missing in MISSING.items()
    }
    nodes = sum(comparison.particles[i].M for i in found)
    quality, between = float(stored["kept"]), float(stored["between_known"])
    data, bases = stored.get("data"), stored.get("bases")
    return TreePart(pd.DataFrame(columns), quality, nodes, between, data, bases)


def _of_particles(
    comparison: Comparison, run: np.ndarray, position: np.ndarray, name: str, missing: float
) -> np.ndarray:
    """A quantity of every point (P,), ``missing`` where its run does not have it."""
    result = np.full(len(run), missing)
    for i, particles in enumerate(comparison.particles):
        of_run = particles.diagnostics.get(name, getattr(particles, name, None))
        if of_run is not None:
            result[run == i] = np.asarray(of_run)[position[run == i]]
    return result


STAGE = Stage(
    key="tree",
    label="Mapping trees and what lies around them",
    needs=(),
    version=1,
    compute=compute,
    read=read,
)
