"""Four Gibbs chains that each look converged long before they mix.

X is the 6×6 matrix of paper 1, eq. 7, without noise, under a Gaussian model with σ = 0.08. Two
chains start in each of its two answers; a chain crosses to the other one every few thousand
sweeps. What is followed is the angle to the first answer.
"""

import numpy as np

from bnmf_core import Dataset, RunSpec, laurberg, run
from bnmf_core.compare.distances import DISTANCES
from bnmf_core.compare.distances.pairwise import cross
from bnmf_core.compare.mixing import by_chain, effective_size, split_r_hat

SIGMA, SEED, EACH, THINNING = 0.08, 0, 2, 5
# Lengths of the chains in sweeps, and stored draws of each at every length.
LENGTHS, DRAWS = tuple(1000 * 2**k for k in range(9)), 200
# A length at which no chain has crossed.
SHORT = 2000


def followed(length: int, seed: int) -> np.ndarray:
    """(4, K) degrees from the first answer, two chains from each of the answers."""
    both = laurberg("two")
    known = both.truth[0].A[None], both.truth[0].W[None]
    found = []
    for at, answer in enumerate(both.truth):
        data = Dataset.from_array(both.X, name=both.name, truth=[answer])
        settings = {"chains": EACH, "start": "known", "warm_up": 0, "thinning": THINNING}
        draws = EACH * length // THINNING
        level = {"sigma": SIGMA}
        made = run(data, RunSpec("gibbs", 3, "gaussian", draws, 2 * seed + at, settings, level))
        angle = cross(made.A, made.W, *known, DISTANCES["max_angle"])[:, 0]
        found.append(by_chain({"angle": angle}, made.chain, made.draw)["angle"])
    return np.concatenate(found)


def from_one_answer(length: int, seed: int) -> np.ndarray:
    """(4, K) degrees from the first answer, all four chains starting there."""
    return np.concatenate([followed(length, seed + more)[:EACH] for more in (0, 1)])


def cut(whole: np.ndarray, length: int) -> np.ndarray:
    """(4, DRAWS) evenly spaced draws of the first ``length`` sweeps, in whole degrees."""
    selected = np.linspace(0, length // THINNING - 1, DRAWS).round().astype(int)
    return whole[:, selected].round()


def judged(draws: np.ndarray) -> dict[str, object]:
    """R̂ and effective sample sizes of all chains, and the R̂ of each by itself."""
    return {
        "r_hat": round(split_r_hat(draws), 3),
        "bulk": round(effective_size(draws, "bulk"), 1),
        "tail": round(effective_size(draws, "tail"), 1),
        "alone": [round(split_r_hat(chain[None]), 3) for chain in draws],
    }


def make(lengths: tuple[int, ...] = LENGTHS, seed: int = SEED) -> dict[str, object]:
    """The draws at every length, and their diagnostics."""
    whole = followed(max(lengths), seed)
    parts = [cut(whole, length) for length in lengths]
    return {
        "sigma": SIGMA,
        "one_start": judged(cut(from_one_answer(SHORT, seed), SHORT))["r_hat"],
        "lengths": [
            {"sweeps": length, "draws": part.astype(int).tolist(), **judged(part)}
            for length, part in zip(lengths, parts, strict=True)
        ],
    }
