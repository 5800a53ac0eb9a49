"""Rank studies of stored data: asked for once, stored beside the data, found again."""

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

# Counted up when the same question would have another answer, or other files.
VERSION = 11
FOLDER, STUDY, BEST, PARTS = "ranks", "study.json", "best.npz", "parts"
LABEL = "Comparing ranks"
# Ranks that are compared where nobody says which.
LARGEST_USUAL = 8
OF_COUNTS = (Kind.COUNTS, Kind.VARIED, Kind.SCALED)
# Of the time that the modes of all ranks take, what the rest takes besides.
REST = 0.5
# Of the time that restarts take, what hidden blocks take besides.
HIDDEN = 0.5
# Seconds that the evidence of one mode of each rank may take where nobody asks for it.
PATIENCE = 900.0
# Restarts of each rank: the evidence counts on the best mode being among them.
RESTARTS, WITHOUT_EVIDENCE = 50, 20


@dataclass(frozen=True)
class RankQuestion:
    """What a rank study is asked; see :func:`rank_study`. ``dataset`` : its id in the store.

    ``evidence`` : whether it is computed, which takes most of the time.
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
        """What the model makes small, by which hidden entries and fits are measured."""
        return MODELS[self.model].loss(MODELS[self.model].Settings())

    @property
    def key(self) -> str:
        """Changes with everything that decides the answer."""
        asked = asdict(self)
        if self.evidence:  # keys of before it could be left out
            del asked["evidence"]
        decides = json.dumps([VERSION, asked], sort_keys=True)
        return hashlib.sha256(decides.encode()).hexdigest()[:12]

    def studied(self, dataset: Dataset, **how: Any) -> RankStudy:
        """The answer, made here; ``how`` : further arguments of :func:`rank_study`."""
        asked = asdict(self)
        del asked["dataset"]
        rng = np.random.default_rng(asked.pop("seed"))
        return rank_study(dataset, rng=rng, **asked, **how)

    def seconds(self, dataset: Dataset) -> tuple[float, float]:
        """About how long it takes: where every rank has one mode, and where it has the most."""
        if not self.evidence:
            work = sum(usual_solver(one).work(one, None) for one in self._problems(dataset))
            most = (1 + HIDDEN) * self.restarts * work / RATE / worker_count()
            return most / 4, most
        of_one = self.evidence_seconds(dataset)
        return of_one * (1 + REST), of_one * (self.most_modes + REST)

    def evidence_seconds(self, dataset: Dataset) -> float:
        """About how long the evidence takes where every rank has one mode."""
        return sum(map(seconds_of, self._problems(dataset)))

    def _problems(self, dataset: Dataset) -> list[Problem]:
        model = MODELS[self.model]
        return [Problem(dataset, model, model.Settings(), rank) for rank in self.ranks if rank > 0]

    def in_time(self, dataset: Dataset) -> "RankQuestion":
        """The question as it is asked unless a visitor says otherwise.

        Without the evidence where that takes more than a quarter of an hour, and then with fewer
        restarts, unless another number than the usual one was asked for.
        """
        if self.evidence_seconds(dataset) <= PATIENCE:
            return replace(self, evidence=True)
        restarts = WITHOUT_EVIDENCE if self.restarts == RESTARTS else self.restarts
        return replace(self, evidence=False, restarts=restarts)


@dataclass(frozen=True, eq=False)
class RankWork:
    """A question, its data and where the answer is stored, as what is made in the background.

    root : the folder of the store. cluster : finds the executor of a cluster that does the work.
    """

    root: Path
    question: RankQuestion
    dataset: Dataset
    cluster: Find = no_cluster
    lane = "study"

    @property
    def label(self) -> str:
        """What is compared."""
        return f"{LABEL} of {self.dataset.name}"

    @property
    def key(self) -> str:
        """That of the question."""
        return self.question.key

    @property
    def folder(self) -> Path:
        """Where the answer is, or will be."""
        return self.root / FOLDER / self.question.dataset / self.key

    def ready(self) -> bool:
        """Whether the answer is stored."""
        return manifest.is_whole(self.folder, LABEL)

    @property
    def parts(self) -> tuple[str, ...]:
        """Names of the parts made so far."""
        return tuple(sorted(path.name for path in (self.folder / PARTS).glob("*")))

    def so_far(self) -> RankStudy | None:
        """What is known while it is made; None until the first rank has its restarts."""
        asked = self.question
        return so_far(self.dataset, asked.ranks, self.folder / PARTS, asked.model, asked.evidence)

    def make(self, report: Callable[[float, str], None], stopped: Callable[[], bool]) -> None:
        """Compare the ranks and store what is found; goes on from what is kept."""
        asked, cluster = self.question, Cluster(self.cluster)
        study = cluster.make(
            lambda executor: asked.studied(
                self.dataset,
                executor=executor,
                on_progress=lambda part: report(part, f"{cluster.said} {LABEL}".lstrip()),
                stopped=stopped,
                keep=self.folder / PARTS,
            )
        )
        write(self.folder, asked, study)


def compared(
    root: Path,
    asked: RankQuestion,
    dataset: Dataset,
    report: Callable[[float, str], None] = lambda part, stage: None,
    stopped: Callable[[], bool] = never,
) -> RankStudy:
    """The answer as it is asked unless a visitor says otherwise; made here if it is not stored.

    root : the folder of the store. report, stopped : as of :meth:`RankWork.make`.
    """
    work = RankWork(root, asked.in_time(dataset), dataset)
    if not work.ready():
        work.make(report, stopped)
    return read(work.folder)


def models_for(dataset: Dataset) -> list[str]:
    """Keys of the models under which ranks of these data can be compared, the usual one first."""
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
    """The first and the last rank to compare: of half of X, so that entries can be hidden."""
    half = min(dataset.D, dataset.N) // 2
    last = max(1, min(LARGEST_USUAL, half))
    return 1, last


def write(folder: Path, asked: RankQuestion, study: RankStudy) -> None:
    """Store a study instead of its parts; the file that says that it is there comes last."""
    factors = {
        f"{name}{rank}": factor
        for rank, pair in study.best.items()
        for name, factor in zip("AW", pair, strict=True)
    }
    files.write_arrays(folder / BEST, factors)
    plain = {
        "question": asdict(asked),
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
    """What was stored.

    Raises
    ------
    StoreError
        When it is not there, or damaged.
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
        said, uneven = (plain["noise"], plain["prior"]), (plain["counts"], plain["grows"])
        return RankStudy(table, criteria, *said, best, *uneven, of_noise)
    except (KeyError, TypeError) as error:
        raise StoreError(f"The stored rank study {folder.name} cannot be read: {error}.") from error


def answered(root: Path, dataset_id: str) -> list[RankQuestion]:
    """What was asked of a dataset, and answered by this version, the newest first.

    Of models that are there.
    """
    found = {}
    for folder in (root / FOLDER / dataset_id).glob("*"):
        # Of another version, damaged, or removed at this moment.
        with suppress(StoreError, KeyError, TypeError, OSError):
            if manifest.is_whole(folder, LABEL):
                plain = files.read_json(folder / STUDY)["question"]
                asked = RankQuestion(**plain | {"ranks": tuple(plain["ranks"])})
                if asked.key == folder.name and asked.model in MODELS:
                    found[asked] = (folder / STUDY).stat().st_mtime
    return sorted(found, key=lambda asked: -found[asked])


def damaged(root: Path, dataset_id: str) -> list[str]:
    """A sentence for each study of a dataset that was damaged and not made again."""
    found = map(manifest.damage, sorted((root / FOLDER / dataset_id).glob("*")))
    return [
        f"A stored comparison of ranks was damaged on the disk ({one.text}) and cannot be shown. "
        "Start it again."
        for one in found
        if one is not None
    ]


def other_noise(root: Path, dataset_id: str, model: str) -> RankQuestion | None:
    """The newest question answered under noise of counts where ``model`` has Gaussian noise.

    And under Gaussian noise where it has that of counts; None where there is none.
    """
    if model not in MODELS:
        return None
    known = answered(root, dataset_id)
    sized, counts = noise_of(model)
    return next((one for one in known if noise_of(one.model) == (counts, sized)), None)


def noise_of(model: str) -> tuple[bool, bool]:
    """Whether a model has Gaussian noise, and whether it has that of counts."""
    found = MODELS[model]
    return Capability.GAUSSIAN_NOISE in found.capabilities, bool({*OF_COUNTS} & {*found.suits})


def newest(root: Path, dataset_id: str, loss: Loss | None = None) -> RankStudy | None:
    """The last study of a dataset, with this loss if given; None without any that can be read."""
    for asked in answered(root, dataset_id):
        if loss is None or asked.loss.axis == loss.axis:
            with suppress(StoreError):
                return read(root / FOLDER / dataset_id / asked.key)
    return None
