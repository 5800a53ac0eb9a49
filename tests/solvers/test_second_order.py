"""A projected Newton method for any loss: what it converges to, and what it says of it."""

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.decomposition import non_negative_factorization

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.core.objective import MaximumLikelihood, MaximumPosterior
from bnmf_core.core.problem import Problem
from bnmf_core.core.spec import RunSpec
from bnmf_core.core.squared_error import SQUARED_ERROR
from bnmf_core.data.repair import hide_entries
from bnmf_core.data.samples import SAMPLES
from bnmf_core.likelihoods import MODELS, itakura_saito, kullback_leibler, negative_binomial
from bnmf_core.runs import engine
from bnmf_core.solvers import SOLVERS, second_order, weights
from bnmf_core.solvers.solution import Stopping, solve_with, start_full
from bnmf_core.solvers.ties import Ties, start_tied
from bnmf_core.solvers.weights import weights_given
from tests.package.bnmf_example import smooth_laplace
from tests.solvers.solving import solved, started

LOSSES = {
    loss.key: loss
    for loss in (SQUARED_ERROR, kullback_leibler.LOSS, itakura_saito.LOSS, smooth_laplace.LOSS)
}
TO_THE_END = Stopping(20_000, None, movement=0.01, kkt=1e-6, gain=1e-8)


def counts(D=30, N=40, R=3, seed=0) -> Dataset:
    rng = np.random.default_rng(seed)
    mean = rng.gamma(0.7, 1.0, (D, R)) @ rng.gamma(0.7, 1.0, (R, N))
    return Dataset.from_array(rng.poisson(20 * mean) + 1.0, name="counts")


@pytest.mark.parametrize("key", LOSSES)
@pytest.mark.parametrize("gaps", [False, True])
def test_what_has_converged_is_a_minimum_and_says_so(key, gaps):
    """Run a thousand times as far, it gains no more than it has said, and turns no further."""
    loss, data = LOSSES[key], counts()
    data = hide_entries(data, 0.2, np.random.default_rng(1)) if gaps else data
    problem = Problem.without_model(data, 3, loss=loss)
    state = solved(problem, *started(problem, 4))
    done = Stopping().converged(state.kkt, state.movement, state.gain)
    # One descent of this loss goes along a valley so flat that the processor's rounding decides.
    flat = key == "smooth_laplace" and gaps
    assert done.all() or (flat and done.sum() == 3)
    assert (state.gain <= 0.01).all() and (state.gain >= 0).all()
    end = solved(problem, *state.particles, TO_THE_END)
    nats = MaximumLikelihood(problem).nats(state.squared_error)
    gained = (state.squared_error - end.squared_error) * nats
    assert (gained <= 0.1).all() and (gained >= -1e-6).all()


@pytest.mark.parametrize("loss", [kullback_leibler.LOSS, itakura_saito.LOSS], ids=lambda f: f.key)
def test_multiplicative_updates_gain_nothing_more(loss):
    data = counts()
    problem = Problem.without_model(data, 3, loss=loss)
    state = solved(problem, *started(problem, 4))
    A, W = state.particles
    for m in range(4):
        weights, basis, _ = non_negative_factorization(
            data.X.T,
            W[m].T.copy(),
            A[m].T.copy(),
            n_components=3,
            init="custom",
            solver="mu",
            beta_loss=loss.key.replace("_", "-"),
            tol=0,
            max_iter=2000,
        )
        on = loss.values(problem, basis.T[None], weights.T[None])[0]
        assert state.squared_error[m] - on <= 0.05


def test_of_the_squared_error_it_finds_what_hals_finds():
    data = counts()
    problem = Problem.without_model(data, 3)
    A, W = started(problem, 6)
    ours = solved(problem, A, W).squared_error
    theirs = solved(problem, A, W, solver=SOLVERS["hals"]).squared_error
    assert ours.min() == pytest.approx(theirs.min(), rel=1e-6)


def test_where_nothing_is_left_to_gain_it_does_not_turn_for_ever():
    """With a way to go that no step can make short enough, each ends as a ridge, in a few steps.

    Or where rounding leaves no slope at all: there the gain is not worked out any more.
    """
    problem = Problem.without_model(counts(), 3, loss=kullback_leibler.LOSS)
    pair = started(problem, 4)
    usual = solved(problem, *pair)
    endless = Stopping(10_000, None, movement=1e-15)
    ridge = solved(problem, *pair, endless)
    assert not endless.converged(ridge.kkt, ridge.movement, ridge.gain).any()
    assert ((ridge.gain <= 0.01) | (ridge.kkt < 1e-15)).all()
    assert (ridge.iterations <= usual.iterations + 12 * second_order.SURE_PRODUCTS).all()
    longer = solved(problem, *ridge.particles, TO_THE_END)
    assert (ridge.squared_error - longer.squared_error <= 0.1).all()


def test_a_gain_that_was_not_worked_out_is_not_told(monkeypatch):
    """With one product with the Hessian no minimum of the quadratic is reached."""
    monkeypatch.setattr(second_order, "SURE_PRODUCTS", 1)
    problem = Problem.without_model(counts(), 3, loss=kullback_leibler.LOSS)
    state = solved(problem, *started(problem, 3), Stopping(600, None))
    assert not Stopping().converged(state.kkt, state.movement, state.gain).any()


@pytest.mark.parametrize("key", LOSSES)
def test_weights_for_a_given_basis_are_those_of_a_general_optimizer(key):
    loss, data = LOSSES[key], counts(12, 5, 3)
    A = np.random.default_rng(3).gamma(1.0, 1.0, (2, 12, 3)) * 10
    ours = weights_given(data, A, loss)
    for m in range(2):
        for n in range(data.N):
            one = Problem.without_model(data.columns(np.array([n])), 3, loss=loss)

            def f(w, A=A[m], one=one):
                value, _, by_W = loss.values_and_gradients(one, A[None], w.reshape(1, 3, 1))
                return value[0], by_W.ravel()

            found = [
                optimize.minimize(f, start, jac=True, bounds=[(0, None)] * 3).fun
                for start in (np.ones(3), ours[m][:, n] + 0.01)
            ]
            best = float(f(ours[m][:, n])[0])
            assert best <= min(found) * (1 + 1e-6) + 1e-3


@pytest.mark.parametrize("k", [0.2, 5.0])
@pytest.mark.parametrize("of", [np.asarray, sparse.csr_array])
def test_steps_of_each_observation_end_where_the_solver_of_the_loss_does(k, of, monkeypatch):
    """Dispersed counts bend down where they are 0, so that steps by slopes alone go astray."""
    rng = np.random.default_rng(4)
    A = rng.gamma(0.4, 1.0, (60, 4))
    X = rng.poisson(rng.gamma(k, A @ rng.gamma(0.5, 0.5, (4, 80)) / k))
    X[0] += 1  # of every column something was counted
    data = Dataset.from_array(of(X.astype(float)))
    loss = negative_binomial.loss(negative_binomial.Settings(dispersion=k))
    problem = Problem.without_model(data, 4, loss=loss)
    ours = loss.by_observation(problem, A[None], weights_given(data, A[None], loss))
    monkeypatch.setattr(weights, "SECOND", 0)
    theirs = loss.by_observation(problem, A[None], weights_given(data, A[None], loss))
    assert (ours <= theirs + 1e-4).all()
    monkeypatch.setattr(weights, "STEPS", 3)
    monkeypatch.setattr(weights, "SECOND", 2**23)
    stopped = loss.by_observation(problem, A[None], weights_given(data, A[None], loss))
    assert (stopped > theirs + 1e-4).any()


@pytest.mark.parametrize("key", LOSSES)
def test_what_is_held_stays_and_what_is_tied_follows(key):
    loss, data = LOSSES[key], counts()
    held = np.array([True, False, False])
    problem = Problem.without_model(data, 3, held, loss)
    A, W = started(problem, 2)
    state = solved(problem, A, W)
    np.testing.assert_array_equal(state.particles[0][:, :, 0], A[:, :, 0])
    free = Problem.without_model(data, 3, loss=loss)
    ties = Ties(np.array([0, 2]), np.array([4, 7]), np.array([0.3, 0.0]))
    tied = start_tied(free, A, W, ties)
    while tied.active.any():
        tied = second_order.SOLVER.advance(free, tied, Stopping(3000, None))
    after = tied.particles[0]
    for m, (component, entry, odds) in enumerate(zip(*vars(ties).values(), strict=True)):
        column = after[m, :, component]
        assert column[entry] == pytest.approx(odds * (column.sum() - column[entry]), rel=1e-9)
    assert (tied.squared_error >= solved(free, *tied.particles).squared_error - 1e-6).all()


def test_maximum_a_posteriori_counts_the_prior_and_maximum_likelihood_does_not():
    data = counts()
    spec = {"particles": 4, "seed": 1, "model_settings": {"rate": 3.0}}
    likely = engine.run(data, RunSpec("random_restarts", 3, "kl", **spec))
    settings = {"objective": "maximum a posteriori"}
    probable = engine.run(data, RunSpec("random_restarts", 3, "kl", settings=settings, **spec))
    assert probable.diagnostics["converged"].all()
    assert probable.log_joint.max() > likely.log_joint.max()
    assert probable.error.min() > likely.error.min()
    model = MODELS["kl"]
    problem = Problem.prepare(data, model, model.Settings(rate=3.0), 3)
    best = int(probable.log_joint.argmax())
    A, W = probable.A[best][None], probable.W[best][None]
    by_A, by_W = model.score(problem, A, W)
    scale = np.abs(model.score(problem, A * 1.1, W)[0]).max()
    for F, slope in ((A, by_A), (W, by_W)):
        assert np.abs(slope[F > 1e-6 * F.max()]).max() < 0.05 * scale
        assert (slope[F == 0] <= 0.05 * scale).all()


def test_the_posterior_of_a_gaussian_model_has_the_same_maximum_by_another_way(small):
    model = MODELS["gaussian"]
    problem = Problem.prepare(small, model, model.Settings(sigma=0.3), 2)
    A, W = started(problem, 3)
    ours = solved(problem, A, W, TO_THE_END, second_order.POSTERIOR_SOLVER)
    size = A[0].size

    def f(x):
        pair = x[:size].reshape(1, *A[0].shape), x[size:].reshape(1, *W[0].shape)
        value, by_A, by_W = MaximumPosterior(problem).values_and_gradients(*pair)
        return value[0], np.concatenate([by_A.ravel(), by_W.ravel()])

    at = np.concatenate([F[int(ours.squared_error.argmin())].ravel() for F in ours.particles])
    theirs = optimize.minimize(f, at, jac=True, bounds=[(0, None)] * at.size, method="L-BFGS-B")
    assert f(at)[0] <= theirs.fun + 1e-3


@pytest.mark.parametrize("solver", ["hals", "projected_gradient", "multiplicative"])
def test_a_solver_of_the_squared_error_is_refused_for_another_loss(solver):
    with pytest.raises(SettingsError, match="makes the squared error small, and the model"):
        engine.run(counts(), RunSpec("random_restarts", 2, "kl", settings={"solver": solver}))


@pytest.mark.parametrize(
    ("model", "settings"), [("gaussian_simplex", {}), ("silf", {}), ("gaussian", {"rate": 0.0})]
)
def test_a_posterior_without_a_maximum_that_it_can_find_is_refused(model, settings):
    chosen = {"objective": "maximum a posteriori"}
    with pytest.raises(SettingsError, match="maximum posterior density needs entries ≥ 0"):
        engine.run(
            counts(), RunSpec("random_restarts", 2, model, 2, 0, chosen, model_settings=settings)
        )


def test_side_by_side_is_the_same_as_one_by_one():
    problem = Problem.without_model(counts(), 3, loss=kullback_leibler.LOSS)
    A, W = started(problem, 4)
    together = solve_with(second_order.SOLVER, problem, A, W, Stopping(200, None))
    for m in range(4):
        alone = solve_with(
            second_order.SOLVER, problem, A[m : m + 1], W[m : m + 1], Stopping(200, None)
        )
        for ours, theirs in zip(together, alone, strict=True):
            np.testing.assert_allclose(ours[m], theirs[0], rtol=1e-6, atol=1e-9)


def test_it_can_set_out_from_zeros():
    problem = Problem.without_model(counts(), 3, loss=kullback_leibler.LOSS)
    plain = start_full(problem, np.zeros((1, 30, 3)), np.zeros((1, 3, 40)))
    after = second_order.SOLVER.advance(problem, plain, Stopping(50, None))
    assert np.isfinite(after.A).all() and np.isfinite(after.W).all()


def test_a_saddle_is_left():
    """Zeros of A and W that hold each other: no slope, and yet far above an optimum."""
    data = counts()
    problem = Problem.without_model(data, 3, loss=kullback_leibler.LOSS)
    best = solved(problem, *started(problem, 6)).squared_error.min()
    # At the optimum of two components the third one, empty on both sides, has slopes of 0.
    fewer = Problem.without_model(data, 2, loss=kullback_leibler.LOSS)
    A, W = (F[:1] for F in solved(fewer, *started(fewer, 1)).particles)
    A = np.concatenate([A, np.zeros((1, 30, 1))], axis=2)
    W = np.concatenate([W, np.zeros((1, 1, 40))], axis=1)
    _, by_A, by_W = kullback_leibler.LOSS.values_and_gradients(problem, A, W)
    assert not by_A[:, :, 2].any() and not by_W[:, 2].any()
    end = solved(problem, A, W)
    assert end.squared_error[0] < kullback_leibler.LOSS.values(problem, A, W)[0] - 100
    assert end.squared_error[0] <= 1.05 * best


def test_little_is_left_to_gain_where_entries_are_all_but_forbidden_to_leave_zero():
    """Rare counts beside zeros: continued off them by another optimizer, no more is gained."""
    rng = np.random.default_rng(42)
    mean = rng.gamma(0.15, 1.0, (40, 4)) @ rng.gamma(0.3, 1.0, (4, 30))
    data = Dataset.from_array(rng.poisson(3 * mean) + 0.0)
    problem = Problem.without_model(data, 4, loss=kullback_leibler.LOSS)
    A, W = solved(problem, *started(problem, 8)).particles
    size = A[0].size

    def f(x):
        pair = x[:size].reshape(1, 40, 4), x[size:].reshape(1, 4, 30)
        value, by_A, by_W = kullback_leibler.LOSS.values_and_gradients(problem, *pair)
        return value[0], np.concatenate([by_A.ravel(), by_W.ravel()])

    gained = []
    for m in range(8):
        x = np.concatenate([A[m].ravel(), W[m].ravel()])
        options = {"maxiter": 3000, "maxfun": 6000, "ftol": 1e-15, "gtol": 1e-9}
        off = x + 1e-4 * x.mean() * rng.exponential(size=x.size)
        end = optimize.minimize(
            f, off, jac=True, method="L-BFGS-B", bounds=[(0, None)] * x.size, options=options
        )
        gained.append(f(x)[0] - end.fun)
    # One may have jumped into another basin.
    assert sorted(gained)[-2] <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize(("model", "rank"), [("poisson", 5), ("negative_binomial", 4)])
def test_long_flat_valleys_of_counts_come_to_an_end(model, rank):
    """With less than .01 nats left to gain, each says whether it has converged or is on a ridge."""
    dataset = SAMPLES["signatures"].load()
    particles = engine.run(dataset, RunSpec("random_restarts", rank, model, particles=12))
    done = particles.diagnostics["converged"] | particles.diagnostics["ridge"]
    assert done.all() and (particles.diagnostics["gain"] <= 0.01).all()
    assert model != "poisson" or particles.diagnostics["converged"].all()
