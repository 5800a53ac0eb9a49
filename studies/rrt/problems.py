"""The data sets, noise settings and methods of paper 2's comparison (§4, §5; tables 1 to 3)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from bnmf_core.core.dataset import Dataset
from bnmf_core.data.samples import load_sample
from bnmf_core.data.synthetic import laurberg
from studies.rrt import documents
from studies.stein.problems import PROBLEMS as STEIN_PROBLEMS
from studies.words import declared, words

# Half the width of the uniform noise on the synthetic data, whose mean entry is 6.7; not published.
LAURBERG_NOISE = 0.05
LAURBERG_SIZE = (500, 500)
# Of the paper.
REPETITIONS = 10


@dataclass(frozen=True)
class RRTPlan:
    """Everything that decides a study's numbers, except data sets, noises and methods.

    Attributes
    ----------
    seconds : of processor time that a method may take at most after its first proposal; a noise
        may give it less. Ten hours are no clock: no method takes as long.
    tolerance : smallest gain of a component, nats.
    """

    repetitions: int = 10
    seconds: float = 36_000.0
    tolerance: float = 1e-4
    seed: int = 0


@dataclass(frozen=True)
class RRTProblem:
    """One data set, factorized at one rank.

    Attributes
    ----------
    key, label : name in results and on screen. rank : R.
    make : ``(folder of public data sets or None, seed) → Dataset``.
    needs : files of that folder, by their path in it.
    published : (D, N) in the paper. noises : keys of ``NOISES``.
    known : whether every method begins at the first known factorization.
    """

    key: str
    label: str
    rank: int
    make: Callable[[Path | None, int], Dataset]
    needs: tuple[str, ...]
    published: tuple[int, int]
    noises: tuple[str, ...]
    known: bool = False

    def present(self, data: Path | None) -> bool:
        """Whether it is available with this folder of public data sets."""
        if not self.needs:
            return True
        return data is not None and all((data / file).is_file() for file in self.needs)


@dataclass(frozen=True)
class Noise:
    """One noise model: what the tables of the paper differ in.

    Attributes
    ----------
    key, label : name in results and on screen. model : registry key.
    times : what the variance of Gaussian noise that is found in the data is multiplied by, and the
        threshold ε of the uniform one.
    of_noise : where it is not 0, ε is so many times the noise that was added.
    rate : λ of the priors.
    methods : keys of ``METHODS``. table : of the paper, "" for none.
    seconds : of processor time that a method may take after its first proposal.
    repetitions : at most so many.
    whole : methods that have no clock but the plan's, and all of its repetitions.
    """

    key: str
    label: str
    model: str
    times: float
    methods: tuple[str, ...]
    seconds: float
    repetitions: int
    table: str = ""
    of_noise: float = 0.0
    rate: float = 1.0
    whole: tuple[str, ...] = ()

    def limit(self, method: str, plan: RRTPlan) -> float:
        """Seconds of processor time that a method may take."""
        return plan.seconds if method in self.whole else min(plan.seconds, self.seconds)

    def count(self, method: str, plan: RRTPlan) -> int:
        """Repetitions of a method."""
        return plan.repetitions if method in self.whole else min(plan.repetitions, self.repetitions)


@dataclass(frozen=True)
class Method:
    """One column of the tables.

    Attributes
    ----------
    key, label : name in results and on screen. algorithm : registry key.
    particles : how many factorizations it may propose. settings : of the algorithm.
    scales : how its proposals are scaled before they are tried, for each mixture; see ``SCALES``.
    variance : where σ² of a flat likelihood comes from: "threshold", Gaussian noise of the
        threshold's size, or "fit", noise of the size of the residual.
    """

    key: str
    label: str
    algorithm: str
    particles: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    scales: tuple[str, ...] = ("best",)
    variance: str = "threshold"


def _laurberg(embedding: str) -> Callable[[Path | None, int], Dataset]:
    def make(data: Path | None, seed: int) -> Dataset:
        rng = np.random.default_rng(seed)
        exact = laurberg("two", a=0.5, embed=LAURBERG_SIZE, embedding=embedding, rng=rng)
        noise = rng.uniform(-LAURBERG_NOISE, LAURBERG_NOISE, exact.X.shape)
        noisy = Dataset.from_array(np.maximum(exact.X + noise, 0.0), name=exact.name)
        return replace(noisy, truth=exact.truth)

    return make


MAKERS: dict[str, Callable[[Path | None, int], Dataset]] = {
    "laurberg_dense": _laurberg("dense"),
    "laurberg_identity": _laurberg("identity"),
    "newsgroups": lambda data, seed: documents.posts(data),
    "bbc": lambda data, seed: documents.articles(data),
    "all_aml": lambda data, seed: load_sample("leukemia"),
    "olivetti": STEIN_PROBLEMS["olivetti"].dataset,
}
TABLES = words("rrt", "plan")
PROBLEMS = declared(
    RRTProblem,
    {
        key: entry | {"make": MAKERS[key], "noises": TABLES["noises_of"][entry["noises"]]}
        for key, entry in TABLES["problems"].items()
    },
)
# Published, and not measured: the data are not at hand in the paper's form.
ABSENT = TABLES["absent"]
NOISES = declared(Noise, TABLES["noises"])
METHODS = declared(Method, TABLES["methods"])
# The scale of A and W at which a proposal is tried → what it adds to a column's key and label: the
# one with the smallest curvature (paper 2, §3.2), the one it came with, the most probable a priori.
SCALES = {
    "best": ("", ""),
    "found": ("_found", ", as found"),
    "prior": ("_prior", ", prior's scale"),
}
COLUMNS: dict[str, str] = {
    method.key + SCALES[scale][0]: method.label + SCALES[scale][1]
    for method in METHODS.values()
    for scale in method.scales
}


def row(problem: str, noise: str) -> str:
    """Name of a data set under a noise in results."""
    return f"{problem}/{noise}"
