"""Box Gibbs draws from the posterior: quadrature, the joint distribution, an open noise level."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from bnmf_core import Dataset, RunSpec, boolean_tiles
from bnmf_core.boolean import box_gibbs
from bnmf_core.boolean import model as boolean
from bnmf_core.boolean.arcsine_slice import slice_factors
from bnmf_core.boolean.generator import IMPLIED_DENSITY
from bnmf_core.numerics.matrix import boolean_product
from bnmf_core.runs import engine

PRIORS = tuple(boolean.PRIORS)
# X = [[1, 1], [0, 1]], rank one, σ² = 0.1: E[A] by quadrature; E[W] is E[A] reversed.
QUADRATURE = {
    "flat": (0.83759691, 0.63334721),
    "normal": (0.82254510, 0.61198543),
    "laplace": (0.82707849, 0.61433950),
    "beta": (0.89555781, 0.66301180),
}
SPREAD = (0.13732440, 0.22930698)  # of A under the flat prior
X = np.array([[1.0, 1.0], [0.0, 1.0]])


def drawn(X, prior, draws, sigma=0.1**0.5, chains=16):
    settings = {"chains": chains, "thinning": 1, "warm_up": 50, "start": "prior"}
    spec = RunSpec(
        "box_gibbs",
        1,
        "boolean",
        draws,
        3,
        settings,
        model_settings={"prior": prior, "sigma": sigma},
    )
    return engine.run(Dataset.from_array(X), spec)


def assert_mean(values, chain, expected):
    """Chains are independent: the spread of their means tells the error of all of them."""
    means = np.array([values[chain == c].mean() for c in np.unique(chain)])
    error = means.std(ddof=1) / np.sqrt(means.size)
    assert abs(means.mean() - expected) < 5 * error
    assert error < 0.005


@pytest.mark.slow
@pytest.mark.parametrize("prior", PRIORS)
def test_posterior_means_are_those_of_quadrature(prior):
    particles = drawn(X, prior, 32_000)
    first, second = QUADRATURE[prior]
    for F in (particles.A[:, :, 0], particles.W[:, 0, ::-1]):
        assert_mean(F[:, 0], particles.chain, first)
        assert_mean(F[:, 1], particles.chain, second)


@pytest.mark.long
@pytest.mark.parametrize("prior", PRIORS)
def test_posterior_moments_are_those_of_quadrature_in_the_long_run(prior):
    particles = drawn(X, prior, 100_000)
    np.testing.assert_allclose(particles.A[:, :, 0].mean(axis=0), QUADRATURE[prior], atol=0.004)
    np.testing.assert_allclose(particles.W[:, 0, ::-1].mean(axis=0), QUADRATURE[prior], atol=0.004)
    if prior == "flat":
        np.testing.assert_allclose(particles.A[:, :, 0].std(axis=0), SPREAD, atol=0.004)


@pytest.mark.slow
def test_a_cell_that_was_not_seen_is_told_by_the_others():
    hidden = X.copy()
    hidden[1, 0] = np.nan
    particles = drawn(hidden, "flat", 32_000)
    assert_mean(particles.A[:, 0, 0], particles.chain, 0.83931245)
    assert_mean(particles.A[:, 1, 0], particles.chain, 0.75673916)
    assert_mean(particles.A[:, 1, 0] * particles.W[:, 0, 0], particles.chain, 0.57265506)


def test_no_draw_lies_on_the_border():
    """Clamping, in the place of truncation, puts 43 of 100 draws at exactly 1."""
    particles = drawn(X, "flat", 2000)
    assert particles.A.max() < 1 and particles.A.min() > 0


# The joint distribution of θ, σ² and X

D, N, R, DRAWS = 3, 4, 2, 2500
MASK = np.array([[1, 0, 1, 1], [0, 1, 1, 0], [1, 1, 0, 1]], dtype=bool)


def problems_of(X, prior, mask):
    """Stands in for a Problem where chain c has its own X[c]."""
    seen = None if mask.all() else mask.astype(float)
    X = X * mask
    return SimpleNamespace(
        dataset=SimpleNamespace(
            X=X,
            mask=mask,
            missing=int((~mask).sum()),
            observed=int(mask.sum()),
            squared_norm=(X**2).sum(axis=(1, 2)),
        ),
        seen=seen,
        model=boolean.MODEL,
        model_settings=boolean.Settings(prior, None),
        rank=R,
        times_rows=lambda W: W @ X.transpose(0, 2, 1),
        times_columns=lambda A: A @ X,
    )


def masked_errors(X, A, W, mask):
    return ((X - A @ W) ** 2 * mask).sum(axis=(1, 2))


def joint_p_values(prior, mask, monkeypatch, seed):
    """θ from its prior, X given θ, three sweeps given X: θ and σ² have their priors again."""
    monkeypatch.setattr(box_gibbs, "squared_errors", masked_errors)
    rng = np.random.default_rng(seed)
    shape = SimpleNamespace(
        dataset=SimpleNamespace(D=DRAWS * D, N=DRAWS * N),
        rank=R,
        model_settings=boolean.Settings(prior, None),
    )
    tall, wide = boolean.prior(shape, rng)
    A = tall.reshape(DRAWS, D, R)
    W = np.ascontiguousarray(wide.reshape(R, DRAWS, N).transpose(1, 0, 2))
    noise = boolean.NOISE
    variance = noise.scale / rng.gamma(noise.shape, size=DRAWS)
    X = A @ W + np.sqrt(variance)[:, None, None] * rng.standard_normal((DRAWS, D, N))
    problem = problems_of(X, prior, mask)
    A = np.ascontiguousarray(A.transpose(0, 2, 1))
    for _ in range(3):
        A, W, variance = box_gibbs.sweep(problem, A, W, variance, rng)
    own = np.linspace(0, 1, 2001)
    prior_density = {
        "flat": own,
        "normal": (stats.norm.cdf(own) - 0.5) / (stats.norm.cdf(1) - 0.5),
        "laplace": -np.expm1(-own / 2) / -np.expm1(-0.5),
        "beta": 2 / np.pi * np.arcsin(np.sqrt(own)),
    }[prior]

    def cdf(x):
        return np.interp(x, own, prior_density)

    mean = 1 - np.trapezoid(prior_density, own)
    square = 1 - 2 * np.trapezoid(own * prior_density, own)
    entries = np.concatenate([A.reshape(DRAWS, -1), W.reshape(DRAWS, -1)], axis=1)
    away = (entries.mean() - mean) / np.sqrt((square - mean**2) / entries.size)
    residual = (X - A.transpose(0, 2, 1) @ W)[:, mask] / np.sqrt(variance)[:, None]
    return [
        stats.kstest(A[:, 0, 0], cdf).pvalue,
        stats.kstest(A[:, 1, D - 1], cdf).pvalue,
        stats.kstest(W[:, 0, 0], cdf).pvalue,
        stats.kstest(W[:, 1, N - 1], cdf).pvalue,
        stats.kstest(A.max(axis=(1, 2)), lambda x: cdf(x) ** (R * D)).pvalue,
        2 * stats.norm.sf(abs(away)),
        stats.kstest(noise.scale / variance, stats.gamma(noise.shape).cdf).pvalue,
        stats.kstest((residual**2).sum(axis=1), stats.chi2(mask.sum()).cdf).pvalue,
    ]


@pytest.mark.slow
@pytest.mark.parametrize("mask", [np.ones((D, N), dtype=bool), MASK], ids=["whole", "gaps"])
@pytest.mark.parametrize("prior", PRIORS)
def test_sweeps_keep_the_joint_distribution(prior, mask, monkeypatch):
    p_values = joint_p_values(prior, mask, monkeypatch, seed=7)
    assert min(p_values) * len(p_values) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("laplace", {"laplace": boolean.PRIORS["flat"]}),
        ("normal", {"normal": boolean.PRIORS["flat"]}),
        ("beta", {"beta": boolean.PRIORS["flat"]}),
    ],
)
def test_the_same_test_notices_a_prior_that_is_left_out(name, wrong, monkeypatch):
    monkeypatch.setattr(boolean, "PRIORS", boolean.PRIORS | wrong)
    p_values = joint_p_values(name, np.ones((D, N), dtype=bool), monkeypatch, seed=8)
    assert min(p_values) * len(p_values) < 1e-4


def test_an_entry_that_no_cell_tells_of_is_drawn_from_its_prior():
    """Its tile is empty on the other side."""
    rng, F = np.random.default_rng(9), np.full((1, 4000), 0.3)
    C, G = np.zeros((1, 4000)), np.zeros((1, 1, 1))
    for _ in range(30):
        slice_factors(F, C, G, 100.0, rng)
    assert stats.kstest(F[0], stats.beta(0.5, 0.5).cdf).pvalue > 1e-4


# What it finds


@pytest.mark.slow
def test_tiles_are_found_from_random_starts_with_the_noise_level_unknown():
    data = boolean_tiles(128, 128, 5, IMPLIED_DENSITY * 8, rng=np.random.default_rng(10))
    settings = {"chains": 1, "warm_up": 60, "thinning": 1, "start": "prior"}
    particles = engine.run(data, RunSpec("box_gibbs", 5, "boolean", 60, 1, settings))
    C = boolean_product(data.truth[0].A, data.truth[0].W)
    found = boolean_product(particles.A.mean(axis=0) > 0.5, particles.W.mean(axis=0) > 0.5)
    assert (found != C).sum() <= 0.05 * C.sum()
    # The noise is that of flipped cells: its square is about their share.
    assert np.mean(particles.diagnostics["sigma"]) == pytest.approx(
        np.sqrt((data.X != C).mean()), rel=0.15
    )
