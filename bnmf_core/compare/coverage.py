"""How much of the space a set of factorizations covers (paper 1, section 3.2)."""

import numpy as np
from numba import njit
from scipy import sparse

from bnmf_core.core.errors import DataError, RunError, SettingsError
from bnmf_core.lazy import lazy

optimize = lazy("scipy.optimize")

METHODS = ("greedy", "published", "exact")
# The exact covering number is an integer program; beyond this it may take hours.
LARGEST_EXACT = 200


def covering_numbers(
    distances: np.ndarray, epsilons: np.ndarray, method: str = "greedy"
) -> np.ndarray:
    """Smallest number of balls of radius ε, centred at samples, that cover all samples.

    C_ε(S) = min { |S'| : S' ⊂ S, every s ∈ S has a centre in S' at distance ≤ ε } (paper 1,
    section 3.2). It never increases with ε. C_0 is the number of distinct samples.

    Parameters
    ----------
    distances : (M, M) symmetric distances.
    epsilons : (E,) radii ≥ 0, in the distances' unit, in any order.
    method : "published" takes the sample that covers most of what is left, the first one of
        equals (Chvátal 1979; at most (1 + ln M) times the exact number, and not always
        monotone in ε), O(M²) for each ε. "greedy" goes on from that: balls that cover at one
        radius cover at every larger one, so the smallest number at this radius or a smaller one
        of the list is taken, which never rises and lies between the exact and the published.
        "exact" solves the set cover problem with HiGHS.

    Returns
    -------
    (E,) int64 covering numbers.

    Raises
    ------
    SettingsError
        For an unknown method, a negative radius, or "exact" with more than 200 samples.
    DataError
        When the distances are not a square, symmetric matrix of finite numbers ≥ 0.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core import covering_numbers
    >>> apart = np.array([[0.0, 1.0, 9.0], [1.0, 0.0, 9.0], [9.0, 9.0, 0.0]])
    >>> covering_numbers(apart, [0.0, 1.0, 9.0])
    array([3, 2, 1])
    """
    distances = checked_distances(distances)
    epsilons = np.atleast_1d(np.asarray(epsilons, dtype=np.float64))
    if method not in METHODS:
        raise SettingsError(
            f"There is no covering method {method!r}; choose one of {', '.join(METHODS)}."
        )
    if epsilons.ndim != 1 or not (epsilons >= 0).all():
        raise SettingsError("The radii of a covering number are a list of numbers ≥ 0.")
    if method == "published":
        return _greedy(distances, epsilons)
    if method == "greedy":
        ascending = np.argsort(epsilons, kind="stable")
        numbers = np.empty(epsilons.size, np.int64)
        numbers[ascending] = np.minimum.accumulate(_greedy(distances, epsilons[ascending]))
        return numbers
    M = distances.shape[0]
    if M > LARGEST_EXACT:
        raise SettingsError(
            f"The exact covering number of {M} factorizations would take too long; it is offered "
            f"for up to {LARGEST_EXACT}. Choose the greedy method, or a subset."
        )
    return _exact(distances, epsilons)


def covering_balls(distances: np.ndarray, epsilon: float) -> np.ndarray:
    """The samples at the centres of the fewest balls of radius ε that hold all: (C_ε,), exact.

    Parameters
    ----------
    distances : (M, M) symmetric distances, M at most 200. epsilon : radius, in their unit.

    Raises
    ------
    SettingsError
        When there are too many samples, or the radius is below 0.
    """
    distances = checked_distances(distances)
    if distances.shape[0] > LARGEST_EXACT or not epsilon >= 0:
        raise SettingsError(
            f"The fewest balls are looked for among up to {LARGEST_EXACT} samples and for a radius "
            f"of 0 or more; there were {distances.shape[0]}, and {epsilon!r}."
        )
    return _fewest(distances <= epsilon, epsilon)


def covering_over_time(
    distances: np.ndarray, seconds: np.ndarray, epsilon: float, most: int = 20
) -> tuple[np.ndarray, np.ndarray]:
    """Covering numbers of what was there at a time, (k,) times and (k,) counts, k ≤ ``most``.

    Centres are taken from what was there, so a number may fall when one comes in between others.

    Parameters
    ----------
    distances : (M, M). seconds : (M,) when each sample was there. epsilon : radius, in the
        distances' unit.
    """
    order = np.argsort(seconds, kind="stable")
    ends = np.unique(np.linspace(1, order.size, min(most, order.size)).astype(int))
    counts = [
        covering_numbers(distances[np.ix_(order[:end], order[:end])], np.array([epsilon]))[0]
        for end in ends
    ]
    return seconds[order[ends - 1]], np.array(counts, dtype=np.int64)


def persistence(
    distances: np.ndarray,
    count: int = 100,
    upper: float | None = None,
    method: str = "greedy",
) -> tuple[np.ndarray, np.ndarray]:
    """Covering numbers over evenly spaced radii (paper 1, section 3.2 and figure 4).

    Parameters
    ----------
    distances : (M, M) symmetric distances.
    count : number of radii, from 0 to ``upper``, which is the largest distance when left out.

    Returns
    -------
    epsilons (count,) in the distances' unit, and covering numbers (count,) int64.
    """
    distances = checked_distances(distances)
    if count < 2:
        raise SettingsError(f"A covering curve needs at least 2 radii; {count} were asked for.")
    if upper is None:
        upper = largest_distance(distances)
    epsilons = np.linspace(0.0, upper, count)
    return epsilons, covering_numbers(distances, epsilons, method)


def largest_distance(distances: np.ndarray) -> float:
    """The diameter of the set, max over pairs (paper 1, equation 4)."""
    distances = checked_distances(distances)
    return float(distances.max())


def mean_distance(distances: np.ndarray) -> float:
    """Mean over all M² ordered pairs, each sample with itself included (paper 1, equation 5)."""
    distances = checked_distances(distances)
    return float(distances.mean())


def checked_distances(distances: np.ndarray) -> np.ndarray:
    """The distances as a float64 array, once they are known to be distances.

    Raises
    ------
    DataError
        When they are not a non-empty square, symmetric matrix of finite numbers ≥ 0.
    """
    distances = np.ascontiguousarray(distances, dtype=np.float64)
    if distances.ndim != 2 or distances.shape[0] != distances.shape[1] or not distances.size:
        raise DataError(
            f"Distances between M factorizations are an M×M matrix; this one is {distances.shape}."
        )
    if not np.isfinite(distances).all() or distances.min() < 0:
        raise DataError("Every distance must be a finite number ≥ 0.")
    if not np.allclose(distances, distances.T, rtol=1e-6, atol=1e-12):
        raise DataError("The distances must be symmetric: as far from i to j as from j to i.")
    return distances


@njit(cache=True, nogil=True)
def _greedy(distances: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    M = distances.shape[0]
    result = np.empty(epsilons.size, np.int64)
    gain = np.empty(M, np.int64)
    covered = np.empty(M, np.bool_)
    for e in range(epsilons.size):
        epsilon = epsilons[e]
        for i in range(M):
            gain[i] = 0
            for j in range(M):
                gain[i] += distances[i, j] <= epsilon
        covered[:] = False
        left = M
        centres = 0
        while left > 0 and centres < M:  # M balls always do: this ends whatever happens
            centre = np.argmax(gain)
            centres += 1
            for j in range(M):
                if covered[j] or distances[centre, j] > epsilon:
                    continue
                # j is covered once, so all updates of the gains together cost O(M²).
                covered[j] = True
                left -= 1
                for i in range(M):
                    gain[i] -= distances[j, i] <= epsilon
        result[e] = centres
    return result


def _exact(distances: np.ndarray, epsilons: np.ndarray) -> np.ndarray:
    solved: dict[int, int] = {}
    result = np.empty(epsilons.size, np.int64)
    for e, epsilon in enumerate(epsilons):
        near = distances <= epsilon
        # Balls only grow with ε: as many near pairs means the same near pairs.
        pairs = int(near.sum())
        if pairs not in solved:
            solved[pairs] = _fewest(near, epsilon).size
        result[e] = solved[pairs]
    return result


def _fewest(near: np.ndarray, epsilon: float) -> np.ndarray:
    """Rows of the fewest samples such that each column of ``near`` (M, M) bool has one of them."""
    M = near.shape[0]
    solution = optimize.milp(
        np.ones(M),
        integrality=np.ones(M),
        bounds=optimize.Bounds(0, 1),
        constraints=optimize.LinearConstraint(sparse.csc_array(near.astype(float)), lb=1),
        options={"mip_rel_gap": 0.0},
    )
    if not solution.success:
        raise RunError(
            f"The exact covering number at radius {epsilon:g} was not found "
            f"({solution.message}); choose the greedy method."
        )
    return np.flatnonzero(solution.x > 0.5)
