"""Whether chains have settled: R̂, effective sample sizes and drift, component by component.

Chains that sit in different modes are judged mode by mode: within a mode, the draws of its chains
have to describe one distribution. Followed are the log joint, the angle of every column of A and
row of W to those of the mode, and each component's largest loading and largest weight. None depends
on the order of components, and only the log joint on their scale. R̂ and effective sample sizes are
those of Vehtari and others (2021), from arviz-stats.

The limits are calibrated: 100 independent draws of each chain pass in at least 95 % of simulations
with the 41 quantities of ten components (``tests/compare/test_settled.py``). R̂ ≤ 1.01 would take
an ESS of about a thousand for that.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from bnmf_core.compare.alignment import component_angles, largest_first, matching
from bnmf_core.compare.distances.scaling import unit_l2_columns
from bnmf_core.compare.mixing import SHORTEST, effective_size, split_r_hat, why_unknown
from bnmf_core.core.errors import DataError

# By the number of chains in a mode; the last also for more. Largest R̂; smallest effective sample
# size, bulk and tail; largest difference between the means of the two halves, in standard
# deviations.
LARGEST_R_HAT = (1.12, 1.07, 1.05, 1.05)
SMALLEST_SIZE = (10.0, 40.0, 75.0, 100.0)
LARGEST_DRIFT = (0.8, 0.5, 0.5, 0.5)


# Quantities of every component: name before the number, unit and meaning.
FOLLOWED = (
    ("angle of component", "°", "Angle between the component and the one it is matched with."),
    ("angle of weights", "°", "Angle between its weights and those it is matched with."),
    (
        "largest loading of component",
        "",
        "Loading where the mode's component is largest, as a share of the component's sum.",
    ),
    (
        "largest weight of component",
        "",
        "Weight where the mode's is largest, times the sum of the component.",
    ),
)


@dataclass(frozen=True, eq=False)
class Settled:
    """The verdict on a set of chains.

    Attributes
    ----------
    settled : whether all chains have settled within their modes.
    groups : (C,) which of the chains share a mode, 0-based.
    table : one row per mode and quantity: ``group``, ``quantity``, ``r_hat``, ``ess_bulk``,
        ``ess_tail``, ``drift`` (standard deviations), ``strain`` (the largest of these as a part
        of what its limit allows) and ``passes``: a strain of at most 1.
    series : one row per draw that was judged: ``chain``, ``draw`` (its place in its chain) and a
        column for each quantity.
    """

    settled: bool
    groups: np.ndarray
    table: pd.DataFrame
    series: pd.DataFrame

    @property
    def r_hat(self) -> float:
        """The largest R̂ of any quantity in any mode."""
        return float(self.table["r_hat"].max())

    @property
    def ess_bulk(self) -> float:
        """The smallest bulk effective sample size of any quantity in any mode."""
        return float(self.table["ess_bulk"].min())

    @property
    def ess_tail(self) -> float:
        """The smallest tail effective sample size of any quantity in any mode."""
        return float(self.table["ess_tail"].min())

    @property
    def modes(self) -> int:
        """Number of modes that the chains sit in."""
        return int(self.groups.max(initial=-1)) + 1

    @property
    def worst(self) -> pd.Series:
        """The row of the quantity with the largest strain."""
        return self.table.iloc[int(self.table["strain"].to_numpy().argmax())]

    @property
    def reason(self) -> str:
        """Why the chains have not settled, by the quantity that fails most; "" where they have."""
        if self.settled:
            return ""
        worst = self.worst
        where = ""
        if self.modes > 1:
            members = np.flatnonzero(self.groups == worst["group"]) + 1
            where = f" in chain{'s' if members.size > 1 else ''} {', '.join(map(str, members))}"
        if np.isnan(worst["r_hat"]):
            return f"For example: {worst['quantity']}{where} (chains too short, or stuck)."
        return (
            f"For example: {worst['quantity']}{where} (R̂ {worst['r_hat']:.2f}, "
            f"ESS {min(worst['ess_bulk'], worst['ess_tail']):.0f})."
        )


def settled(
    A: np.ndarray,
    W: np.ndarray,
    log_joint: np.ndarray,
    chain: np.ndarray,
    groups: np.ndarray | None = None,
    references: Mapping[int, tuple[np.ndarray, np.ndarray]] | None = None,
) -> Settled:
    """Judge chains, mode by mode.

    Parameters
    ----------
    A : (M, D, R), W : (M, R, N), log_joint (M,), chain (M,) : draws, those of each chain in their
        order. Chains of different length are cut to the shortest of their mode.
    groups : (C,) the mode of each chain, in the order of their numbers; None: they share one.
    references : group → the A (D, R) and W (R, N) that components are compared with, and whose
        numbers they have; where it is left out, the draw with the largest log joint, its largest
        component first.

    Raises
    ------
    DataError
        Where there are no draws, or the number of groups is not that of the chains.

    Examples
    --------
    >>> import numpy as np
    >>> from bnmf_core.compare.settled import settled
    >>> rng = np.random.default_rng(0)
    >>> A, W = rng.gamma(50.0, size=(400, 5, 2)), rng.gamma(50.0, size=(400, 2, 6))
    >>> settled(A, W, rng.normal(size=400), np.repeat(np.arange(4), 100)).settled
    True
    """
    numbers = np.unique(chain)
    groups = np.zeros(numbers.size, dtype=int) if groups is None else np.asarray(groups)
    if not numbers.size or groups.shape != numbers.shape:
        raise DataError(
            f"{numbers.size} chains need as many modes, at least one; got {groups.size}."
        )
    rows, judged = [], []
    for group in np.unique(groups):
        members = [np.flatnonzero(chain == number) for number in numbers[groups == group]]
        shortest = min(map(len, members))
        index = np.concatenate([part[:shortest] for part in members])
        reference = (references or {}).get(int(group))
        if reference is None:
            best = index[np.asarray(log_joint)[index].argmax()]
            order = largest_first(A[best], W[best])
            reference = A[best][:, order], W[best][order]
        series = component_series(A[index], W[index], *reference)
        series = {"log joint": np.asarray(log_joint)[index]} | series
        place = np.tile(np.arange(shortest), len(members))
        judged.append(pd.DataFrame({"chain": np.asarray(chain)[index], "draw": place} | series))
        for quantity, values in series.items():
            rows.append(
                {"group": int(group), "quantity": quantity}
                | _judged(values.reshape(len(members), shortest))
            )
    table = pd.DataFrame(rows)
    found = pd.concat(judged).sort_values(["chain", "draw"], kind="stable")
    return Settled(bool(table["passes"].all()), groups, table, found)


def component_series(
    A: np.ndarray, W: np.ndarray, reference_A: np.ndarray, reference_W: np.ndarray
) -> dict[str, np.ndarray]:
    """Series of every component, matched with the reference's: quantity → (M,).

    The angles of column r of A and row r of W to the reference's, degrees; and, where the reference
    is largest in that column and row, the loading as a share of the column's sum and the weight
    times that sum.
    """
    order = matching(A, reference_A)
    A = np.take_along_axis(np.asarray(A), order[:, None, :], axis=2)
    W = np.take_along_axis(np.asarray(W), order[:, :, None], axis=1)
    turned = component_angles(A, reference_A)
    cosines = np.einsum(
        "mrn,rn->mr",
        unit_l2_columns(W.transpose(0, 2, 1)),
        unit_l2_columns(reference_W.T[None])[0],
    )
    turned_W = np.degrees(np.arccos(np.clip(cosines, -1.0, 1.0)))
    sums = A.sum(axis=1)
    largest_A = np.take_along_axis(A, reference_A.argmax(axis=0)[None, None, :], axis=1)[:, 0]
    largest_W = np.take_along_axis(W, reference_W.argmax(axis=1)[None, :, None], axis=2)[:, :, 0]
    loadings = np.divide(largest_A, sums, out=np.zeros_like(sums), where=sums > 0)
    weights = largest_W * sums
    values = (turned, turned_W, loadings, weights)
    return {
        f"{name} {r + 1}": found[:, r]
        for r in range(reference_A.shape[1])
        for (name, _, _), found in zip(FOLLOWED, values, strict=True)
    }


def _judged(values: np.ndarray) -> dict[str, float | bool]:
    """Diagnostics of (C, K) draws of one quantity, and whether they pass."""
    chains, draws = values.shape
    still = draws >= SHORTEST and np.ptp(values) <= 1e-9 * np.abs(values).max()
    if still:  # the same number in every draw: nothing is open
        return {"r_hat": 1.0, "ess_bulk": values.size, "ess_tail": values.size} | {
            "drift": 0.0,
            "strain": 0.0,
            "passes": True,
        }
    if why_unknown(values):
        unknown = dict.fromkeys(("r_hat", "ess_bulk", "ess_tail", "drift"), np.nan)
        return unknown | {"strain": np.inf, "passes": False}
    i = min(chains, len(LARGEST_R_HAT)) - 1
    half = draws // 2
    drift = abs(values[:, half:].mean() - values[:, :half].mean()) / values.std()
    found = {
        "r_hat": split_r_hat(values),
        "ess_bulk": effective_size(values, "bulk"),
        "ess_tail": effective_size(values, "tail"),
        "drift": float(drift),
    }
    strain = max(
        (found["r_hat"] - 1.0) / (LARGEST_R_HAT[i] - 1.0),
        SMALLEST_SIZE[i] / min(found["ess_bulk"], found["ess_tail"]),
        found["drift"] / LARGEST_DRIFT[i],
    )
    return found | {"strain": strain, "passes": bool(strain <= 1.0)}
