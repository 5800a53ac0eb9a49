"""People on a shared server, each with a word that nobody else's data hold."""

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from bnmf_core import JobRunner, RunSpec, RunStore, laurberg
from bnmf_core.store.home import OWNERS
from pages.serving import identity

SPEC = RunSpec("random_restarts", rank=3, particles=4)


@dataclass
class Person:
    """Somebody with a run whose data, name and notes hold a word that nobody else's do."""

    owner: str
    word: str
    runs: str
    data: str


def person(home: Path, number: int) -> Person:
    """Somebody new, whose run is computed already."""
    owner, word = identity.new_owner(), f"Marker{number:02d}of"
    rng = np.random.default_rng(number)
    dataset = replace(laurberg("two", noise=0.01, rng=rng), name=word, source=f"File {word}.")
    with closing(JobRunner(RunStore(home / OWNERS / owner))) as runner:
        (run_id,) = runner.start(dataset, [SPEC], [f"run {word}"], launch_name=f"launch {word}")
        runner.wait_analysis([run_id])
        A = runner.store.particles(run_id).A[0]
        data = runner.store.run(run_id).dataset
        runner.store.notes.keep(data, "mode", A, f"mode {word}")
    return Person(owner, word, run_id, data)
