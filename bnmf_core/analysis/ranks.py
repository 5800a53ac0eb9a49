"""Rank studies of stored data: computed once, then read from the store."""

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bnmf_core.analysis.evidence import RATE, seconds_of
from bnmf_core.analysis.stage import Cluster, Find, no_cluster
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import StoreError
from bnmf_core.core.loss import Loss
from bnmf_core.core.model import Capability, Support
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import USUAL_MODEL
from bnmf_core.data.kinds import Kind
from bnmf_core.evidence.annealing import never
from bnmf_core.evidence.criteria import Criterion
from bnmf_core.evidence.rank_evidence import RankEvidence
from bnmf_core.evidence.rank_study import RankStudy, rank_study, so_far
from bnmf_core.likelihoods import MODELS
from bnmf_core.numerics.threads import worker_count
from bnmf_core.solvers import usual_solver
from bnmf_core.store import files, manifest

# Incremented when the same question gives another answer, or other files.
VERSION = 11
FOLDER, STUDY, BEST, PARTS = "ranks", "study.json", "best.npz", "parts"
LABEL = "Comparing ranks"
# The largest rank compared by default.
LARGEST_USUAL = 8
OF_COUNTS = (Kind.COUNTS, Kind.VARIED, Kind.SCALED)
# Time of all other parts, relative to the time for the modes of all ranks.
REST = 0.5
# Time of held-out blocks, relative to the time of the restarts.
HIDDEN = 0.5
# Maximum seconds for the evidence of one mode of each rank, where it is not requested.
PATIENCE = 900.0
# Restarts of each rank: the evidence requires that they find the best mode.
RESTARTS, WITHOUT_EVIDENCE = 50, 20


@dataclass(frozen=True)
class RankQuestion:
    """Arguments of :func:`rank_study`. ``dataset`` : its id in the store.

    ``evidence`` : whether to compute it, which takes most of the time.
    """

    dataset: str
    ranks: tuple[int, ...]
    noise: str = "free"
    sigma: float | None = None
    restarts: int = RESTARTS
    most_modes: int = 6
    seed: int = 0
    model: str = USUAL_MODEL
    evidence: bool = True

    @property
    def loss(self) -> Loss:
        """The loss of the model, which measures held-out entries and fits."""
        return MODELS[self.model].loss(MODELS[self.model].Settings())

    @property
    def key(self) -> str:
        """Hash of everything that determines the answer."""
        arguments = asdict(self)
        if self.evidence:  # as in keys that are older than this option
            del arguments["evidence"]
        text = json.dumps([VERSION, arguments], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def studied(self, dataset: Dataset, **how: Any) -> RankStudy:
        """Compute the answer; ``how`` : further arguments of :func:`rank_study`."""
        arguments = asdict(self)
        del arguments["dataset"]
        rng = np.random.default_rng(arguments.pop("seed"))
        return rank_study(dataset, rng=rng, **arguments, **how)

    def seconds(self, dataset: Dataset) -> tuple[float, float]:
        """Approximate seconds: with one mode of each rank, and with the maximum number."""
        if not self.evidence:
            work = sum(usual_solver(one).work(one, None) for one in self._problems(dataset))
            most = (1 + HIDDEN) * self.restarts * work / RATE / worker_count()
            return most / 4, most
        of_one = self.evidence_seconds(dataset)
        return of_one * (1 + REST), of_one * (self.most_modes + REST)

    def evidence_seconds(self, dataset: Dataset) -> float:
        """Approximate seconds for the evidence with one mode of each rank."""
        return sum(map(seconds_of, self._problems(dataset)))

    def _problems(self, dataset: Dataset) -> list[Problem]:
        model = MODELS[self.model]
        return [Problem(dataset, model, model.Settings(), rank) for rank in self.ranks if rank > 0]

    def in_time(self, dataset: Dataset) -> "RankQuestion":
        """The question with default options.

        Leaves out evidence that takes more than a quarter of an hour; there are then fewer
        restarts, unless their number is not the default.
        """
        if self.evidence_seconds(dataset) <= PATIENCE:
            return replace(self, evidence=True)
        restarts = WITHOUT_EVIDENCE if self.restarts == RESTARTS else self.restarts
        return replace(self, evidence=False, restarts=restarts)


@dataclass(frozen=True, eq=False)
class RankWork:
    """A background job that computes and stores the answer to a question.

    root : the folder of the store. cluster : returns the executor of a cluster.
    """

    root: Path
    question: RankQuestion
    dataset: Dataset
    cluster: Find = no_cluster
    lane = "study"

    @property
    def label(self) -> str:
        """The title of the job."""
        return f"{LABEL} of {self.dataset.name}"

    @property
    def key(self) -> str:
        """The key of the question."""
        return self.question.key

    @property
    def folder(self) -> Path:
        """The folder of the answer."""
        return self.root / FOLDER / self.question.dataset / self.key

    def ready(self) -> bool:
        """Whether the answer is stored."""
        return manifest.is_whole(self.folder, LABEL)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts made so far."""
        return tuple(sorted(path.name for path in (self.folder / PARTS).glob("*")))

    def so_far(self) -> RankStudy | None:
        """The partial answer; None until the restarts of the first rank are done."""
        of, parts = self.question, self.folder / PARTS
        return so_far(self.dataset, of.ranks, parts, of.model, of.evidence)

    def make(self, report: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        """Compare the ranks and store the answer; resumes from stored parts."""
        question, cluster = self.question, Cluster(self.cluster)
        study = cluster.make(
            lambda executor: question.studied(
                self.dataset,
                executor=executor,
                on_progress=lambda part: report(part, f"{cluster.failure} {LABEL}".lstrip()),
                stopped=stopped,
                keep=self.folder / PARTS,
            )
        )
        write(self.folder, question, study)


def compared(
    root: Path,
    question: RankQuestion,
    dataset: Dataset,
    report: Callable[[float, str], None] = lambda part, stage: None,
    stopped: Callable[[], bool] = never,
) -> RankStudy:
    """The answer with default options; computed if it is not stored.

    root : the folder of the store. report, stopped : as of :meth:`RankWork.make`.
    """
    work = RankWork(root, question.in_time(dataset), dataset)
    if not work.ready():
        work.make(report, stopped)
    return read(work.folder)


def models_for(dataset: Dataset) -> list[str]:
    """Keys of the models that can compare ranks of these data, the default first."""
    needed = {Capability.SCORE, Capability.NOWHERE_ZERO}
    fits = [
        key
        for key, model in MODELS.items()
        if model.support == (Support.POSITIVE, Support.POSITIVE)
        and needed <= model.capabilities
        and not model.unfit(dataset)
    ]
    return sorted(fits, key=lambda key: key != USUAL_MODEL)


def usual_ranks(dataset: Dataset) -> tuple[int, int]:
    """The first and the last rank to compare: at most half of X, so that entries can be masked."""
    half = min(dataset.D, dataset.N) // 2
    last = max(1, min(LARGEST_USUAL, half))
    return 1, last


def write(folder: Path, question: RankQuestion, study: RankStudy) -> None:
    """Store a study in place of its parts; the manifest is written last."""
    factors = {
        f"{name}{rank}": factor
        for rank, pair in study.best.items()
        for name, factor in zip("AW", pair, strict=True)
    }
    files.write_arrays(folder / BEST, factors)
    plain = {
        "question": asdict(question),
        "table": study.table.to_dict("list"),
        "criteria": {key: asdict(criterion) for key, criterion in study.criteria.items()},
        "noise": study.noise,
        "prior": study.prior,
        "counts": study.counts,
        "grows": study.grows,
        "of_noise": {model: asdict(found) for model, found in study.of_noise.items()},
    }
    files.write_json(folder / STUDY, plain)
    shutil.rmtree(folder / PARTS, ignore_errors=True)
    manifest.write(folder)


def read(folder: Path) -> RankStudy:
    """Read a stored study.

    Raises
    ------
    StoreError
        When it is missing or damaged.
    """
    if not manifest.is_whole(folder, LABEL):
        raise StoreError(f"The rank study {folder.name} is not there or damaged; start it again.")
    plain, arrays = files.read_json(folder / STUDY), files.read_arrays(folder / BEST)
    try:
        table = pd.DataFrame(plain["table"])
        criteria = {
            key: Criterion(**values | {"runners_up": tuple(values["runners_up"])})
            for key, values in plain["criteria"].items()
        }
        best = {rank: (arrays[f"A{rank}"], arrays[f"W{rank}"]) for rank in table["rank"].tolist()}
        noises = plain["of_noise"].items()
        of_noise = {model: RankEvidence(**values) for model, values in noises}
        sentences, uneven = (plain["noise"], plain["prior"]), (plain["counts"], plain["grows"])
        return RankStudy(table, criteria, *sentences, best, *uneven, of_noise)
    except (KeyError, TypeError) as error:
        raise StoreError(f"The stored rank study {folder.name} cannot be read: {error}.") from error


def answered(root: Path, dataset_id: str) -> list[RankQuestion]:
    """Questions on a dataset that this version has answered, the newest first.

    Only of models that are registered.
    """
    found = {}
    for folder in (root / FOLDER / dataset_id).glob("*"):
        # Of another version, damaged, or removed at this moment.
        with suppress(StoreError, KeyError, TypeError, OSError):
            if manifest.is_whole(folder, LABEL):
                plain = files.read_json(folder / STUDY)["question"]
                question = RankQuestion(**plain | {"ranks": tuple(plain["ranks"])})
                if question.key == folder.name and question.model in MODELS:
                    found[question] = (folder / STUDY).stat().st_mtime
    return sorted(found, key=lambda question: -found[question])


def damaged(root: Path, dataset_id: str) -> list[str]:
    """A sentence for each damaged study of a dataset."""
    found = map(manifest.damage, sorted((root / FOLDER / dataset_id).glob("*")))
    return [
        f"A stored comparison of ranks was damaged on the disk ({one.text}) and cannot be shown. "
        "Start it again."
        for one in found
        if one is not None
    ]


def other_noise(root: Path, dataset_id: str, model: str) -> RankQuestion | None:
    """The newest answered question under count noise where ``model`` has Gaussian noise.

    And the reverse; None without one.
    """
    if model not in MODELS:
        return None
    known = answered(root, dataset_id)
    sized, counts = noise_of(model)
    return next((one for one in known if noise_of(one.model) == (counts, sized)), None)


def noise_of(model: str) -> tuple[bool, bool]:
    """Whether a model has Gaussian noise, and whether it has count noise."""
    found = MODELS[model]
    return Capability.GAUSSIAN_NOISE in found.capabilities, bool({*OF_COUNTS} & {*found.suits})


def newest(root: Path, dataset_id: str, loss: Loss | None = None) -> RankStudy | None:
    """The newest readable study of a dataset, with this loss if given; None without one."""
    for question in answered(root, dataset_id):
        if loss is None or question.loss.axis == loss.axis:
            with suppress(StoreError):
                return read(root / FOLDER / dataset_id / question.key)
    return None
