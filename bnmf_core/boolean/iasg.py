"""Iterate averaging stochastic gradients for binary matrices (paper 4, §3.2).

A ← clamp(A + ε_A ∘ g_A) with g_A the gradient over S drawn observations, then W likewise over S
drawn features given the new A. An output is the mean of exactly T = ⌈max(N, D)/S⌉ states. Nothing
is rejected and entries are clamped, so that the outputs are no draws from the posterior; how far
they are from it is what box Gibbs, which is exact, shows.

- ε is 2(S/m) over the variance of the gradient: that over the whole cube, as published, or that of
  batches at the start, as Mandt, Hoffman & Blei (2017) ask. On tables of 512×512 the first variance
  is about 1e5 times larger, and the chain hardly moves: it climbs.
- Gradients of S out of m cases stand against the whole prior as published; "unbiased" weighs the
  prior by S/m.

Totals over all outputs (moments, histograms) do not grow with their number.
"""

from dataclasses import dataclass, replace

import numpy as np

from bnmf_core.boolean import minibatch
from bnmf_core.boolean.box_gibbs import box_of
from bnmf_core.boolean.iasg_state import EARLY, Moments, State, totals
from bnmf_core.boolean.minibatch import BINS, Table
from bnmf_core.core.algorithm import Algorithm, Batch, Needs, Shard, fitting, unshared
from bnmf_core.core.model import Capability, InverseGamma
from bnmf_core.core.problem import Problem
from bnmf_core.core.settings import setting
from bnmf_core.samplers.chains import chains_of, chains_setting, joined, recorded, shard_sizes
from bnmf_core.samplers.starting import checking, starts

# Of Beta(½, ½), whose slope has no end at 0 and 1.
BETA_MARGIN = 1e-3


@dataclass(frozen=True)
class Settings:
    """Number of outputs, batch sizes, and step sizes."""

    chains: int = chains_setting(1)
    warm_up: int = setting(
        1000,
        "Warm-up outputs",
        "Outputs discarded before the first one stored; paper 4 discards none.",
        minimum=0,
        maximum=10_000_000,
    )
    thinning: int = setting(
        50, "Outputs per kept one", "One output in this many is kept.", minimum=1, maximum=10**6
    )
    batch: int | None = setting(
        None,
        "Batch size S",
        "Observations drawn for each gradient, with replacement. Empty: as many as there are.",
        minimum=1,
        maximum=1_000_000,
    )
    noise_scale: str = setting(
        "published",
        "Step from the variance",
        "“published”: from gradients over the whole cube. “at point”: from minibatches at the "
        "start, as the theory requires.",
        choices=("published", "at point"),
    )
    prior_weight: str = setting(
        "published",
        "Weight of the prior",
        "“published”: the whole prior with each batch. “unbiased”: the share S/m of it.",
        choices=("published", "unbiased"),
    )
    calibration: int = setting(
        2500,
        "Calibration draws",
        "Gradients from which the steps are found.",
        minimum=10,
        maximum=100_000,
        advanced=True,
    )
    start: str = setting(
        "uniform",
        "Start of a chain",
        "“uniform”: entries uniform on (0, 1). “restart”: a solved NMF. “prior”: a draw from the "
        "prior. “known”: a known factorization. “optimum”: the known one, with components dropped "
        "or uniform ones added if the rank differs.",
        choices=("uniform", "restart", "prior", "known", "optimum"),
    )
    histograms: bool = setting(
        False,
        "Histograms",
        "Counts the outputs of every entry in 50 bins.",
        advanced=True,
    )


def window(problem: Problem, settings: Settings) -> int:
    """T, the number of states averaged into one output."""
    sizes = batch_sizes(problem, settings)
    return max(-(-problem.dataset.N // sizes[0]), -(-problem.dataset.D // sizes[1]))


def batch_sizes(problem: Problem, settings: Settings) -> tuple[int, int]:
    """Number of observations drawn for A, and of features for W."""
    data = problem.dataset
    if settings.batch is None:
        return data.N, data.D
    return min(settings.batch, data.N), min(settings.batch, data.D)


def init(problem: Problem, settings: Settings, shard: Shard, rng: np.random.Generator) -> State:
    """Start each chain; the steps are found later, a bounded number of gradients at a time."""
    first, draws = chains_of(settings, shard)
    generators = [shard.particle_generator(chain) for chain in range(draws.size)]
    A, W = _starts(problem, settings, generators)
    margin = margin_of(problem)
    A = np.clip(A, margin, 1.0 - margin)
    V = np.ascontiguousarray(np.clip(W, margin, 1.0 - margin).transpose(0, 2, 1))
    table, c = Table.of(problem.dataset), draws.size
    precision = np.array([_precision(problem, table, A[i], V[i])[0] for i in range(c)])
    empty = np.zeros((0, 0, 0, BINS), dtype=np.int32)
    histograms = (empty, empty)
    if settings.histograms:
        of_A, of_V = (np.zeros((*F.shape, BINS), dtype=np.int32) for F in (A, V))
        histograms = (of_A, of_V)
    return State(
        A=np.ascontiguousarray(A),
        V=V,
        precision=precision,
        scaled_at=precision.copy(),
        calibrated=0,
        calibration=Moments.none(A, V),
        draws=draws,
        first=first,
        outputs=0,
        total=settings.warm_up + settings.thinning * int(draws.max()),
        discarded=settings.warm_up,
        window=window(problem, settings),
        warm_up=Moments.none(A, V),
        kept=Moments.none(A, V),
        gradients=Moments.none(A, V),
        log_likelihood=np.zeros(c),
        squares=np.zeros(c),
        early=np.full((c, EARLY), np.nan),
        at_zero=np.zeros(c),
        at_one=np.zeros(c),
        histogram_A=histograms[0],
        histogram_V=histograms[1],
    )


def _starts(
    problem: Problem, settings: Settings, generators: list[np.random.Generator]
) -> tuple[np.ndarray, np.ndarray]:
    checking(ALGORITHM.label)(problem, settings)
    if settings.start not in ("uniform", "optimum"):
        return starts(problem, settings, generators, ALGORITHM.label)
    data, R, pairs = problem.dataset, problem.rank, []
    for rng in generators:
        A, W = rng.random((data.D, R)), rng.random((R, data.N))
        if settings.start == "optimum":
            known = data.known_factorizations(data.truth[0].A.shape[1] if data.truth else R)[0]
            common = min(R, known.A.shape[1])
            A[:, :common], W[:common] = known.A[:, :common], known.W[:common]
        pairs.append((A, W))
    stacked_A, stacked_W = (np.stack(factors) for factors in zip(*pairs, strict=True))
    return stacked_A, stacked_W


def margin_of(problem: Problem) -> float:
    """δ: entries are clamped to δ … 1 − δ."""
    return BETA_MARGIN if box_of(problem).prior is None else 0.0


def step(
    problem: Problem, state: State, settings: Settings, rng: np.random.Generator
) -> tuple[State, Batch]:
    """A bounded number of calibration gradients or of outputs."""
    state, work = unshared(state), _Work.of(problem, settings)
    chains = range(state.draws.size)
    # A gradient for the steps costs as much as an iteration.
    count = fitting(state.draws.size * work.per_iteration)
    if state.calibrated < settings.calibration:
        last = min(settings.calibration, state.calibrated + count)
        for number in range(state.calibrated + 1, last + 1):
            for chain in chains:
                work.calibrate(state, chain, number, rng)
        return replace(state, calibrated=last), joined(problem, [])
    steps = [work.steps(state, chain) for chain in chains]
    batches: list[Batch] = []
    last = min(state.total, state.outputs + max(1, count // work.T))
    for number in range(state.outputs + 1, last + 1):
        after = number - settings.warm_up
        means = [work.output(state, chain, number, steps[chain], rng) for chain in chains]
        if after % settings.thinning == 0:
            batches.append(_record(state, means, after // settings.thinning))
    state, batch = replace(state, outputs=last), joined(problem, batches)
    return state, replace(batch, totals=totals(state)) if last == state.total else batch


def _record(state: State, means: list[tuple[np.ndarray, np.ndarray]], draw: int) -> Batch:
    A, V = (np.stack(part) for part in zip(*means, strict=True))
    on_border = [np.array([_share_at(border, *pair) for pair in means]) for border in (0.0, 1.0)]
    return recorded(
        state,
        draw,
        A.transpose(0, 2, 1),
        V.transpose(0, 2, 1),
        {
            "at_zero": on_border[0],
            "at_one": on_border[1],
            "sigma": state.precision**-0.5,
        },
    )


def _share_at(border: float, A: np.ndarray, V: np.ndarray) -> float:
    return float(((A == border).sum() + (V == border).sum()) / (A.size + V.size))


@dataclass(frozen=True, eq=False)
class _Work:
    """Data shared by all iterations."""

    problem: Problem
    settings: Settings
    table: Table
    sizes: tuple[int, int]
    weights: tuple[float, float]
    prior: tuple[float, float, bool]
    margin: float
    T: int
    per_iteration: float

    @classmethod
    def of(cls, problem: Problem, settings: Settings) -> "_Work":
        data, sizes, entry = problem.dataset, batch_sizes(problem, settings), box_of(problem).prior
        weights = (1.0, 1.0)
        if settings.prior_weight == "unbiased":
            weights = (sizes[0] / data.N, sizes[1] / data.D)
        prior = (0.0, 0.0, True) if entry is None else (entry.rate, entry.precision, False)
        return cls(
            problem,
            settings,
            Table.of(data),
            sizes,
            weights,
            prior,
            margin_of(problem),
            window(problem, settings),
            work_per_iteration(problem),
        )

    def gradients(
        self, A: np.ndarray, V: np.ndarray, precision: float, of_A: bool, rng: np.random.Generator
    ) -> np.ndarray:
        """The drawn gradient in A (D, R), or in V (N, R)."""
        table = self.table
        if of_A:
            ones, gaps, size, weight = table.ones, table.gaps, self.sizes[0], self.weights[0]
            F, other = A, V
        else:
            ones, gaps = table.ones_of_features, table.gaps_of_features
            size, weight, F, other = self.sizes[1], self.weights[1], V, A
        return minibatch.log_joint_gradient(
            F, other, size, ones, gaps, precision, self.prior, weight, rng
        )

    def calibrate(self, state: State, chain: int, number: int, rng: np.random.Generator) -> None:
        """One more gradient of each factor, from which the steps are found."""
        A, V = state.A[chain], state.V[chain]
        if self.settings.noise_scale == "published":
            span = 1.0 - 2.0 * self.margin
            A, V = (self.margin + span * rng.random(F.shape) for F in (A, V))
        precision = state.precision[chain]
        by_A = self.gradients(A, V, precision, True, rng)
        state.calibration.add(chain, number, by_A, self.gradients(A, V, precision, False, rng))

    def steps(self, state: State, chain: int) -> tuple[np.ndarray, np.ndarray]:
        """ε of every entry of A and of V, for the precision at which they were calibrated."""
        data, found = self.problem.dataset, []
        squares = (state.calibration.squares_A[chain], state.calibration.squares_V[chain])
        for size, cases, one in zip(self.sizes, (data.N, data.D), squares, strict=True):
            variance = one / (state.calibrated - 1)
            with np.errstate(divide="ignore"):
                found.append(2.0 * (size / cases) / variance)
        if self.settings.noise_scale == "at point":
            # Where batches hardly differ the rule asks for more than the whole way to the top.
            precision = state.scaled_at[chain]
            for i, other in enumerate((state.V[chain], state.A[chain])):
                share = self.sizes[i] / other.shape[0]
                curvature = precision * share * np.maximum((other**2).sum(axis=0), 1.0)
                found[i] = np.minimum(found[i], 1.0 / curvature)
        return found[0], found[1]

    def output(
        self,
        state: State,
        chain: int,
        number: int,
        steps: tuple[np.ndarray, np.ndarray],
        rng: np.random.Generator,
    ) -> tuple[np.ndarray, np.ndarray]:
        """T iterations of a chain, in place, and what is noted of them; the mean of its states."""
        A, V, precision = state.A[chain], state.V[chain], float(state.precision[chain])
        # Steps go with the variance of gradients, and that with the square of 1/σ².
        scale = float((state.scaled_at[chain] / precision) ** 2)
        mean_A, mean_V = np.zeros(A.shape), np.zeros(V.shape)
        for t in range(1, self.T + 1):
            by_A = self.gradients(A, V, precision, True, rng)
            minibatch.advance(A, by_A, steps[0], scale, self.margin)
            by_V = self.gradients(A, V, precision, False, rng)
            minibatch.advance(V, by_V, steps[1], scale, self.margin)
            state.gradients.add(chain, (number - 1) * self.T + t, by_A, by_V)
            mean_A += (A - mean_A) / t  # a chain that stands still averages to itself
            mean_V += (V - mean_V) / t
        after = number - self.settings.warm_up
        moments, count = (state.kept, after) if after > 0 else (state.warm_up, number)
        moments.add(chain, count, mean_A, mean_V)
        state.precision[chain], value = _precision(self.problem, self.table, mean_A, mean_V)
        away = value - state.log_likelihood[chain]
        state.log_likelihood[chain] += away / number
        state.squares[chain] += away * (value - state.log_likelihood[chain])
        if number <= EARLY:
            state.early[chain, number - 1] = value
        state.at_zero[chain] += (_share_at(0.0, mean_A, mean_V) - state.at_zero[chain]) / number
        state.at_one[chain] += (_share_at(1.0, mean_A, mean_V) - state.at_one[chain]) / number
        if self.settings.histograms:
            minibatch.add_to_histogram(mean_A, state.histogram_A[chain])
            minibatch.add_to_histogram(mean_V, state.histogram_V[chain])
        return mean_A, mean_V


def _precision(problem: Problem, table: Table, A: np.ndarray, V: np.ndarray) -> tuple[float, float]:
    """1/σ², where it is open its mean given A (D, R) and V (N, R); and the log likelihood there."""
    squared = minibatch.squared_error(A, V, table.ones, table.gaps, table.squared_norm)
    values = problem.model.log_likelihood(problem, A[None], V.T[None], np.array([squared]))
    noise = box_of(problem).noise
    if isinstance(noise, InverseGamma):
        shape = noise.shape + 0.5 * problem.dataset.observed
        return shape / (noise.scale + 0.5 * squared), float(values[0])
    return 1.0 / noise, float(values[0])


def work_per_iteration(problem: Problem) -> float:
    """Multiply-adds of one update of both factors, and of what is noted of it."""
    data, R = problem.dataset, problem.rank
    ones = float(data.total)
    return 4.0 * ones * R + (data.D + data.N) * R * (2.0 * R + 60.0) + 1e5


def fraction(state: State, settings: Settings) -> float:
    """Part of the chain's work that is done, the calibration counted as so many outputs."""
    whole = settings.calibration + state.total
    return (state.calibrated + state.outputs) / whole


def work(problem: Problem, settings: Settings) -> float:
    """Multiply-adds per kept draw; warm-up and calibration are left out."""
    return settings.thinning * window(problem, settings) * work_per_iteration(problem)


ALGORITHM = Algorithm(
    key="iasg",
    label="IASG",
    family="sampler",
    Settings=Settings,
    State=State,
    init=init,
    step=step,
    shard_sizes=shard_sizes,
    work=work,
    fraction=fraction,
    check=checking("IASG"),
    needs=Needs.of(Capability.BOX),
    color="#C6377D",
    symbol="triangle-up",
    summary="Stochastic gradient ascent with averaging, as published for binary matrices. Fast, "
    "but its outputs are not exact draws: entries are clamped, and no step is rejected.",
    reference="Mandt, Hoffman & Blei 2017; paper 4, algorithms 3.1 and 3.2",
    caveat="IASG outputs are averages along an optimization path, not draws from the posterior. "
    "Its steps are not corrected, the published weights overweight the prior in each batch, and "
    "early outputs depend on the start. Agreement between outputs is no evidence of certainty.",
)
