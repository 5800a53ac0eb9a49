"""What algorithms ask of a model, and which model works with which algorithm."""

from dataclasses import fields, replace

import numpy as np
import pytest

from bnmf_core import registry
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.model import Capability, Model, Support, required
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import MODELS
from bnmf_core.runs import planning

EVERY = ("gaussian", "gaussian_simplex", "silf", "uniform")
# What worked with what while algorithms still named their models.
TABLE = {
    "q_transform": EVERY,
    "random_restarts": EVERY,
    "nndsvdar": EVERY,
    "single_mode": ("gaussian", "gaussian_simplex"),
    "all_modes": ("gaussian", "gaussian_simplex"),
    "gibbs": ("gaussian",),
    "hmc": EVERY,
    "svgd": ("gaussian", "gaussian_simplex", "silf"),
    "q_svgd": ("gaussian", "gaussian_simplex", "silf"),
    "dsgd": ("gaussian", "gaussian_simplex", "silf"),
    "rrt": ("gaussian", "uniform"),
    "nvi": ("gaussian", "uniform"),
}


@pytest.mark.parametrize("key", TABLE)
def test_every_algorithm_works_with_the_models_it_named_before(key):
    algorithm = registry.algorithm(key)
    working = tuple(name for name in EVERY if algorithm.works_with(MODELS[name]))
    assert working == TABLE[key]


@pytest.mark.parametrize(
    ("algorithm", "model", "sentence"),
    [
        (
            "gibbs",
            "uniform",
            "Gibbs needs conditional draws, which the model “Uniform (ε-threshold), exponential "
            "priors” does not have.",
        ),
        (
            "svgd",
            "uniform",
            "SVGD needs a likelihood that is nowhere zero, which the model “Uniform (ε-threshold), "
            "exponential priors” does not have.",
        ),
        (
            "rrt",
            "silf",
            "RRT needs the trace of second derivatives, which the model “Soft ε-threshold "
            "(SILF), columns of A sum to one” does not have.",
        ),
    ],
)
def test_what_does_not_work_is_told_in_a_sentence(small, algorithm, model, sentence):
    assert registry.algorithm(algorithm).why_not(MODELS[model]) == sentence
    with pytest.raises(SettingsError) as refusal:
        planning.check(small, RunSpec(algorithm, 2, model))
    assert str(refusal.value) == sentence


def test_all_that_is_missing_is_named():
    bare = replace(MODELS["silf"], score_along=None)
    told = registry.algorithm("dsgd").why_not(replace(bare, score=None))
    assert "slopes of the log joint and second derivatives along a direction, which" in told


@pytest.mark.parametrize("algorithm", ["rrt", "nvi"])
def test_a_support_that_an_algorithm_is_not_made_for_is_named(algorithm):
    bounded = replace(MODELS["gaussian"], support_W=Support.UNIT_INTERVAL)
    told = registry.algorithm(algorithm).why_not(bounded)
    assert told.endswith("where the entries of A are ≥ 0 and the entries of W lie between 0 and 1.")


def test_a_model_can_do_what_it_has_a_part_for():
    """Taking a part away takes a capability away; a likelihood that is somewhere zero, likewise."""
    whole = replace(
        MODELS["gaussian"], threshold=MODELS["silf"].threshold, box=MODELS["boolean"].box
    )
    assert whole.capabilities == set(Capability)
    parts = {
        "conditionals": {Capability.SWEEPS},
        "box": {Capability.BOX},
        "noise_level": {Capability.GAUSSIAN_NOISE},
        "threshold": {Capability.THRESHOLD},
        "curvature": {Capability.CURVATURE},
        "score_along": {Capability.SCORE_ALONG},
        "score": {Capability.SCORE, Capability.SCORE_ALONG, Capability.CURVATURE},
    }
    for name, lost in parts.items():
        assert whole.capabilities - replace(whole, **{name: None}).capabilities == lost, name
    flat = replace(whole, offending=MODELS["uniform"].offending)
    assert whole.capabilities - flat.capabilities == {Capability.NOWHERE_ZERO}
    assert {field.name for field in fields(Model) if field.default is None} == {
        *parts,
        "draw",
        "sources",
        "per_loss",
        "log_joint_and_score",
        "noise_curvature",
        "offending",
    }


def test_a_part_that_is_missing_is_refused_where_nobody_has_asked():
    with pytest.raises(SettingsError, match="cannot do what is asked"):
        required(None)
    assert required(np.exp) is np.exp


def test_only_chains_without_a_caveat_are_draws():
    assert {a.key for a in registry.ALGORITHMS.values() if a.caveat} == {"iasg", "langevin"}
    for algorithm in registry.ALGORITHMS.values():
        sampler = algorithm.family == "sampler"
        assert algorithm.exact == (sampler and not algorithm.caveat)
        expected = (
            {True: "draws", False: "outputs"}[algorithm.exact] if sampler else "factorizations"
        )
        assert algorithm.members == expected
        assert sampler or not algorithm.caveat


def test_what_runs_to_optima_says_how_far_factorizations_may_still_turn():
    """A declaration: the algorithms that have it, and no sampler, tell their movement."""
    told = {key for key, algorithm in registry.ALGORITHMS.items() if algorithm.runs_to_optima}
    assert told >= {"random_restarts", "q_transform", "nndsvdar"}
    assert not any(registry.ALGORITHMS[key].family == "sampler" for key in told)
    of_tiles = {key for key in told if registry.ALGORITHMS[key].works_with(MODELS["boolean"])}
    assert of_tiles == {"box_restarts"}
