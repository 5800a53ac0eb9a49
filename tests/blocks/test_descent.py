"""Factorizations over blocks are those of X in memory, by every number that is told of them."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.kullback_leibler import KULLBACK_LEIBLER
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.likelihoods import MODELS
from bnmf_core.passes import counts, descent, faces, sums
from bnmf_core.passes.descent import plain_step
from bnmf_core.runs import engine
from bnmf_core.solvers import second_order
from bnmf_core.solvers.newton import with_unmeasured
from bnmf_core.solvers.nnls import solve_weights
from bnmf_core.solvers.solution import MOVEMENT, Stopping, start_full
from tests.blocks.arrays import in_blocks
from tests.same import assert_same

D, N, R = 40, 900, 3
BOUNDS = (0, 250, 500, 700, 900)


@pytest.fixture(scope="module")
def planted():
    """Counts with three topics, of which no single one stands everywhere."""
    rng = np.random.default_rng(5)
    A = rng.gamma(0.3, 1, (D, R))
    W = rng.gamma(0.4, 1, (R, N))
    return rng.poisson(60 * (A / A.sum(axis=0)) @ (W / W.sum(axis=0))).astype(float)


@pytest.fixture(scope="module", params=["dense", "sparse"])
def data(request, planted):
    X = planted if request.param == "dense" else sparse.csc_array(planted)
    sample = np.sort(np.random.default_rng(1).choice(N, 200, replace=False))
    return in_blocks(X, BOUNDS, sample, request.param), Dataset.from_array(X)


def problem_of(data, particles):
    model = MODELS[particles.spec.model]
    return Problem(data, model, model.Settings(**particles.info["model_settings"]), particles.R)


@pytest.mark.parametrize("algorithm", ["random_restarts", "q_transform"])
def test_the_squared_error_over_blocks_is_that_in_memory(data, algorithm):
    blocks, whole = data
    found = engine.run(blocks, RunSpec(algorithm, R, particles=3))
    problem, W = problem_of(whole, found), solve_weights(whole.X, found.A)
    f = problem.loss.values(problem, found.A, W)
    np.testing.assert_allclose(found.error, problem.loss.measured(whole, f), rtol=1e-12)
    log_joint = problem.model.log_joint(problem, found.A, W, f)
    np.testing.assert_allclose(found.log_joint, log_joint, rtol=1e-12)
    np.testing.assert_allclose(found.W, W[:, :, blocks.whole.sample], rtol=1e-9, atol=1e-9)
    # By the certificate of runs in memory they have converged as well.
    solution = start_full(problem, found.A, W)
    kkt, movement, gain = with_unmeasured(problem, solution)
    assert found.diagnostics["converged"].all()
    assert Stopping(movement=MOVEMENT).converged(kkt, movement, gain).all()
    np.testing.assert_allclose(found.kkt, kkt, rtol=1e-3, atol=1e-7)
    best = engine.run(whole, RunSpec(algorithm, R, particles=3))
    # Both may have 0.01 nats left to gain, at the noise that is left.
    nats = np.log(found.error.min() / best.error.min()) * D * N
    assert abs(nats) < 0.02


def test_the_divergence_over_blocks_is_that_in_memory(data):
    blocks, whole = data
    found = engine.run(blocks, RunSpec("random_restarts", R, "poisson", particles=3))
    problem = problem_of(whole, found)
    best = engine.run(whole, RunSpec("random_restarts", R, "poisson", particles=3))
    f = problem.loss.values(problem, best.A, best.W).min()
    own = problem.loss.unmeasured(whole, found.error).min()
    assert own - f < 0.05  # nats; both have converged to 0.01
    assert found.diagnostics["converged"].all()


def test_what_is_at_rest_has_converged_however_small_the_sample(planted):
    spec = RunSpec("random_restarts", R, particles=2)
    found = engine.run(in_blocks(planted, BOUNDS, np.arange(0, 12, 3), "few"), spec)
    best = engine.run(Dataset.from_array(planted), spec)
    assert found.diagnostics["converged"].all()
    assert abs(np.log(found.error.min() / best.error.min())) * D * N < 0.02


def test_features_that_the_sample_lacks_are_explained(planted):
    X = planted.copy()
    X[[3, 7]] = 0.0  # their rows of A are 0 where the passes begin
    X[3, [100, 400, 850]] = 2.0
    X[7, 600:640:3] = 1.0
    sample = np.setdiff1d(np.arange(0, N, 4), np.flatnonzero(X[3] + X[7]))
    spec = RunSpec("random_restarts", R, "poisson", particles=3)
    found = engine.run(in_blocks(X, BOUNDS, sample, "rare"), spec)
    whole = Dataset.from_array(X)
    best = engine.run(whole, spec)
    errors = (found.error.min(), best.error.min())
    own, f = (float(KULLBACK_LEIBLER.unmeasured(whole, np.array(one))) for one in errors)
    assert own - f < 0.05 and found.diagnostics["converged"].all()


@pytest.mark.parametrize("before", [0.0, 1e-12])
def test_a_step_of_counts_leaves_zero_where_data_pull(before):
    # One observation has x counts: a·totals − x log(a w + floor) is smallest near x/totals.
    x, w, floor = 3.0, np.array([2.0, 0.0]), 1e-8
    y = before * w[0] + floor
    totals, of_row = np.array([40.0, 60.0]), x / y * w
    slope, curvature = (totals - of_row)[:, None], (x / y**2 * np.outer(w, w))[None]
    new = plain_step(np.array([[before], [0.0]]), slope, curvature, totals)
    np.testing.assert_allclose(new[:, 0], [x / totals[0], 0.0], rtol=1e-6)


def test_steps_of_counts_leave_a_component_for_a_better_one():
    # One observation bends the row in one direction only, in which no component is better.
    x, w, totals = 3.0, np.array([1.0, 2.0]), np.array([40.0, 60.0])
    a = np.array([x / totals[0], 0.0])
    for _ in range(10):
        y = w @ a
        slope, curvature = totals - x / y * w, x / y**2 * np.outer(w, w)
        a = plain_step(a[:, None], slope[:, None], curvature[None], totals)[:, 0]
    np.testing.assert_allclose(a, [0.0, x / totals[1]], atol=1e-9)


def test_weights_of_counts_and_derivatives_are_those_of_a_second_method(planted):
    rng = np.random.default_rng(3)
    data = in_blocks(sparse.csc_array(planted), (0, 300, N), np.arange(50), "counts")
    problem = Problem.without_model(data, R, loss=KULLBACK_LEIBLER)
    A = rng.gamma(1.0, 1.0, (2, R, D))
    total = sums.added(counts.sums(problem, i, A, np.zeros(2, dtype=bool))[0] for i in range(2))
    bases = A.transpose(0, 2, 1)
    whole = Problem.without_model(Dataset.from_array(planted), R, loss=KULLBACK_LEIBLER)
    held = Problem.without_model(whole.dataset, R, np.ones(R, dtype=bool), KULLBACK_LEIBLER)
    start = second_order.SOLVER.start(held, bases, np.ones((2, R, N)))
    while start.active.any():
        start = second_order.SOLVER.advance(held, start, Stopping(500, None, kkt=1e-8))
    _, W = start.particles
    np.testing.assert_allclose(total.sampled, W[:, :, :50], rtol=1e-3, atol=1e-3)
    f, by_A, _ = KULLBACK_LEIBLER.values_and_gradients(whole, bases, W)
    np.testing.assert_allclose(total.loss, f, rtol=1e-7)
    np.testing.assert_allclose(total.slope, by_A.transpose(0, 2, 1), rtol=1e-3, atol=0.5)


def test_weights_are_best_where_counts_are_fewer_than_components():
    """The KKT conditions of every observation: no slope below 0, none above 0 beside a weight."""
    rng, R = np.random.default_rng(0), 6
    A = rng.gamma(0.3, 1, (120, R))
    A /= A.sum(axis=0)
    X = rng.poisson(3 * A @ rng.dirichlet(np.full(R, 0.3), 800).T).astype(float)
    assert np.median((X > 0).sum(axis=0)) < R
    W, *_ = counts.best_weights(sparse.csc_array(X), A, 1e-9)
    ratio = np.divide(X, A @ W.T + 1e-9, out=np.zeros_like(X), where=X > 0)
    slope = (A.sum(axis=0)[:, None] - A.T @ ratio).T
    seen = X.any(axis=0)
    assert slope[seen].min() > -1e-5 and np.abs(slope * W)[seen].max() < 1e-5


def test_a_plain_step_of_the_squared_error_is_alternating_least_squares(planted):
    A = np.random.default_rng(2).random((D, R))
    W = solve_weights(planted, A[None])[0]
    gram, linear = W @ W.T, W @ planted.T
    step = plain_step(A.T, gram @ A.T - linear, gram, W.sum(axis=1))
    np.testing.assert_allclose(step, solve_weights(planted.T, W.T[None])[0], atol=1e-9)


def test_the_hessian_on_faces_is_the_sum_over_observations(planted):
    """Against P_n of each observation by least squares."""
    rng = np.random.default_rng(2)
    A, V = rng.random((R, D)), rng.standard_normal((D, R))
    W = solve_weights(planted, A.T[None])[0]
    assert 2 < len(np.unique(W > 0, axis=1).T) < N
    naive = np.zeros((D, R))
    for w in W.T:
        inside, Vw = A[w > 0].T, V @ w
        naive += 2 * np.outer(Vw - inside @ np.linalg.lstsq(inside, Vw)[0], w)
    bases = faces.Bases(A.T, W @ W.T, faces.on_faces(A, W))
    found = bases.hessian_times(A.T.reshape(1, -1), V.reshape(1, -1)).reshape(D, R)
    np.testing.assert_allclose(found, naive, rtol=1e-7, atol=1e-7 * np.abs(naive).max())


def test_no_pass_raises_the_loss(data, monkeypatch):
    blocks, _ = data
    seen, of_one = [], sums.chosen

    def noted(found, some):
        seen.append((int(some[0]), float(found.loss[some][0])))
        return of_one(found, some)

    monkeypatch.setattr(sums, "chosen", noted)
    engine.run(blocks, RunSpec("random_restarts", R, "poisson", particles=1))
    losses = np.array([loss for _, loss in seen])
    accepted = np.minimum.accumulate(losses)
    # What was taken back once is never above the accepted one again.
    assert (losses[1:] <= accepted[:-1] * 1.02).all() and losses[-1] == pytest.approx(accepted[-1])


def test_threads_change_no_bit(data):
    blocks, _ = data
    spec = RunSpec("random_restarts", R, particles=5, seed=3)
    made = []
    for threads in (1, 3):
        with ThreadPoolExecutor(threads) as workers:
            made.append(engine.run(blocks, spec, executor=workers))
    assert_same(*made)


def test_held_out_observations_are_in_no_sum(planted):
    sample = np.arange(0, N, 3)
    spec = RunSpec("random_restarts", R, particles=2, holdout=0.2)
    first = in_blocks(planted, BOUNDS, sample, "held")
    found = engine.run(first, spec)
    held = first.whole.sample[_held(first, spec)]
    changed = planted.copy()
    changed[:, held] = 1000.0
    again = in_blocks(changed, BOUNDS, sample, "changed")
    settings = {"sigma": 1.0, "rate": 1.0}
    specs = RunSpec("random_restarts", R, particles=2, holdout=0.2, model_settings=settings)
    np.testing.assert_array_equal(engine.run(first, specs).A, engine.run(again, specs).A)
    seen = np.delete(planted, held, axis=1)
    W = solve_weights(seen, found.A)
    error = np.linalg.norm(seen - found.A @ W, axis=(1, 2)) / np.linalg.norm(seen)
    np.testing.assert_allclose(found.error, error, rtol=1e-10)


def _held(data, spec):
    from bnmf_core.data.split import split  # noqa: PLC0415

    return split(data, spec.holdout)[1]


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (RunSpec("hmc", R), "HMC needs all of X in memory"),
        (RunSpec("random_restarts", R, "negative_binomial"), "squared error or the Kullback"),
        (
            RunSpec("random_restarts", R, settings={"objective": "maximum a posteriori"}),
            "need all of X in memory",
        ),
        (RunSpec("gibbs", R, "negative_binomial"), "choose the Poisson model"),
    ],
)
def test_what_needs_all_of_X_says_so(data, spec, words):
    with pytest.raises(SettingsError, match=words):
        engine.run(data[0], spec)


def test_passes_over_a_noisy_scene_converge():
    """Smooth spectra in a valley where the sample is far too small to know its way."""
    rng, grid = np.random.default_rng(0), np.linspace(0, 1, 40)
    peaks = [
        0.3 + np.exp(-(((grid - c) / w) ** 2)) + 0.3 * rng.random() * grid
        for c, w in zip(rng.random(4), 0.2 + 0.2 * rng.random(4), strict=True)
    ]
    W = rng.dirichlet(np.full(4, 0.7), 3_000).T * (0.3 + rng.random(3_000))
    X = np.maximum(np.stack(peaks, 1) @ W + 0.02 * rng.standard_normal((40, 3_000)), 0)
    sample = np.sort(np.random.default_rng(0).choice(3_000, 600, replace=False))
    spec = RunSpec("random_restarts", 4, particles=2)
    found = engine.run(in_blocks(X, (0, 1_000, 2_000, 3_000), sample, "scene"), spec)
    best = engine.run(Dataset.from_array(X), spec).error.min()
    assert found.diagnostics["converged"].all()
    assert (np.log(found.error / best) * X.size < 0.03).all()


def test_a_valley_is_not_taken_for_an_optimum(monkeypatch):
    """Nearly noise-free data that hardly determine components: passes crawl."""
    rng = np.random.default_rng(0)
    X = rng.random((30, 3)) @ rng.dirichlet([0.3, 0.3, 0.3], 4_000).T
    X = np.abs(X + 0.01 * rng.standard_normal(X.shape))
    data = in_blocks(X, (0, 2_000, 4_000), np.arange(0, 4_000, 5), "valley")
    spec = RunSpec("random_restarts", 3, particles=6)
    best = engine.run(Dataset.from_array(X), spec).error.min()

    def nats():
        found = engine.run(data, spec)
        assert found.diagnostics["converged"].all()
        return np.log(found.error / best) * X.size

    assert (nats() < 0.03).all()

    def believed(problem, after, arrived, stopping):
        for p, found in arrived:
            if stopping.converged(after.kkt[p], after.movement[p], after.gain[p]):
                descent._settle(problem, after, p, found, converged=True)

    # Without the certificate all of them count as converged far from there.
    monkeypatch.setattr(descent, "_certify", believed)
    assert (nats() > 0.1).any()
