"""State of IASG chains, and running summaries of their outputs."""

from dataclasses import dataclass, fields

import numpy as np

from bnmf_core.boolean import minibatch

# Number of log likelihoods recorded from the beginning (paper 4, figure 4.1).
EARLY = 10_000


@dataclass(frozen=True)
class Moments:
    """Means and sums of squared deviations of c chains, A (c, D, R) and V = Wᵀ (c, N, R)."""

    mean_A: np.ndarray
    squares_A: np.ndarray
    mean_V: np.ndarray
    squares_V: np.ndarray

    @classmethod
    def none(cls, A: np.ndarray, V: np.ndarray) -> "Moments":
        """Moments of no outputs."""
        return cls(*(np.zeros(F.shape) for F in (A, A, V, V)))

    def add(self, chain: int, count: int, A: np.ndarray, V: np.ndarray) -> None:
        """Add the ``count``-th A (D, R) and V (N, R) of a chain, in place."""
        minibatch.add_to_moments(A, count, self.mean_A[chain], self.squares_A[chain])
        minibatch.add_to_moments(V, count, self.mean_V[chain], self.squares_V[chain])


@dataclass(frozen=True)
class State:
    """State of c chains, A (c, D, R) and V = Wᵀ (c, N, R), and summaries of their outputs.

    precision : (c,) 1/σ², where it is open that of the last output. scaled_at : (c,) 1/σ² at which
    the steps were calibrated. calibrated : gradients drawn for the steps so far. calibration :
    their moments. draws : (c,) number of particles of each chain. first : number of the first
    chain in the run. outputs : so far, of total, the first of them ``discarded``. window : T, the
    number of states averaged into one output.
    warm_up, kept : moments of the outputs before and after the warm-up. gradients : of all
    gradients. log_likelihood, squares : (c,) mean and sum of squared deviations over all outputs.
    early : (c, EARLY) of the first outputs, NaN where there are none yet. at_zero, at_one : (c,)
    share of the entries of outputs that are exactly at a border. histogram_A, histogram_V :
    (c, D, R, 50) and (c, N, R, 50), or empty.
    """

    A: np.ndarray
    V: np.ndarray
    precision: np.ndarray
    scaled_at: np.ndarray
    calibrated: int
    calibration: Moments
    draws: np.ndarray
    first: int
    outputs: int
    total: int
    discarded: int
    window: int
    warm_up: Moments
    kept: Moments
    gradients: Moments
    log_likelihood: np.ndarray
    squares: np.ndarray
    early: np.ndarray
    at_zero: np.ndarray
    at_one: np.ndarray
    histogram_A: np.ndarray
    histogram_V: np.ndarray


@dataclass(frozen=True)
class Summary:
    """Summary of a chain's outputs, of all or of those after the warm-up.

    outputs : how many. mean_A (D, R), mean_W (R, N), sd_A, sd_W : of every entry over them.
    gradient_mean_A, … : of the gradients of all iterations. last_A, last_W : the last state.
    """

    outputs: int
    mean_A: np.ndarray
    mean_W: np.ndarray
    sd_A: np.ndarray
    sd_W: np.ndarray
    gradient_mean_A: np.ndarray
    gradient_mean_W: np.ndarray
    gradient_sd_A: np.ndarray
    gradient_sd_W: np.ndarray
    last_A: np.ndarray
    last_W: np.ndarray


def summary(state: State, chain: int = 0, burn_in: bool = True) -> Summary:
    """Moments of a chain's outputs after the warm-up; without ``burn_in``, of all of them."""
    before = min(state.outputs, state.discarded)
    after = state.outputs - before
    parts = [(after, state.kept)] if burn_in else [(before, state.warm_up), (after, state.kept)]
    count, mean_A, squares_A = _pooled([(n, m.mean_A[chain], m.squares_A[chain]) for n, m in parts])
    _, mean_V, squares_V = _pooled([(n, m.mean_V[chain], m.squares_V[chain]) for n, m in parts])
    gradients, iterations = state.gradients, max(state.outputs * state.window, 1)
    return Summary(
        count,
        mean_A,
        mean_V.T,
        np.sqrt(squares_A / max(count, 1)),
        np.sqrt(squares_V / max(count, 1)).T,
        gradients.mean_A[chain],
        gradients.mean_V[chain].T,
        np.sqrt(gradients.squares_A[chain] / iterations),
        np.sqrt(gradients.squares_V[chain] / iterations).T,
        state.A[chain],
        state.V[chain].T,
    )


def totals(state: State) -> dict[str, np.ndarray]:
    """Totals over each chain's outputs, name → (c, …).

    Every array of a :class:`Summary` by its name, with ``all_`` before it where the warm-up is
    counted in; ``early_log_likelihood``, the mean and standard deviation of the log likelihood over
    all outputs, the shares ``at_zero`` and ``at_one``, and histograms where requested.
    """
    chains = range(state.draws.size)
    later, whole = ([summary(state, c, burn_in) for c in chains] for burn_in in (True, False))
    result = {one.name: np.stack([getattr(s, one.name) for s in later]) for one in fields(Summary)}
    for name in ("outputs", "mean_A", "mean_W", "sd_A", "sd_W"):
        result[f"all_{name}"] = np.stack([getattr(s, name) for s in whole])
    result |= {
        "early_log_likelihood": state.early,
        "log_likelihood_mean": state.log_likelihood,
        "log_likelihood_sd": np.sqrt(state.squares / state.outputs),
        "at_zero": state.at_zero,
        "at_one": state.at_one,
    }
    if state.histogram_A.size:
        result |= {
            "histogram_A": state.histogram_A,
            "histogram_W": state.histogram_V.transpose(0, 2, 1, 3),
        }
    return result


def _pooled(
    parts: list[tuple[int, np.ndarray, np.ndarray]],
) -> tuple[int, np.ndarray, np.ndarray]:
    """Count, mean and sum of squared deviations of several parts together."""
    count = sum(n for n, _, _ in parts)
    mean = sum(n * m for n, m, _ in parts) / max(count, 1)
    squares = sum(s + n * (m - mean) ** 2 for n, m, s in parts)
    return count, np.asarray(mean), np.asarray(squares)
