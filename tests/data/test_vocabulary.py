"""Vocabularies changed afterwards: from texts as scikit-learn counts, without them by rows."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer

from bnmf_core import Dataset
from bnmf_core.core.errors import SettingsError
from bnmf_core.data.vocabulary import Rule, document_counts, recounted, retained_words

RNG = np.random.default_rng(3)
WORDS = np.array([f"word{d}" for d in range(40)])
TEXTS = [
    " ".join(RNG.choice(WORDS, 12, p=np.arange(1, 41) / 820)) + " Über a an" for _ in range(25)
]
LABELS = np.arange(25) % 3
RULES = [
    Rule(),
    Rule(frozenset({"word39", "über"}), 3, 0.6, 10),
    Rule(fewest=4, largest=0.3),
    Rule(most=7),
]


def by_sklearn(rule, kind=CountVectorizer, **further):
    found = kind(
        stop_words=list(rule.stop_words),
        min_df=rule.fewest,
        max_df=rule.largest,
        max_features=rule.most,
        **further,
    )
    return found.fit_transform(TEXTS).T.toarray(), tuple(found.get_feature_names_out())


def made(X, features, texts=TEXTS):
    return Dataset.from_array(
        X, features=features, features_are="words", labels=LABELS, texts=texts, name="Some"
    )


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(
    ("kind", "further"),
    [(CountVectorizer, {}), (CountVectorizer, {"binary": True}), (TfidfVectorizer, {})],
)
def test_texts_are_counted_again_with_the_weighting_that_there_was(rule, kind, further):
    before = made(*by_sklearn(Rule(most=5), kind, **further))
    X, words = by_sklearn(rule, kind, **further)
    found = recounted(before, rule)
    assert found.features == words and found.name == f"Some ({len(words)} words)"
    np.testing.assert_allclose(found.dense(), X)
    assert retained_words(document_counts(before), before.N, rule) == len(words)
    assert tuple(found.texts) == tuple(TEXTS) and found.labels["label"].tolist() == [
        str(one) for one in LABELS
    ]
    assert len(before.features) == 5


@pytest.mark.parametrize("rule", RULES)
def test_without_texts_rows_are_dropped(rule):
    X, words = by_sklearn(Rule())
    found = recounted(made(X, words, None), rule)
    expected, kept = by_sklearn(rule)
    assert found.features == kept and found.texts is None
    np.testing.assert_array_equal(found.dense(), expected)


def test_gaps_stay_where_they_are():
    X, words = by_sklearn(Rule())
    mask = RNG.random(X.shape) < 0.9
    before = Dataset.from_array(X, features=words, mask=mask, features_are="words")
    found = recounted(before, Rule(most=6))
    rows = [words.index(word) for word in found.features]
    np.testing.assert_array_equal(found.mask, mask[rows])


def test_a_rule_that_keeps_nothing_is_refused():
    data = made(*by_sklearn(Rule()))
    with pytest.raises(SettingsError, match="No word stays"):
        recounted(data, Rule(fewest=20, largest=0.1))
    with pytest.raises(SettingsError, match="a part above 0"):
        Rule(largest=0.0)
