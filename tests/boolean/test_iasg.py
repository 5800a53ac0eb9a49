"""IASG step by step against a plain rewriting of it, its gradients, its averages, its collapse."""

from dataclasses import fields

import numpy as np
import pytest

from bnmf_core import Dataset, RunSpec, boolean_tiles
from bnmf_core.boolean import iasg, minibatch
from bnmf_core.boolean import model as boolean
from bnmf_core.boolean.iasg_state import EARLY, summary
from bnmf_core.core.algorithm import Shard
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.runs import engine

PRIORS = tuple(boolean.PRIORS)


def problem_of(D=7, N=9, R=3, prior="laplace", sigma=0.6, gaps=True, seed=0) -> Problem:
    rng = np.random.default_rng(seed)
    X = (rng.random((D, N)) < 0.4).astype(float)
    if gaps:
        X[2, 3] = X[5, 1] = X[2, 4] = np.nan
    return Problem(Dataset.from_array(X), boolean.MODEL, boolean.Settings(prior, sigma), R)


def run_to_end(problem, settings, seed=1, particles=2, shard=None):
    """The last state, and every batch on the way."""
    rng = np.random.default_rng(seed)
    state = iasg.init(problem, settings, shard or Shard(0, 0, particles, seed), rng)
    batches = []
    while state.outputs < state.total:
        state, batch = iasg.step(problem, state, settings, rng)
        batches.append(batch)
    return state, batches


# Gradients


@pytest.mark.parametrize("gaps", [False, True])
def test_every_case_once_gives_the_whole_gradient(gaps):
    problem = problem_of(gaps=gaps, prior="flat")
    rng, data = np.random.default_rng(2), problem.dataset
    A, W = rng.random((data.D, 3)), rng.random((3, data.N))
    V, table = np.ascontiguousarray(W.T), minibatch.Table.of(data)
    by_A, by_W = boolean.MODEL.score(problem, A[None], W[None])
    found_A = minibatch.drawn_gradient(A, V, np.ones(data.N), table.ones, table.gaps)
    found_V = minibatch.drawn_gradient(
        V, A, np.ones(data.D), table.ones_of_features, table.gaps_of_features
    )
    np.testing.assert_allclose(found_A / 0.6**2, by_A[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found_V.T / 0.6**2, by_W[0], rtol=1e-12, atol=1e-12)
    squared = minibatch.squared_error(A, V, table.ones, table.gaps, data.squared_norm)
    seen = np.ones(data.X.shape) if data.mask is None else data.mask
    assert squared == pytest.approx((seen * (data.X - A @ W) ** 2).sum(), rel=1e-12)


@pytest.mark.parametrize("weight", ["unbiased", "published"])
def test_single_cases_make_the_whole_gradient_only_with_the_unbiased_weight(weight):
    problem = problem_of()
    settings = iasg.Settings(batch=1, prior_weight=weight)
    work, data = iasg._Work.of(problem, settings), problem.dataset
    rng = np.random.default_rng(3)
    A, V = rng.random((data.D, 3)), rng.random((data.N, 3))
    whole = boolean.MODEL.score(problem, A[None], V.T[None])
    total = sum(_of_case(work, A, V, n) for n in range(data.N))
    difference = total - whole[0][0]
    if weight == "unbiased":
        np.testing.assert_allclose(difference, 0, atol=1e-12)
    else:  # the slope of −x/2, counted N − 1 times too often
        np.testing.assert_allclose(difference, -0.5 * (data.N - 1), atol=1e-12)


def _of_case(work, A, V, n):
    counts = np.bincount([n], minlength=V.shape[0]).astype(float)
    fit = minibatch.drawn_gradient(A, V, counts, work.table.ones, work.table.gaps)
    return 0.6**-2 * fit - work.weights[0] * 0.5


def test_cases_are_drawn_with_replacement():
    counts = minibatch.drawn_counts(5, 400, np.random.default_rng(4))
    expected = np.bincount((np.random.default_rng(4).random(400) * 5).astype(int), minlength=5)
    np.testing.assert_array_equal(counts, expected)
    assert counts.sum() == 400


# The algorithm


def plainly(problem, settings, A, V, rng, outputs):
    """Algorithms 3.1 and 3.2 with residuals, all noted: outputs of A and of V, and the steps."""
    data, chosen = problem.dataset, problem.model_settings
    seen = np.ones(data.X.shape) if data.mask is None else data.mask.astype(float)
    margin = 1e-3 if chosen.prior == "beta" else 0.0
    S_A, S_V = min(settings.batch, data.N), min(settings.batch, data.D)

    def gradient(F, other, X, mask, S):
        Q = other.shape[0]
        drawn = (rng.random(S) * Q).astype(int)
        residual = mask[:, drawn] * (X[:, drawn] - F @ other[drawn].T)
        weight = S / Q if settings.prior_weight == "unbiased" else 1.0
        fit = residual @ other[drawn] / chosen.sigma**2
        return fit + weight * boolean.prior_slope(chosen.prior, F)

    def both(A, V):
        by_A = gradient(A, V, data.X, seen, S_A)
        return by_A, gradient(V, A, data.X.T, seen.T, S_V)

    found = []
    for _ in range(settings.calibration):
        at = [margin + (1 - 2 * margin) * rng.random(F.shape) for F in (A, V)]
        found.append(both(*at))
    steps = [
        2 * S / Q / np.var([pair[i] for pair in found], axis=0, ddof=1)
        for i, (S, Q) in enumerate(((S_A, data.N), (S_V, data.D)))
    ]
    T, made = max(-(-data.N // S_A), -(-data.D // S_V)), []
    for _ in range(outputs):
        window = []
        for _ in range(T):
            A = np.clip(A + steps[0] * gradient(A, V, data.X, seen, S_A), margin, 1 - margin)
            V = np.clip(V + steps[1] * gradient(V, A, data.X.T, seen.T, S_V), margin, 1 - margin)
            window.append((A, V))
        made.append(tuple(np.mean([pair[i] for pair in window], axis=0) for i in (0, 1)))
    return steps, made


@pytest.mark.parametrize("weight", ["published", "unbiased"])
@pytest.mark.parametrize("prior", PRIORS)
def test_outputs_are_those_of_the_algorithm_written_plainly(prior, weight):
    problem = problem_of(prior=prior)
    settings = iasg.Settings(
        warm_up=2, thinning=1, batch=4, calibration=30, prior_weight=weight, start="uniform"
    )
    shard = Shard(0, 0, 5, 1)
    begun = iasg.init(problem, settings, shard, np.random.default_rng(5))
    state, batches = run_to_end(problem, settings, 5, shard=shard)
    steps, made = plainly(
        problem, settings, begun.A[0], begun.V[0], np.random.default_rng(5), outputs=7
    )
    found = iasg._Work.of(problem, settings).steps(state, 0)
    np.testing.assert_allclose(found[0], steps[0], rtol=1e-8)
    np.testing.assert_allclose(found[1], steps[1], rtol=1e-8)
    A, W = (np.concatenate([getattr(b, name) for b in batches]) for name in "AW")
    assert A.shape[0] == 7 == state.outputs
    np.testing.assert_allclose(A, [pair[0] for pair in made], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(W, [pair[1].T for pair in made], rtol=1e-8, atol=1e-10)
    warm_up = np.concatenate([batch.warm_up for batch in batches if batch.size])
    assert warm_up.tolist() == [True] * 2 + [False] * 5


@pytest.mark.parametrize(("batch", "T"), [(512, 1), (250, 3), (75, 7), (None, 1)])
def test_an_output_is_the_mean_of_as_many_states_as_see_every_case(batch, T):
    data = Dataset.from_array(np.eye(512))
    problem = Problem(data, boolean.MODEL, boolean.Settings(sigma=1.0), 2)
    assert iasg.window(problem, iasg.Settings(batch=batch)) == T


def test_a_chain_that_stands_still_averages_to_itself():
    problem = problem_of()
    settings = iasg.Settings(batch=1, calibration=10)
    rng = np.random.default_rng(6)
    state = iasg.init(problem, settings, Shard(0, 0, 1, 1), rng)
    A, V = state.A[0].copy(), state.V[0].copy()
    work = iasg._Work.of(problem, settings)
    assert work.T == 9
    means = work.output(state, 0, 1, (np.zeros(A.shape), np.zeros(V.shape)), rng)
    np.testing.assert_array_equal(means[0], A)
    np.testing.assert_array_equal(means[1], V)


def test_moments_and_histograms_are_those_of_all_outputs():
    settings = iasg.Settings(warm_up=6, thinning=1, batch=3, calibration=20, histograms=True)
    state, batches = run_to_end(problem_of(), settings, particles=11)
    A = np.concatenate([batch.A for batch in batches])
    W = np.concatenate([batch.W for batch in batches])
    for found, part in (
        (summary(state), slice(6, None)),
        (summary(state, burn_in=False), slice(0, None)),
    ):
        assert found.outputs == A[part].shape[0]
        np.testing.assert_allclose(found.mean_A, A[part].mean(axis=0), atol=1e-13)
        np.testing.assert_allclose(found.mean_W, W[part].mean(axis=0), atol=1e-13)
        np.testing.assert_allclose(found.sd_A, A[part].std(axis=0), atol=1e-13)
        np.testing.assert_allclose(found.sd_W, W[part].std(axis=0), atol=1e-13)
    bins = np.minimum((A * 50).astype(int), 49)
    expected = (bins[..., None] == np.arange(50)).sum(axis=0)
    np.testing.assert_array_equal(state.histogram_A[0], expected)
    borders = [((A == at).sum() + (W == at).sum()) / (A.size + W.size) for at in (0.0, 1.0)]
    np.testing.assert_allclose([state.at_zero[0], state.at_one[0]], borders, atol=1e-14)


def test_log_likelihoods_are_those_of_the_outputs_and_the_first_are_kept():
    problem = problem_of(sigma=None)
    settings = iasg.Settings(warm_up=3, thinning=1, batch=3, calibration=20)
    state, batches = run_to_end(problem, settings, particles=4)
    A, W = (np.concatenate([getattr(b, name) for b in batches]) for name in "AW")
    values = boolean.MODEL.log_likelihood(problem, A, W)
    np.testing.assert_allclose(state.early[0, :7], values, rtol=1e-12)
    assert np.isnan(state.early[0, 7:]).all() and state.early.shape == (1, EARLY)
    assert state.log_likelihood[0] == pytest.approx(values.mean(), rel=1e-12)


def test_what_is_known_of_all_outputs_comes_with_the_particles_and_is_stored(tmp_path):
    data = problem_of(gaps=False).dataset
    settings = {"chains": 3, "warm_up": 4, "thinning": 2, "batch": 3, "calibration": 20}
    settings |= {"histograms": True, "start": "uniform"}
    particles = engine.run(data, RunSpec("iasg", 2, "boolean", 7, 1, settings))
    told = particles.totals
    assert told["mean_A"].shape == told["all_sd_A"].shape == (3, 7, 2)
    assert told["mean_W"].shape == told["last_W"].shape == (3, 2, 9)
    assert told["histogram_W"].shape == (3, 2, 9, 50)
    # Both shards go on until their longest chain has made its draws: three, and two.
    assert told["all_outputs"].tolist() == [10, 10, 8] and told["outputs"].tolist() == [6, 6, 4]
    assert (told["histogram_A"].sum(axis=3) == told["all_outputs"][:, None, None]).all()
    particles.save(tmp_path / "run.npz")
    again = type(particles).load(tmp_path / "run.npz").totals
    assert set(again) == set(told) == set(particles.subset(np.array([0])).totals)
    for name, values in told.items():
        np.testing.assert_array_equal(again[name], values)
    exported = particles.to_xarray()
    np.testing.assert_array_equal(exported["total_mean_A"], told["mean_A"])


def size_of(part) -> int:
    values = [getattr(part, one.name) for one in fields(part)]
    return sum(
        v.nbytes if isinstance(v, np.ndarray) else size_of(v)
        for v in values
        if isinstance(v, np.ndarray) or hasattr(v, "mean_A")
    )


def test_nothing_grows_with_the_run():
    settings = [iasg.Settings(warm_up=0, thinning=n, calibration=10) for n in (2, 200)]
    states = [run_to_end(problem_of(), one)[0] for one in settings]
    assert states[0].outputs == 4 and states[1].outputs == 400
    assert size_of(states[0]) == size_of(states[1])


def test_steps_at_the_start_are_the_larger_ones():
    """Gradients over the whole cube vary more than those of batches at one place."""
    problem = problem_of(sigma=1.0)
    steps = []
    for scale in ("published", "at point"):
        settings = iasg.Settings(noise_scale=scale, calibration=200, warm_up=0, thinning=1)
        state, _ = run_to_end(problem, settings, particles=1)
        steps.append(iasg._Work.of(problem, settings).steps(state, 0)[0])
    assert (steps[1] >= steps[0]).mean() > 0.9


def test_an_optimum_of_another_rank_loses_components_or_gains_uniform_ones():
    data = boolean_tiles(40, 50, 3, rng=np.random.default_rng(7))
    known = data.truth[0]
    for rank in (2, 3, 5):
        problem = Problem(data, boolean.MODEL, boolean.Settings(sigma=1.0), rank)
        state = iasg.init(
            problem, iasg.Settings(start="optimum"), Shard(0, 0, 1, 1), np.random.default_rng(8)
        )
        common = min(rank, 3)
        np.testing.assert_array_equal(state.A[0][:, :common], known.A[:, :common])
        np.testing.assert_array_equal(state.V[0].T[:common], known.W[:common])
        added = state.A[0][:, common:]
        assert ((added > 0) & (added < 1)).all()
    plain = Problem(problem_of().dataset, boolean.MODEL, boolean.Settings(), 2)
    with pytest.raises(SettingsError, match="No exact factorization"):
        iasg.init(plain, iasg.Settings(start="optimum"), Shard(0, 0, 1, 1), None)


def test_from_the_optimum_of_clean_data_the_mean_has_no_error():
    data = boolean_tiles(128, 128, 5, 0.05, rng=np.random.default_rng(9))
    settings = {"start": "optimum", "warm_up": 0, "thinning": 20, "calibration": 100}
    spec = RunSpec("iasg", 5, "boolean", 10, 1, settings, {"prior": "normal", "sigma": 1.0})
    particles = engine.run(data, spec)
    known = data.truth[0]
    found = boolean_product(particles.A.mean(axis=0) > 0.5, particles.W.mean(axis=0) > 0.5)
    np.testing.assert_array_equal(found, boolean_product(known.A, known.W))


# The law of the collapse

LAW = {
    ("normal", 256): np.sqrt(1 - 1 / 8),
    ("normal", 125): np.sqrt(1 - 1 / (8 * 125 / 256)),
    ("normal", 37): np.sqrt(1 - 1 / (8 * 37 / 256)),
    ("laplace", 256): 0.967,
    ("laplace", 125): 0.929,
    ("laplace", 37): 0.0,
}


@pytest.mark.slow
@pytest.mark.parametrize(("prior", "batch"), LAW)
def test_small_batches_collapse_by_the_law_of_the_unscaled_gradient(prior, batch):
    """One tile of 8×8 without noise in a table of 256×256, the prior at its published weight."""
    X = np.zeros((256, 256))
    X[:8, :8] = 1.0
    problem = Problem(Dataset.from_array(X), boolean.MODEL, boolean.Settings(prior, 1.0), 1)
    settings = iasg.Settings(
        batch=batch, warm_up=400, thinning=400, calibration=500, noise_scale="published"
    )
    rng = np.random.default_rng(10)
    state = iasg.init(problem, settings, Shard(0, 0, 2, 1), rng)
    state.A[:], state.V[:] = X[:, :1], X[:1].T
    while state.outputs < state.total:
        state, _ = iasg.step(problem, state, settings, rng)
    means = summary(state)
    inside = 0.5 * (means.mean_A[:8].mean() + means.mean_W[:, :8].mean())
    assert inside == pytest.approx(LAW[prior, batch], abs=0.03)
