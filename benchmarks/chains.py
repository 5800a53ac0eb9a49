"""How fast the samplers go that share the Gibbs sampler's products: HMC, tempered SMC, masses."""

import time
from typing import Any

import numpy as np

from benchmarks import harness
from bnmf_core import Dataset, Particles, RunSpec, mode_evidence, run
from bnmf_core.numerics.threads import one_blas_thread
from bnmf_core.runs.planning import make_plan
from bnmf_core.samplers import gibbs, tempered_smc

# Least sweeps of tempered SMC, which also moves scales, relative to Gibbs.
TARGETS = {"of Gibbs sweeps": 0.5}
CASES = (("faces", 10), ("digits", 10), ("signatures", 4))
CHAINS, LEAPFROGS, TRAJECTORIES = 8, 20, 5
POPULATION = 100
SECONDS = 1.0
# Factorizations that are weighed.
WEIGHED = 8
RATES = (
    "data",
    "HMC, gradients/s",
    "Gibbs, one chain, sweeps/s",
    "tempered SMC, sweeps/s",
    "of Gibbs sweeps of as many chains",
    "target",
    "met",
)
MASSES = ("data", "starts weighed", "seconds", "masses/s", "processor s a mass", "log evidence ±")


def measure(quick: bool = False) -> dict[str, Any]:
    """Rates of three samplers on three data sets, and what it takes to weigh modes."""
    rates, masses = [], []
    for name, rank in CASES[2:] if quick else CASES:
        data = harness.dataset(name)
        rates.append([f"{name} R={rank}", *_rates(data, rank, 0.1 if quick else SECONDS)])
        masses.append([f"{name} R={rank}", *_masses(data, rank, 2 if quick else WEIGHED)])
    return {
        "title": "Chains beside Gibbs, and posterior masses",
        "summary": [
            f"HMC: one call of `run`, {CHAINS} chains on all cores, trajectories of {LEAPFROGS} "
            "leapfrog steps, each a gradient of the whole posterior; everything counted. Tempered "
            f"SMC: a population of {POPULATION} on one core at full power of the likelihood, each "
            "sweep with its move of scales; beside it Gibbs sweeps of as many chains side by side. "
            f"Masses: `mode_evidence` of {WEIGHED} converged restarts, alike or not, twice each "
            "and checked, on all cores; ± is the largest error that it tells. No other program "
            "makes these.",
        ],
        "tables": [
            {"title": "Sweeps and gradients per second", "columns": RATES, "rows": rates},
            {"title": "Posterior masses", "columns": MASSES, "rows": masses},
        ],
    }


def _rates(data: Dataset, rank: int, enough: float) -> list[Any]:
    problem = make_plan(data, RunSpec("gibbs", rank=rank, particles=2)).problem
    rng = np.random.default_rng(0)
    settings = tempered_smc.Settings(population=POPULATION)
    spec = RunSpec("tempered_smc", rank=rank, particles=POPULATION)
    state = tempered_smc.init(problem, settings, make_plan(data, spec).shards[0], rng)
    with one_blas_thread():
        one = _rate(lambda: gibbs.sweep(problem, state.A[:1], state.W[:1], rng), enough)
        many = _rate(lambda: gibbs.sweep(problem, state.A, state.W, rng), enough)
        moved = _rate(lambda: _tempered(problem, state, rng), enough)
    judged = harness.against(moved / many, TARGETS["of Gibbs sweeps"])
    rates = [_gradients(data, rank), one, POPULATION * moved, moved / many]
    return [*rates, judged["target"], judged["met"]]


def _tempered(problem: Any, state: tempered_smc.State, rng: np.random.Generator) -> None:
    """One sweep of a population at the whole likelihood."""
    tempered_smc._moved(problem, tempered_smc.replace(state, power=1.0), rng)


def _rate(step: Any, enough: float) -> float:
    step()
    began, count = time.perf_counter(), 0
    while time.perf_counter() - began < enough:
        step()
        count += 1
    return count / (time.perf_counter() - began)


def _gradients(data: Dataset, rank: int) -> float:
    settings = {
        "chains": CHAINS,
        "warm_up": TRAJECTORIES,
        "leapfrog_steps": LEAPFROGS,
        "start": "prior",
    }
    spec = RunSpec("hmc", rank=rank, particles=CHAINS, settings=settings)
    run(data, spec)
    took = min(harness.seconds(lambda: run(data, spec)) for _ in range(3))
    return CHAINS * (TRAJECTORIES + 1) * LEAPFROGS / took


def _masses(data: Dataset, rank: int, count: int) -> list[Any]:
    starts: Particles = run(data, RunSpec("random_restarts", rank=rank, particles=count))
    results: list[Any] = []

    def weigh() -> None:
        results.append(mode_evidence(data, starts, rng=np.random.default_rng(1)))

    took, processor = harness.both_times(weigh)
    error = float(results[0]["error"].max())
    return [count, took, count / took, processor / count, error]


if __name__ == "__main__":
    harness.main(measure)
