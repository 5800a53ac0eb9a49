"""Generated problems: their known factorizations hold exactly, and stay apart."""

import itertools

import numpy as np
import pytest

from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.core.settings import build, declarations
from bnmf_core.data.synthetic import (
    CHANGE_OF_BASIS,
    GENERATORS,
    infinite_solution,
    laurberg,
    low_rank,
)


def residual(X, truth):
    return np.abs(X - truth.A @ truth.W).max()


def largest_angle(A, B):
    """Largest angle in degrees between columns, matched so that the mean angle is smallest."""
    A, B = A / np.linalg.norm(A, axis=0), B / np.linalg.norm(B, axis=0)
    # Half the angle from chords: accurate where the arc cosine is not.
    chords = np.linalg.norm(A[:, :, None] - B[:, None, :], axis=0)
    sums = np.linalg.norm(A[:, :, None] + B[:, None, :], axis=0)
    angles = np.degrees(2 * np.arctan2(chords, sums))
    R = A.shape[1]
    best = min(itertools.permutations(range(R)), key=lambda p: angles[np.arange(R), list(p)].mean())
    return angles[np.arange(R), list(best)].max()


def test_two_solutions_are_exact_and_related_by_an_involution():
    dataset = laurberg("two")
    first, second = dataset.truth
    assert residual(dataset.X, first) == 0.0
    assert residual(dataset.X, second) <= 1e-15
    np.testing.assert_allclose(CHANGE_OF_BASIS @ CHANGE_OF_BASIS, np.eye(3), atol=1e-15)
    np.testing.assert_allclose(first.A @ CHANGE_OF_BASIS, second.A, atol=1e-15)
    np.testing.assert_allclose(CHANGE_OF_BASIS @ first.W, second.W, atol=1e-15)
    assert min(second.A.min(), second.W.min()) >= 0.0


def test_the_two_solutions_are_a_published_angle_apart():
    first, second = laurberg("two").truth
    expected = np.degrees(np.arccos(0.8))  # 36.8699
    assert largest_angle(first.A, second.A) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("delta", [0.0, 0.1, 1 / 3, 0.5, 0.9, 1.0])
def test_every_delta_gives_the_same_matrix(delta):
    dataset = laurberg("infinite")
    A, W = infinite_solution(delta)
    np.testing.assert_allclose(A @ W, dataset.X, atol=1e-15)
    assert min(A.min(), W.min()) >= 0.0
    assert np.linalg.matrix_rank(A) == 6


def test_the_infinite_problem_has_rank_five_and_its_ends_are_45_degrees_apart():
    dataset = laurberg("infinite")
    assert dataset.X.shape == (7, 9)
    assert np.linalg.matrix_rank(dataset.X) == 5
    assert [known.name for known in dataset.truth] == [
        "δ = 0",
        "δ = 0.25",
        "δ = 0.5",
        "δ = 0.75",
        "δ = 1",
    ]
    assert all(residual(dataset.X, known) <= 1e-15 for known in dataset.truth)
    angle = largest_angle(dataset.truth[0].A, dataset.truth[-1].A)
    assert angle == pytest.approx(45.0, abs=1e-10)


def test_one_solution_is_the_published_matrix():
    dataset = laurberg("unique")
    (known,) = dataset.truth
    np.testing.assert_array_equal(known.A, known.W.T)
    np.testing.assert_array_equal(known.W[0], [0.3, 1, 1, 0.3, 0, 0])
    assert residual(dataset.X, known) == 0.0
    assert np.linalg.matrix_rank(dataset.X) == 3


def test_the_number_a_can_be_replaced_within_what_the_kind_promises():
    assert laurberg("unique", a=0.49).truth[0].W[0, 0] == 0.49
    continuum = laurberg("two", a=0.6)
    assert len(continuum.truth) == 2
    assert all(residual(continuum.X, known) < 1e-15 for known in continuum.truth)
    for kind, a in (("unique", 0.5), ("unique", -0.1), ("two", 0.3), ("two", 1.5)):
        with pytest.raises(SettingsError, match="a was"):
            laurberg(kind, a=a)
    with pytest.raises(SettingsError, match="no number a"):
        laurberg("infinite", a=0.3)


@pytest.mark.parametrize("embedding", ["dense", "identity"])
@pytest.mark.parametrize("kind", ["unique", "two", "infinite"])
def test_embedded_factorizations_stay_exact(kind, embedding):
    dataset = laurberg(kind, embed=(50, 40), embedding=embedding)
    assert dataset.X.shape == (50, 40)
    for known in dataset.truth:
        assert residual(dataset.X, known) < 1e-13 * dataset.X.max()
        assert min(known.A.min(), known.W.min()) >= 0.0


def test_an_identity_embedding_keeps_the_small_problem_visible():
    small = laurberg("two")
    large = laurberg("two", embed=(30, 20), embedding="identity")
    np.testing.assert_allclose(large.X[:6, :6], small.X, atol=1e-15)
    np.testing.assert_array_equal(large.truth[0].A[:6], small.truth[0].A)
    np.testing.assert_array_equal(large.truth[1].W[:, :6], small.truth[1].W)


def test_a_dense_embedding_brings_the_solutions_as_near_as_published():
    angles = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        dataset = laurberg("two", embed=(500, 50), rng=rng)
        angles.append(largest_angle(dataset.truth[0].A, dataset.truth[1].A))
    # Table 7 of the paper: 10.78 degrees.
    assert np.mean(angles) == pytest.approx(10.78, abs=0.5)


def test_noise_has_its_standard_deviation_and_no_entry_is_negative():
    clean = laurberg("unique", embed=(200, 200))
    noisy = laurberg("unique", noise=0.05, embed=(200, 200))
    far_from_zero = clean.X > 0.5
    spread = (noisy.X - clean.X)[far_from_zero].std()
    assert spread == pytest.approx(0.05, rel=0.03)
    assert laurberg("unique", noise=5.0).X.min() == 0.0


def test_randomness_comes_from_the_generator_only():
    def noisy(seed):
        rng = None if seed is None else np.random.default_rng(seed)
        return laurberg("two", noise=0.1, rng=rng).hash

    assert noisy(None) == noisy(0) != noisy(1)


def test_low_rank_is_exact_sparse_and_without_empty_parts():
    dataset = low_rank(40, 60, 5, sparsity=0.8)
    (known,) = dataset.truth
    assert residual(dataset.X, known) == 0.0
    assert np.linalg.matrix_rank(dataset.X) == 5
    assert (known.A == 0).mean() == pytest.approx(0.8, abs=0.1)
    for factor in (known.A, known.W):
        assert factor.any(axis=0).all() and factor.any(axis=1).all()


def test_values_out_of_range_are_named():
    with pytest.raises(NotFoundError, match="unique, two, infinite"):
        laurberg("three")
    for call, words in (
        (lambda: laurberg("two", noise=-1.0), "noise was -1"),
        (lambda: laurberg("two", noise=np.nan), "noise was nan"),
        (lambda: laurberg("two", embed=(5, 50)), "at least 6 features"),
        (lambda: laurberg("two", embed=(10**5, 10**5)), "entries"),
        (lambda: laurberg("two", embed=(9, 9), embedding="sparse"), "dense, identity"),
        (lambda: infinite_solution(1.1), "0 to 1"),
        (lambda: low_rank(1, 5, 1), "number of features was 1"),
        (lambda: low_rank(5, 5, 0), "rank was 0"),
        (lambda: low_rank(5, 5, 2, sparsity=1.0), "sparsity"),
    ):
        with pytest.raises(SettingsError, match=words):
            call()


@pytest.mark.parametrize("key", GENERATORS)
def test_every_generator_works_from_its_declared_defaults(key):
    generator = GENERATORS[key]
    assert generator.key == key
    settings = build(generator.Settings, {}, generator.label)
    dataset = generator.make(settings, np.random.default_rng(0))
    if key == "boolean_tiles":  # its known factors make X by the Boolean product, see test_tiles
        return
    assert all(residual(dataset.X, known) < 1e-14 * dataset.X.max() for known in dataset.truth)


@pytest.mark.parametrize("key", [key for key in GENERATORS if key.startswith("laurberg")])
def test_generators_pass_their_settings_on(key):
    generator = GENERATORS[key]
    values = {"embed_features": 20, "embedding": "identity", "noise": 0.01}
    settings = build(generator.Settings, values, generator.label)
    made = generator.make(settings, np.random.default_rng(3))
    kind = key.removeprefix("laurberg_")
    small = laurberg(kind)
    direct = laurberg(kind, None, 0.01, (20, small.N), "identity", rng=np.random.default_rng(3))
    assert made.hash == direct.hash


@pytest.mark.parametrize("key", ["laurberg_unique", "laurberg_two"])
def test_the_ends_of_a_declared_range_are_accepted(key):
    generator = GENERATORS[key]
    declared = declarations(generator.Settings)["a"][1]
    for a in (declared.minimum, declared.maximum):
        settings = build(generator.Settings, {"a": a}, generator.label)
        known = generator.make(settings, np.random.default_rng(0)).truth[0]
        assert known.W[0, 0] == a
