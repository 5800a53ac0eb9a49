"""Two equally good fits: their basins, heights and masses.

X is the matrix with two exact answers. An exchange of its rows and columns leaves it as it is and
swaps the answers, so that each has half of the mass; a little noise ends that.
"""

import numpy as np

from bnmf_core import RunSpec, distances, find_modes, laurberg, mode_evidence, run

SIGMA, SEED = 0.01, 0
RESTARTS, THRESHOLD, REPEATS = 100, 15.0, 4
NOISE_DRAWS = range(6)
# Without noise the masses are known to be ½: more repeats reach this precision.
REPEATS_EXACT = 48
POWERS = (1.0, 0.1)


def weighed(noise_draw: int | None, repeats: int = REPEATS) -> dict[str, object]:
    """Basin, height and mass of the two modes, for one draw of the noise; None: without noise.

    The first mode is the one that more restarts end in.
    """
    noise = 0.0 if noise_draw is None else SIGMA
    data = laurberg("two", noise=noise, rng=np.random.default_rng(noise_draw or 0))
    spec = RunSpec("random_restarts", 3, "gaussian", RESTARTS, SEED, {}, {"sigma": SIGMA})
    found = run(data, spec)
    modes = find_modes(distances(found, "max_angle"), THRESHOLD)
    inside = [np.flatnonzero(modes.labels == k) for k in range(modes.count)]
    best = np.array([rows[np.argmax(found.log_joint[rows])] for rows in inside])
    height = found.log_joint[best]
    masses = {}
    for power in POWERS:
        rng = np.random.default_rng(SEED)
        table = mode_evidence(
            data, found.subset(best), rng=rng, repeats=repeats, likelihood_power=power
        )
        columns = ["mass", "mass_low", "mass_high"]
        masses[f"{power:g}"] = {name: table[name].round(4).tolist() for name in columns}
    return {
        "restarts": [len(rows) for rows in inside],
        "error": found.error[best].round(5).tolist(),
        "below_best": (height.max() - height).round(2).tolist(),
        "apart": round(float(distances(found.subset(best), "max_angle")[0, 1]), 1),
        "masses": masses,
    }


def make() -> dict[str, object]:
    """The matrix without noise, then all draws of the noise."""
    exact = weighed(None, REPEATS_EXACT)
    return {"sigma": SIGMA, "draws": [exact, *(weighed(draw) for draw in NOISE_DRAWS)]}
