"""Five methods to find the factorizations of a matrix that has exactly two.

X is the 6×6 matrix of paper 1, eq. 7, without noise, under a Gaussian model with σ = 0.05. A turn
of its rows and columns exchanges the two answers and leaves X as it is, so that each has half of
the posterior. The Gibbs chains all start in the first answer.
"""

from dataclasses import dataclass

import numpy as np

from bnmf_core import Dataset, Particles, RunSpec, laurberg, run
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import cross
from bnmf_core.compare.mixing import mixing_of
from bnmf_core.compare.triangles import Plane
from bnmf_core.core.plain import Value

SIGMA, EPSILON, SEED = 0.05, 0.2, 0
CHAINS, SHOWN = 4, 100
DIGITS = 3


@dataclass(frozen=True)
class Way:
    """One method: an algorithm, its budget, and its model."""

    key: str
    particles: int
    settings: dict[str, Value]
    model: str = "gaussian"

    @property
    def spec(self) -> RunSpec:
        """The run."""
        level = {"sigma": SIGMA} if self.model == "gaussian" else {"epsilon": EPSILON}
        return RunSpec(self.key, 3, self.model, self.particles, SEED, self.settings, level)


WAYS = (
    Way("gibbs", CHAINS * SHOWN, {"chains": CHAINS, "start": "known"}),
    Way("random_restarts", SHOWN, {}),
    Way("q_transform", SHOWN, {}),
    Way("rrt", SHOWN, {"start": "known"}, "uniform"),
    Way("mode_jumps", CHAINS * SHOWN, {"chains": CHAINS, "thinning": 5}),
)


def started_in_the_first() -> Dataset:
    """The matrix; its truth holds the first solution only."""
    both = laurberg("two")
    return Dataset.from_array(both.X, name=both.name, truth=both.truth[:1])


def of_answer(particles: Particles) -> np.ndarray:
    """(M,) index of the solution near each factorization; −1 if near neither.

    Near is closer than halfway between the two, by the largest angle.
    """
    truth = laurberg("two").truth
    A, W = np.stack([one.A for one in truth]), np.stack([one.W for one in truth])
    angle = DISTANCES["max_angle"]
    away = cross(particles.A, particles.W, A, W, angle)
    halfway = cross(A, W, A, W, angle)[0, 1] / 2.0
    return np.where(away.min(axis=1) < halfway, away.argmin(axis=1), -1)


def measured(way: Way) -> dict[str, object]:
    """Results of one method: triangles, numbers near each solution, and R̂."""
    data = started_in_the_first()
    particles = run(data, way.spec)
    plane, first = Plane.of(laurberg("two").truth[0].A), particles.chain == particles.chain[0]
    if way.key in ("random_restarts", "q_transform", "rrt"):
        first[:] = True
    near = of_answer(particles)
    found: dict[str, object] = {
        "key": way.key,
        "corners": [plane.points(A).round(DIGITS).tolist() for A in particles.A[first][:SHOWN]],
        "near": near[first][:SHOWN].tolist(),
        "made": int(particles.M),
        "in_first": int((near == 0).sum()),
        "in_second": int((near == 1).sum()),
    }
    if way.key in ("gibbs", "mode_jumps"):
        table, _ = mixing_of(particles).report
        found["r_hat"] = round(float(table["r_hat"].max()), DIGITS)
    return found


def make() -> dict[str, object]:
    """All of them."""
    truth = laurberg("two").truth
    plane = Plane.of(truth[0].A)
    return {
        "sigma": SIGMA,
        "epsilon": EPSILON,
        "chains": CHAINS,
        "answers": [plane.points(one.A).round(6).tolist() for one in truth],
        "points": plane.points(laurberg("two").X).round(6).tolist(),
        "ways": [measured(way) for way in WAYS],
    }
