"""Random-walk Metropolis–Hastings (paper 4, algorithm 2.2), for every model.

A proposal moves all entries of A and W at once, by normal steps of one size in the coordinates of
:mod:`bnmf_core.samplers.coordinates`, and is accepted with probability min(1, p′/p). The step size
is adapted during the warm-up to the acceptance that is best in many dimensions, .234 (Roberts,
Gelman & Gilks 1997). It is a baseline: no slope leads the way, so that a chain in d dimensions
takes some d proposals to come as far as a trajectory of HMC does.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.samplers import walking
from bnmf_core.samplers.chains import chains_setting, fraction, shard_sizes
from bnmf_core.samplers.coordinates import SUPPORTS, Coordinates, coordinates
from bnmf_core.samplers.hamiltonian import Density, Outcome, Point, accept
from bnmf_core.samplers.hmc import work_per_leapfrog
from bnmf_core.samplers.starting import checking, start_setting
from bnmf_core.samplers.walking import State

LABEL = "Metropolis–Hastings"


@dataclass(frozen=True)
class Settings:
    """Number of chains, moves, starts, and thinning."""

    chains: int = chains_setting(2)
    warm_up: int = setting(
        5000,
        "Warm-up proposals",
        "Proposals discarded before the first stored draw; the step size is adapted during them.",
        minimum=0,
        maximum=10_000_000,
    )
    thinning: int = setting(
        200, "Proposals per kept draw", "One draw in this many is kept.", minimum=1, maximum=10**6
    )
    target_acceptance: float = setting(
        0.234,
        "Target acceptance",
        "Target acceptance probability for the adaptation of the step size.",
        minimum=0.01,
        maximum=0.99,
        advanced=True,
    )
    start: str = start_setting()


def density_of(problem: Problem) -> Density:
    """The log density in the coordinates; of its gradient only the Jacobian's part is made."""
    log_joint = problem.model.log_joint

    def without_score(
        problem: Problem, A: np.ndarray, W: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return log_joint(problem, A, W), np.zeros_like(A), np.zeros_like(W)

    model = replace(problem.model, log_joint_and_score=without_score)
    return coordinates(problem).density(replace(problem, model=model))


def move(
    density: Density,
    point: Point,
    step: np.ndarray,
    rng: np.random.Generator,
    reflected: slice | None = None,
) -> Outcome:
    """One proposal for every chain, of size ``step`` (c,), accepted or not."""
    q = point.q + step[:, None, None] * rng.standard_normal(point.q.shape)
    if reflected is not None:  # as likely from there to here as from here to there
        np.abs(q[..., reflected], out=q[..., reflected])
    with np.errstate(all="ignore"):  # what is not finite is not accepted
        end = Point(q, *density(q))
    at_rest = np.zeros((step.size, 1))
    return accept(point, -point.value, end, at_rest, rng)


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start every chain of the shard, with a step size at which a proposal is accepted."""
    density = density_of(problem)

    def first_step(point: Point, chart: Coordinates) -> np.ndarray:
        step = np.ones(point.value.size)
        for _ in range(60):
            poor = move(density, point, step, rng, chart.reflected).probability < 0.5
            if not poor.any():
                break
            step = np.where(poor, 0.5 * step, step)
        return step

    return walking.begun(problem, settings, shard, LABEL, density, first_step)


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of proposals."""
    each = work_per_proposal(problem, state.draws.size)
    return walking.walk(problem, state, settings, rng, density_of(problem), (move, move), each)


def work_per_proposal(problem: Problem, chains: int) -> float:
    """Multiply-adds of one proposal of so many chains: half of a leapfrog step."""
    return 0.5 * work_per_leapfrog(problem, chains)


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw, the warm-up left out."""
    return settings.thinning * work_per_proposal(problem, settings.chains) / settings.chains


ALGORITHM = Algorithm(
    key="metropolis",
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
    needs=Needs.of(supports=SUPPORTS),
    color="#505959",
    symbol="diamond",
    summary="Propose random steps of all factors at once and accept or reject each. Exact in "
    "the long run and for every model, but slow for large matrices: a baseline.",
    reference="Metropolis and others 1953; Roberts, Gelman & Gilks 1997; paper 4, algorithm 2.2",
)
