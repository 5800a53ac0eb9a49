"""Explore the modes of non-negative matrix factorization posteriors: X ≈ A W, all ≥ 0.

The public names below are loaded from their modules when they are first used, so that
importing the package, or one part of it, stays quick.
"""

from importlib import import_module

_HOME = {
    "Dataset": "core.dataset",
    "JobRunner": "runs.runner",
    "Particles": "core.particles",
    "PosteriorNMF": "notebook.estimator",
    "Progress": "core.spec",
    "RunSpec": "core.spec",
    "RunStore": "store.run_store",
    "TransformLibrary": "explorers.transforms",
    "algorithms": "registry",
    "align": "compare.alignment",
    "boolean_tiles": "boolean.generator",
    "coherence": "compare.coherence",
    "component_stability": "compare.alignment",
    "conclusions": "compare.conclusions",
    "connections": "compare.islands",
    "covering_numbers": "compare.coverage",
    "displace": "compare.displacement",
    "distances": "compare.distances",
    "downstream_auc": "compare.downstream",
    "explore": "notebook.dashboard",
    "find_modes": "compare.modes",
    "inspect_file": "data.load",
    "kernel_matrix": "posterior.stein",
    "laurberg": "data.synthetic",
    "load_archive": "share.opening",
    "load_file": "data.load",
    "load_sample": "data.samples",
    "low_rank": "data.synthetic",
    "mode_evidence": "evidence.mode_evidence",
    "models": "registry",
    "preset": "runs.launch",
    "project": "compare.projection",
    "rank_study": "evidence.rank_study",
    "run": "runs.engine",
    "sample_names": "data.samples",
    "stein_weights": "posterior.weights",
    "threshold_curve": "boolean.thresholds",
    "to_arviz": "share.arviz",
    "top_words": "compare.topics",
    "transform_library": "explorers.library",
    "unseen_modes": "compare.unseen",
}

__all__ = list(_HOME)
# As in ``typing``, whose import this spares.
TYPE_CHECKING = False


if TYPE_CHECKING:  # for type checkers, the same names
    from bnmf_core.boolean.generator import boolean_tiles as boolean_tiles
    from bnmf_core.boolean.thresholds import threshold_curve as threshold_curve
    from bnmf_core.compare.alignment import align as align
    from bnmf_core.compare.alignment import component_stability as component_stability
    from bnmf_core.compare.coherence import coherence as coherence
    from bnmf_core.compare.conclusions import conclusions as conclusions
    from bnmf_core.compare.coverage import covering_numbers as covering_numbers
    from bnmf_core.compare.displacement import displace as displace
    from bnmf_core.compare.distances import distances as distances
    from bnmf_core.compare.downstream import downstream_auc as downstream_auc
    from bnmf_core.compare.islands import connections as connections
    from bnmf_core.compare.modes import find_modes as find_modes
    from bnmf_core.compare.projection import project as project
    from bnmf_core.compare.topics import top_words as top_words
    from bnmf_core.compare.unseen import unseen_modes as unseen_modes
    from bnmf_core.core.dataset import Dataset as Dataset
    from bnmf_core.core.particles import Particles as Particles
    from bnmf_core.core.spec import Progress as Progress
    from bnmf_core.core.spec import RunSpec as RunSpec
    from bnmf_core.data.load import inspect_file as inspect_file
    from bnmf_core.data.load import load_file as load_file
    from bnmf_core.data.samples import load_sample as load_sample
    from bnmf_core.data.samples import sample_names as sample_names
    from bnmf_core.data.synthetic import laurberg as laurberg
    from bnmf_core.data.synthetic import low_rank as low_rank
    from bnmf_core.evidence.mode_evidence import mode_evidence as mode_evidence
    from bnmf_core.evidence.rank_study import rank_study as rank_study
    from bnmf_core.explorers.library import transform_library as transform_library
    from bnmf_core.explorers.transforms import TransformLibrary as TransformLibrary
    from bnmf_core.notebook.dashboard import explore as explore
    from bnmf_core.notebook.estimator import PosteriorNMF as PosteriorNMF
    from bnmf_core.posterior.stein import kernel_matrix as kernel_matrix
    from bnmf_core.posterior.weights import stein_weights as stein_weights
    from bnmf_core.registry import algorithms as algorithms
    from bnmf_core.registry import models as models
    from bnmf_core.runs.engine import run as run
    from bnmf_core.runs.launch import preset as preset
    from bnmf_core.runs.runner import JobRunner as JobRunner
    from bnmf_core.share.arviz import to_arviz as to_arviz
    from bnmf_core.share.opening import load_archive as load_archive
    from bnmf_core.store.run_store import RunStore as RunStore
else:

    def __getattr__(name: str) -> object:
        if name not in _HOME:
            raise AttributeError(f"bnmf_core has no public name {name!r}")
        return getattr(import_module(f"bnmf_core.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
