"""Explore the modes of non-negative matrix factorization posteriors: X ≈ A W, all ≥ 0.

The public names below are loaded from their modules when they are first used, so that
importing the package, or one part of it, stays quick.
"""

from importlib import import_module

_HOME = {
    "Dataset": "dataset",
    "JobRunner": "runs.jobs",
    "Particles": "particles",
    "Progress": "types",
    "RunSpec": "types",
    "RunStore": "runs.store",
    "TransformLibrary": "explorers.transforms",
    "algorithms": "registry",
    "align": "alignment",
    "covering_numbers": "metrics.coverage",
    "distances": "metrics",
    "downstream_auc": "metrics.downstream",
    "find_modes": "modes",
    "kernel_matrix": "posterior.stein",
    "laurberg": "data.synthetic",
    "load_file": "data.load",
    "load_sample": "data.samples",
    "low_rank": "data.synthetic",
    "models": "registry",
    "project": "projection",
    "run": "runs.engine",
    "sample_names": "data.samples",
    "stein_weights": "posterior.weights",
    "top_words": "topics",
    "transform_library": "explorers.library",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"bnmf_core has no public name {name!r}")
    return getattr(import_module(f"bnmf_core.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
