"""What the engine computes, in one table, to compare before and after a change.

``python -m tests.reference before.json`` runs every algorithm on six small data sets, and every
stage of the analysis of some of these runs. ``python -m tests.reference after.json before.json``
does so, too, and says of each line whether bits stayed, numbers stayed or neither. Compare only on
one machine: another processor rounds otherwise.
"""

import hashlib
import json
import math
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from bnmf_core import Dataset, JobRunner, RunSpec, RunStore, run
from bnmf_core.analysis.distances import SUM
from bnmf_core.analysis.stages import STAGES
from bnmf_core.boolean.generator import boolean_tiles
from bnmf_core.core.errors import BNMFError
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.registry import ALGORITHMS
from bnmf_core.store.integrity import SEAL
from bnmf_core.store.manifest import DONE
from tests.suited import model_of, suited

Cell = dict[str, Any]
PARTICLES, RANK, SEED = 6, 3, 7
# Numbers that differ by less, relative to the largest of their line, count as the same.
SAME = 1e-6
# What no two runs have in common: how long they took.
TIMES = "second"
# Seconds that the analysis of a data set may take.
LONGEST = 900.0
BITS, NUMBERS, NEITHER = "bits", "numbers", "neither"
# What is compared with each other, by data set, with the number of particles of each.
USUAL = {"random_restarts": 12, "gibbs": 40}
COMPARED = {
    "two solutions": USUAL | {"rrt": 40, "nvi": 6},
    "gaps": {"random_restarts": 12, "hmc": 40},
    "yes and no": {"boolean_gibbs": 20, "panpal": 6},
}


def datasets() -> dict[str, Dataset]:
    """Six kinds of data: two solutions, dense, sparse counts, gaps, labels, yes and no."""
    rng = np.random.default_rng(SEED)
    dense = low_rank(24, 30, RANK, noise=0.05, rng=rng)
    X = np.asarray(dense.X)
    gaps = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    counts = sp.csr_array(rng.poisson(X * (rng.random(X.shape) < 0.5)).astype(float))
    labels = {"group": [f"group {n % 3}" for n in range(30)]}
    return {
        "two solutions": laurberg("two", noise=0.05, rng=rng),
        "dense": dense,
        "counts": Dataset.from_array(counts, name="counts"),
        "gaps": Dataset.from_array(gaps, name="gaps"),
        "labels": Dataset.from_array(X**2, name="labels", labels=labels),
        "yes and no": boolean_tiles(16, 20, RANK, rng=rng),
    }


def table() -> dict[str, Cell]:
    """A line per data set and algorithm, and per data set and stage."""
    found: dict[str, Cell] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, dataset in datasets().items():
            compared = COMPARED.get(name, USUAL)
            for lines in (_runs(dataset), _stages(dataset, compared, Path(folder) / name)):
                for line, cell in lines:
                    found[f"{name}: {line}"] = cell
                    print(f"{name}: {line}", file=sys.stderr, flush=True)
    return found


def _runs(dataset: Dataset) -> Iterator[tuple[str, Cell]]:
    for key in ALGORITHMS:
        try:
            model = model_of(key)
            particles = run(suited(dataset, model), RunSpec(key, RANK, model, PARTICLES, seed=SEED))
        except BNMFError as error:
            yield key, {"bits": str(error), "numbers": []}
            continue
        scores = [particles.A.sum(), particles.W.sum(), *particles.scores()["error"]]
        yield key, {"bits": particles.digest, "numbers": [float(value) for value in scores]}


def _stages(
    dataset: Dataset, compared: Mapping[str, int], home: Path
) -> Iterator[tuple[str, Cell]]:
    """Those of the comparison of these runs, by what each has stored."""
    specs = [RunSpec(key, RANK, model_of(key), count, seed=SEED) for key, count in compared.items()]
    runner = JobRunner(RunStore(home))
    try:
        run_ids = runner.start(dataset, specs)
        comparison = runner.wait_analysis(run_ids, timeout=LONGEST)
        for key, stage in STAGES.items():
            yield f"stage {key}", _stored(stage.folder(comparison), run_ids)
    finally:
        runner.close()


def _stored(folder: Path, run_ids: Sequence[str]) -> Cell:
    """Ids of runs, which are drawn anew each time, give way to their places."""

    def named(text: str) -> str:
        for place, run_id in enumerate(run_ids):
            text = text.replace(run_id, f"run {place}")
        return text

    bits, numbers = hashlib.sha256(), list[float]()
    for path in sorted(folder.rglob("*.*"), key=lambda path: named(str(path))):
        for value in _values(path, named):
            bits.update(named(repr(value)).encode())
            if isinstance(value, float):
                numbers.append(value)
    return {"bits": bits.hexdigest()[:16], "numbers": numbers}


def _values(path: Path, named: Callable[[str], str]) -> Iterator[float | str]:
    """Numbers and words of a file; all values of an array in one text, then its moments."""
    # When it was computed and how large the others are, and sums that say the same as the values.
    if path.name == DONE or path.name.endswith(SUM):
        return
    if path.suffix == ".json":
        yield from _flat(json.loads(named(path.read_text())))
    elif path.suffix == ".npz":
        with np.load(path, allow_pickle=False) as arrays:
            for name in sorted(arrays):
                yield from _array(name, arrays[name])
    elif path.suffix == ".npy":
        yield from _array(path.stem, np.load(path))
    else:
        raise ValueError(f"{path.name}: what this file holds is not compared yet.")


def _array(name: str, values: np.ndarray) -> Iterator[float | str]:
    yield f"{name} {values.shape} {values.tolist()}"
    if values.size and values.dtype.kind in "fiub":
        finite = values[np.isfinite(values)].astype(float)
        yield from (float(finite.size), float(finite.sum()), float(np.abs(finite).sum()))


def _flat(value: Any) -> Iterator[float | str]:
    if isinstance(value, dict):
        for key in sorted(value):
            if key != SEAL and TIMES not in key:
                yield key
                yield from _flat(value[key])
    elif isinstance(value, list):
        for one in value:
            yield from _flat(one)
    else:
        yield float(value) if isinstance(value, int | float) else str(value)


def stayed(before: Cell, after: Cell) -> str:
    """Whether bits of a line stayed, numbers, or neither.

    >>> stayed({"bits": "a", "numbers": [1.0]}, {"bits": "b", "numbers": [1.0 + 1e-9]})
    'numbers'
    """
    if before["bits"] == after["bits"]:
        return BITS
    old, new = before["numbers"], after["numbers"]
    if not old or len(old) != len(new):
        return NEITHER
    largest = max((abs(value) for value in old if math.isfinite(value)), default=0.0)
    near = np.allclose(old, new, rtol=SAME, atol=SAME * largest, equal_nan=True)
    return NUMBERS if near else NEITHER


def main(out: str, before: str = "") -> int:
    """Write the table; compare it with an earlier one, if that is named."""
    now = table()
    Path(out).write_text(json.dumps(now, indent=1))
    if not before:
        return 0
    old = json.loads(Path(before).read_text())
    verdicts = {line: stayed(old[line], now[line]) for line in old.keys() & now.keys()}
    for line in old | now:
        if line not in verdicts:
            print(f"{line}: {'gone' if line in old else 'new'}")
        elif verdicts[line] != BITS:
            print(f"{line}: {verdicts[line]} stayed")
    kinds = [*verdicts.values()]
    print(", ".join(f"{kinds.count(kind)} {kind}" for kind in (BITS, NUMBERS, NEITHER)))
    return int(NEITHER in kinds or old.keys() != now.keys())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
