"""Explore the modes of non-negative matrix factorization posteriors: X ≈ A W, all ≥ 0."""

from bnmf_core.alignment import align
from bnmf_core.data.load import load_file
from bnmf_core.data.samples import load_sample, sample_names
from bnmf_core.data.synthetic import laurberg, low_rank
from bnmf_core.dataset import Dataset
from bnmf_core.metrics import distances
from bnmf_core.metrics.coverage import covering_numbers
from bnmf_core.metrics.downstream import downstream_auc
from bnmf_core.modes import find_modes
from bnmf_core.particles import Particles
from bnmf_core.projection import project
from bnmf_core.registry import algorithms, models
from bnmf_core.runs.engine import run
from bnmf_core.runs.jobs import JobRunner
from bnmf_core.runs.store import RunStore
from bnmf_core.topics import top_words
from bnmf_core.types import Progress, RunSpec

__all__ = [
    "Dataset",
    "JobRunner",
    "Particles",
    "Progress",
    "RunSpec",
    "RunStore",
    "algorithms",
    "align",
    "covering_numbers",
    "distances",
    "downstream_auc",
    "find_modes",
    "laurberg",
    "load_file",
    "load_sample",
    "low_rank",
    "models",
    "project",
    "run",
    "sample_names",
    "top_words",
]
