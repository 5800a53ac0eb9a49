"""The unadjusted Langevin algorithm (Roberts & Tweedie 1996; paper 4, definition 2.3.9).

q ← q + ε²/2 ∇log p(q) + ε ξ with ξ standard normal, in the coordinates of
:mod:`bnmf_core.samplers.coordinates`: a leapfrog step of size ε with fresh momenta, which nothing
rejects. Its chains keep a distribution near the posterior, whose distance from it is of order ε².
(Definition 2.3.9 as printed has no ε² before the slope; Roberts & Tweedie's has.)

The paper says that no rule gives the size of the steps. During the warm-up a Metropolis step
accepts or rejects, and the size is adapted as for HMC until a given part is accepted. After that
the size is frozen and nothing is rejected any more. Slopes grow without end here, so a step that is
too large can leave for good (Roberts & Tweedie 1996): a chain ends with its first divergent step.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.core.model import Capability
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.samplers import walking
from bnmf_core.samplers.chains import chains_setting, fraction, shard_sizes
from bnmf_core.samplers.coordinates import SUPPORTS, Coordinates, coordinates
from bnmf_core.samplers.hamiltonian import (
    Density,
    Outcome,
    Point,
    accept,
    energy,
    leapfrog,
    reasonable_step,
    transition,
)
from bnmf_core.samplers.hmc import work_per_leapfrog
from bnmf_core.samplers.starting import checking, start_setting
from bnmf_core.samplers.walking import State

LABEL = "Langevin"


@dataclass(frozen=True)
class Settings:
    """Number of chains, moves, starts, and thinning."""

    chains: int = chains_setting(2)
    warm_up: int = setting(
        2000,
        "Warm-up steps",
        "Steps discarded before the first stored output; the step size is adapted during them.",
        minimum=0,
        maximum=10_000_000,
    )
    thinning: int = setting(
        100, "Steps per kept output", "One output in this many is kept.", minimum=1, maximum=10**6
    )
    step_size: float | None = setting(
        None,
        "Step size ε",
        "Smaller steps are less biased and slower. Empty: adapted during the warm-up.",
        minimum=1e-12,
        maximum=100,
    )
    target_acceptance: float = setting(
        0.95,
        "Target acceptance",
        "Target acceptance probability of a hypothetical Metropolis step; values nearer to 1 are "
        "less biased.",
        minimum=0.1,
        maximum=0.999,
        advanced=True,
    )
    start: str = start_setting()


def unadjusted(
    density: Density,
    point: Point,
    step: np.ndarray,
    rng: np.random.Generator,
    reflected: slice | None = None,
) -> Outcome:
    """One step of size ``step`` (c,) that nothing rejects; NaN where it diverges."""
    momentum = rng.standard_normal(point.q.shape)
    end, last = leapfrog(density, point, momentum, step, 1, reflected)
    outcome = accept(point, energy(point, momentum), end, last, rng)
    end.q[outcome.divergent] = np.nan
    return outcome._replace(point=end, accepted=~outcome.divergent)


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start every chain of the shard, with a step size that one step survives."""
    density = coordinates(problem).density(problem)

    def first_step(point: Point, chart: Coordinates) -> np.ndarray:
        if settings.step_size is not None:
            return np.full(point.value.size, settings.step_size)
        return reasonable_step(density, point, rng, chart.reflected)

    return walking.begun(problem, settings, shard, LABEL, density, first_step)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of steps."""
    density = coordinates(problem).density(problem)
    adaptive = settings.step_size is None
    moves = (transition if adaptive else unadjusted, unadjusted)
    each = work_per_leapfrog(problem, state.draws.size)
    return walking.walk(problem, state, settings, rng, density, moves, each, adaptive)


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept output, the warm-up left out."""
    return settings.thinning * work_per_leapfrog(problem, settings.chains) / settings.chains


ALGORITHM = Algorithm(
    key="langevin",
    label=LABEL,
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=checking(LABEL),
    needs=Needs.of(Capability.SCORE, supports=SUPPORTS),
    color="#A7B27D",
    symbol="cross",
    summary="Follow the gradient of the log posterior with added noise, without rejection. Its "
    "bias shrinks with the step size: a baseline.",
    reference="Roberts & Tweedie 1996; paper 4, definition 2.3.9",
    caveat="Langevin outputs are not draws from the posterior: no step is rejected, so chains "
    "converge to a distribution with a bias of the order of the squared step size. Chains that "
    "agree share this bias.",
)
