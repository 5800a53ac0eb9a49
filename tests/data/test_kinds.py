"""What the numbers of X are is told from the numbers alone."""

import numpy as np
import pytest
from scipy import sparse

from bnmf_core import Dataset, laurberg, load_sample
from bnmf_core.data.kinds import Kind, numbers_of, outstanding

RNG = np.random.default_rng(0)
COUNTS = RNG.poisson(RNG.gamma(0.5, 2, (200, 4)) @ RNG.gamma(1, 4, (4, 60))).astype(float)
PARTS = COUNTS / COUNTS.sum(axis=0)
FACTORS = RNG.uniform(0.5, 2, 60)
RATINGS = RNG.choice([0.0, 2, 3, 4, 5], (30, 40), p=[0.8, 0.02, 0.05, 0.08, 0.05])


def kind(X, **words) -> Kind:
    return numbers_of(Dataset.from_array(X, **words)).kind


@pytest.mark.parametrize(
    "X", [COUNTS, RNG.poisson(0.3, (40, 50)), RNG.poisson(3, (8, 10)), sparse.csc_array(COUNTS)]
)
def test_whole_numbers_are_counts(X):
    assert kind(X) is Kind.COUNTS


@pytest.mark.parametrize(
    ("X", "words"),
    [
        (COUNTS > 2, {}),
        (RNG.integers(1, 6, (30, 40)), {}),
        (RATINGS, {}),
        (RNG.integers(0, 256, (25, 40)), {"image_shape": (5, 5)}),
        (RNG.integers(0, 256, (9, 25)), {"map_shape": (5, 5)}),
        (COUNTS, {"unit": "expression level"}),
    ],
    ids=["yes or no", "ratings", "ratings with gaps", "image", "map", "unit"],
)
def test_other_whole_numbers_are_none(X, words):
    assert kind(X, **words) is Kind.OTHER


@pytest.mark.parametrize("total", [1.0, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("exact", [np.float64, np.float32])
def test_parts_of_a_whole_are_scaled_counts(total, exact):
    found = numbers_of(Dataset.from_array((total * PARTS).astype(exact)))
    assert found.kind is Kind.SCALED and f"sum to {total:,.0f}" in found.reason
    assert "load the table" in found.advice


@pytest.mark.parametrize(
    "X",
    [
        COUNTS / FACTORS,
        (COUNTS / FACTORS).round(4),
        1e6 * PARTS[:100],
        (1e6 * PARTS[:100]).round(2),
        sparse.csc_array(COUNTS / FACTORS),
        np.where(RNG.random(COUNTS.shape) < 0.02, np.nan, 1e6 * PARTS),
    ],
    ids=["size factors", "rounded", "some rows", "some rows, rounded", "sparse", "gaps"],
)
def test_multiples_of_a_factor_of_each_column_are_scaled_counts(X):
    assert kind(X) is Kind.SCALED


@pytest.mark.parametrize(
    "X",
    [
        np.log1p(COUNTS),
        np.log1p(COUNTS).round(3),
        np.log2(1 + COUNTS),
        np.log10(1 + COUNTS),
        np.log1p(1e4 * PARTS).astype(np.float32),
        np.log2(1 + 1e6 * PARTS[:80]),
        sparse.csc_array(np.log1p(1e4 * PARTS)),
    ],
    ids=["ln", "rounded", "log2", "log10", "of parts", "of some parts", "sparse"],
)
def test_logarithms_of_counts_are_found_scaled_or_not(X):
    assert kind(X) is Kind.LOGARITHMS


@pytest.mark.parametrize("digits", [1, 2, 3, 12])
@pytest.mark.parametrize("D", [4, 50])
def test_measurements_are_none_however_rounded(digits, D):
    for seed in range(20):
        rng = np.random.default_rng(seed)
        assert kind((8 * rng.random((D, 60))).round(digits)) is Kind.OTHER
        assert kind(rng.exponential(1.0, (D, 60)).round(digits)) is Kind.OTHER


@pytest.mark.parametrize("noise", [1e-3, 1e-4])
def test_whole_multiples_with_noise_are_none(noise):
    """Noise that is larger than what numbers are rounded by tells that they are no counts."""
    data = laurberg("two", noise=noise, rng=np.random.default_rng(0))
    assert numbers_of(data).kind is Kind.OTHER


def test_fractions_of_one_unit_are_measurements():
    for unit in (2, 4, 8):
        assert kind(RNG.integers(0, 50, (30, 40)) / unit) is Kind.OTHER


@pytest.mark.parametrize(
    ("sample", "expected"),
    [
        ("newsgroups", Kind.COUNTS),
        ("signatures", Kind.COUNTS),
        ("leukemia", Kind.OTHER),
        ("digits", Kind.OTHER),
        ("ink", Kind.OTHER),
    ],
)
def test_samples_are_what_they_are(sample, expected):
    assert numbers_of(load_sample(sample)).kind is expected


@pytest.mark.parametrize("form", [np.asarray, sparse.csc_array, sparse.csr_array])
def test_few_entries_that_hold_nearly_all_counts_are_named(form):
    X = np.random.default_rng(0).poisson(2.0, (6, 8)).astype(float)
    names = {"features": list("abcdef"), "observations": [f"o{n}" for n in range(8)]}
    assert not outstanding(Dataset.from_array(form(X), **names))
    X[1, 3], X[4, 0] = 9000.0, 8000.0
    data = Dataset.from_array(form(X), **names)
    assert outstanding(data) == [(1, 3), (4, 0)]
    assert numbers_of(data).advice.startswith("2 entries hold 99.4 % of all counts (b, o3; e, o0)")
