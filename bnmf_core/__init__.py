"""Explore the modes of non-negative matrix factorization posteriors: X ≈ A W, all ≥ 0.

The public names below are loaded from their modules when they are first used, so that
importing the package, or one part of it, stays quick.
"""

from importlib import import_module

_HOME = {
    "Dataset": "nouns.dataset",
    "JobRunner": "runs.jobs",
    "Particles": "nouns.particles",
    "Progress": "nouns.spec",
    "RunSpec": "nouns.spec",
    "RunStore": "store.run_store",
    "TransformLibrary": "explorers.transforms",
    "algorithms": "registry",
    "align": "compare.alignment",
    "covering_numbers": "compare.coverage",
    "distances": "compare.distances",
    "downstream_auc": "compare.downstream",
    "find_modes": "compare.modes",
    "kernel_matrix": "posterior.stein",
    "laurberg": "data.synthetic",
    "load_file": "data.load",
    "load_sample": "data.samples",
    "low_rank": "data.synthetic",
    "models": "registry",
    "project": "compare.projection",
    "run": "runs.engine",
    "sample_names": "data.samples",
    "stein_weights": "posterior.weights",
    "top_words": "compare.topics",
    "transform_library": "explorers.library",
}

__all__ = list(_HOME)


def __getattr__(name: str):
    if name not in _HOME:
        raise AttributeError(f"bnmf_core has no public name {name!r}")
    return getattr(import_module(f"bnmf_core.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(_HOME)
