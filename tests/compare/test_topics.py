"""Top words and their relevance, against hand-made topics and the formula's limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from bnmf_core.compare.topics import (
    RELEVANCE,
    aligned_words,
    attributed,
    key_term_counts,
    relevance_scores,
    top_indices,
    top_words,
    topic_names,
)
from bnmf_core.core.errors import DataError, NotFoundError, SettingsError
from tests.generated import always

WORDS = ("the", "ball", "goal", "vote", "party")
# Columns: sport, politics. "the" is the most probable word of both.
TOPICS = np.array([[6.0, 5.0], [3.0, 0.0], [1.0, 0.5], [0.0, 4.0], [0.0, 2.0]])
generated = always(30)


def test_words_by_hand():
    assert top_words(TOPICS, WORDS, 2).tolist() == [["the", "ball"], ["the", "vote"]]
    background = [11, 3, 1.5, 4, 3]  # "party" is used by others too
    assert top_words(TOPICS, WORDS, 1, 0.0, background).tolist() == [["ball"], ["vote"]]


def test_a_topic_is_called_by_the_first_words_of_its_list():
    listed = aligned_words(TOPICS[None], WORDS, 10, RELEVANCE).groupby("component")["word"]
    assert topic_names(TOPICS, WORDS) == [", ".join(words[:2]) for _, words in listed]
    assert topic_names(TOPICS, WORDS) == ["the, ball", "vote, the"]
    assert topic_names(np.array([[1.0, 0], [0, 0]]), ("a", "b")) == ["a", ""]


@pytest.mark.parametrize("kept", [np.asarray, sparse.csc_array])
def test_words_are_divided_among_topics_as_loops_divide_them(kept):
    rng = np.random.default_rng(1)
    A, W, X = rng.random((5, 3)), rng.random((3, 7)), rng.poisson(2.0, (5, 7))
    A[2] = 0.0  # a word that the fit says nothing of
    expected = np.zeros((5, 3))
    for d in (0, 1, 3, 4):
        for n in range(7):
            for r in range(3):
                expected[d, r] += X[d, n] * A[d, r] * W[r, n] / sum(A[d] * W[:, n])
    found = attributed(A, W, kept(X), np.array([4, 2, 0]))
    np.testing.assert_allclose(found, expected[[4, 2, 0]])
    np.testing.assert_allclose(found.sum(axis=1), [X[4].sum(), 0, X[0].sum()])


def test_unused_words_are_not_listed():
    assert top_words(TOPICS, WORDS, 4)[0].tolist() == ["the", "ball", "goal", ""]
    assert top_indices(TOPICS, 9).shape == (2, 5)
    assert (top_indices(np.zeros((5, 2)), 3) == -1).all()


@given(seed=st.integers(0, 10_000))
@generated
def test_limits_of_the_relevance(seed):
    rng = np.random.default_rng(seed)
    A, background = rng.gamma(0.5, size=(3, 20, 4)) + 1e-9, rng.random(20) + 0.01
    probability = A / A.sum(axis=1, keepdims=True)
    ranked = np.argsort(-probability, axis=1)[:, :6].swapaxes(1, 2)
    np.testing.assert_array_equal(top_indices(A, 6, 1.0, background), ranked)
    lift = probability / (background / background.sum())[:, None]
    ranked = np.argsort(-lift, axis=1)[:, :6].swapaxes(1, 2)
    np.testing.assert_array_equal(top_indices(A, 6, 0.0, background), ranked)
    expected = 0.3 * np.log(probability) + 0.7 * np.log(lift)
    np.testing.assert_allclose(relevance_scores(A, 0.3, background), expected, atol=1e-12)
    np.testing.assert_allclose(relevance_scores(A * 7.0, 0.3, background), expected, atol=1e-12)


def test_the_default_background_is_the_average_topic():
    average = (TOPICS / TOPICS.sum(axis=0)).mean(axis=1)
    np.testing.assert_allclose(
        relevance_scores(TOPICS, 0.5), relevance_scores(TOPICS, 0.5, average)
    )


def test_a_word_that_never_occurs_is_never_relevant():
    background = np.array([1.0, 0.0, 1.0, 1.0, 1.0])
    assert relevance_scores(TOPICS, 0.5, background)[1, 0] == -np.inf


def test_aligned_words_mark_what_changed():
    other = TOPICS.copy()
    other[:, 0] = [6.0, 0.0, 3.0, 0.0, 1.0]
    table = aligned_words(np.stack([TOPICS, other]), WORDS, count=2)
    assert table.columns.tolist() == [
        "factorization",
        "component",
        "rank",
        "word",
        "probability",
        "score",
        "changed",
    ]
    rows = table[["factorization", "component", "rank", "word", "changed"]].to_numpy().tolist()
    assert rows == [
        [0, 0, 1, "the", False],
        [0, 0, 2, "ball", False],
        [0, 1, 1, "the", False],
        [0, 1, 2, "vote", False],
        [1, 0, 1, "the", False],
        [1, 0, 2, "goal", True],
        [1, 1, 1, "the", False],
        [1, 1, 2, "vote", False],
    ]
    np.testing.assert_allclose(table["score"][1], np.log(0.3))


def test_aligned_words_leave_out_empty_places():
    table = aligned_words(TOPICS[None], WORDS, count=5)
    assert table["word"].tolist() == ["the", "ball", "goal", "the", "vote", "party", "goal"]


def test_key_terms_are_counted_over_components():
    other = TOPICS[:, ::-1] * 3
    found = key_term_counts(np.stack([TOPICS, other]), WORDS, ["the", "party", "vote"], count=2)
    assert found.tolist() == [[2, 0, 1], [2, 0, 1]]
    assert key_term_counts(TOPICS[None], WORDS, []).shape == (1, 0)


def test_what_cannot_be_listed_is_said():
    with pytest.raises(NotFoundError, match="'party'"):
        key_term_counts(TOPICS[None], WORDS, ["partys"])
    with pytest.raises(NotFoundError, match=r"no feature called 'xyz'\.$"):
        key_term_counts(TOPICS[None], WORDS, ["xyz"])
    with pytest.raises(SettingsError, match="between 0 and 1"):
        top_indices(TOPICS, 2, relevance=1.5)
    with pytest.raises(SettingsError, match="at least 1"):
        top_indices(TOPICS, 0)
    with pytest.raises(DataError, match="5 frequencies"):
        top_indices(TOPICS, 2, 0.5, background=np.ones(3))
    with pytest.raises(DataError, match="feature names"):
        top_words(TOPICS, WORDS[:3])


def test_words_have_their_probability_within_the_component():
    A = np.array([[[6.0, 0.0], [2.0, 1.0], [0.0, 3.0]]])
    table = aligned_words(A, ["moon", "and", "goal"], count=3, relevance=0.4)
    told = {(row.component, row.word): row.probability for row in table.itertuples()}
    assert told == pytest.approx(
        {(0, "moon"): 0.75, (0, "and"): 0.25, (1, "goal"): 0.75, (1, "and"): 0.25}
    )
