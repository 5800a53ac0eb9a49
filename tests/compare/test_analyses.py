"""Components of two analyses: planted answers, one that was replaced, and an unrelated null."""

import numpy as np
import pytest

from bnmf_core.compare.analyses import describe_match, match_analyses, match_table, scaled_otherwise
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.matching import shared_features

D, R = 200, 5
CALLED = [str(r + 1) for r in range(R)]


def planted(seed, columns=R):
    return np.random.default_rng(seed).gamma(0.3, 1.0, (D, columns))


def degrees(a, b):
    return np.degrees(np.arccos(a @ b / np.linalg.norm(a) / np.linalg.norm(b)))


def test_the_same_components_in_two_cohorts_are_all_found_in_any_order():
    A, order = planted(0), [3, 0, 4, 1, 2]
    noisy = A[:, order] * np.random.default_rng(1).uniform(0.95, 1.05, (D, R)) * [1, 9, 2, 7, 3]
    found = match_analyses(A[None], noisy[None])
    assert [order[s] for s in found.partner] == list(range(R)) and found.same.all()
    for r, s in enumerate(found.partner):
        assert found.matched[r] == pytest.approx(degrees(A[:, r], noisy[:, s]), abs=1e-6)
    said = describe_match(found, ("a", "b"), CALLED, CALLED)
    assert said == "5 of 5 components of a are found in b."


def test_one_that_was_replaced_has_no_counterpart_on_either_side():
    A = planted(2)
    B = A.copy()
    B[:, 2] = planted(3)[:, 0]
    found = match_analyses(A[None], B[None])
    assert found.same.tolist() == [True, True, False, True, True]
    near, back = (
        min(degrees(one[:, 2], other[:, s]) for s in range(R)) for one, other in ((A, B), (B, A))
    )
    assert describe_match(found, ("raw", "other"), CALLED, CALLED) == (
        "4 of 5 components of raw are found in other. Nothing within 15° in any mode of other: 3 "
        f"(nearest {near:.0f}°). Nothing within 15° in any mode of raw: 3 (nearest {back:.0f}°)."
    )


def test_a_component_that_another_mode_has_is_not_called_changed():
    A = planted(4)
    B = A.copy()
    B[:, 2] = planted(5)[:, 0]
    found = match_analyses(A[None], np.stack([B, A]))
    assert not found.same[2] and found.nearest[2] < 1e-6
    said = describe_match(found, ("a", "b"), CALLED, CALLED)
    assert "Only near another mode or component of b: component 3." in said
    turn = degrees(A[:, 2], B[:, 2])
    assert found.spread_back[2] == pytest.approx(turn, abs=1e-6) and found.spread.max() == 0
    assert f"its own modes up to {turn:.0f}° apart" in said


def test_unrelated_components_are_not_found():
    shares, features = [], []
    for seed in range(20):
        found = match_analyses(planted(100 + seed)[None], planted(200 + seed)[None])
        assert not found.same.any() and found.nearest.min() > 15
        shares.append(found.overlap.mean())
        features.append(found.chance)
    assert np.mean(shares) == pytest.approx(features[0], abs=0.01)


def test_numbers_of_components_may_differ():
    A = planted(6)
    found = match_analyses(A[None], A[None, :, [4, 1]])
    assert found.partner.tolist() == [-1, 1, -1, -1, 0]
    assert np.isnan(found.matched[0]) and found.same.tolist() == [False, True, False, False, True]
    names = [f"g{d}" for d in range(D)]
    table = match_table(found, ("a", "b"), CALLED, CALLED[:2], names)
    assert table["component of b"].tolist() == ["none", "2", "none", "none", "1"]
    assert table["shared strongest (Jaccard)"][1] == 1 and not table["strong in a alone"][1]
    strongest = [names[d] for d in np.argsort(-A[:, 0])[:5]]
    assert table["strong in a alone"][0] == ", ".join(strongest)
    with pytest.raises(DataError, match="200 and 199"):
        match_analyses(A[None], A[None, 1:])


def test_scalings_that_differ_are_told_from_cohorts_that_do():
    rng = np.random.default_rng(7)
    counts = rng.poisson(5.0, (D, 30)).astype(float)
    features = [f"g{d}" for d in range(D)]
    names = [f"s{n}" for n in range(30)]
    raw = Dataset.from_array(counts, features=features, observations=names)
    weighted = counts * rng.gamma(1.0, 1.0, (D, 1))
    other = Dataset.from_array(weighted, features=features, observations=names)
    cohort = Dataset.from_array(rng.poisson(5.0, (D, 9)), features=features)
    doubled = Dataset.from_array(2 * counts, features=features, observations=names)
    rooted = Dataset.from_array(weighted**0.5, features=features, observations=names)

    def why(one, two):
        return scaled_otherwise(one, two, shared_features(one, two))

    assert "whole numbers" in why(raw, other)
    assert "other values" in why(other, rooted)
    assert why(raw, cohort) == why(raw, doubled) == why(other, other) == ""
    found = match_analyses(planted(8)[None], planted(8)[None] * rng.gamma(1.0, 1.0, (D, 1)))
    said = describe_match(found, ("a", "b"), CALLED, CALLED, why(raw, other))
    pairs = [found.overlap[r, s] for r, s in enumerate(found.partner)]
    assert f"{min(pairs):.2f} to {max(pairs):.2f} (by chance 0.05)" in said
