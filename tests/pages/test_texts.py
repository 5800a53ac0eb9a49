"""Pages of texts: names, term bars, coherence, marked texts, classes, dates and vocabularies."""

import re

import numpy as np
import pytest

from bnmf_core import Dataset, coherence
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.compare.samples import sample_shares
from bnmf_core.compare.topics import RELEVANCE, top_words
from bnmf_core.data.foreign import Foreign
from bnmf_core.runs.foreign import bring
from pages.frame.words import JOINER
from pages.samples_parts.texts import marked
from tests.pages.apps import page, table_with, words

WORDS = ("moon", "orbit", "star", "goal", "team", "match", "vote", "law", "party", "the")
HOSTILE = "moon orbit star <b>moon</b> [goal](javascript:alert) :red[team] www.evil.com $x$"


def texts_and_counts():
    rng = np.random.default_rng(4)
    A = np.full((10, 3), 0.02)
    for r in range(3):
        A[3 * r : 3 * r + 3, r] = 3, 2, 1
    A[9] = 1.0
    W = rng.gamma(0.3, 8.0, (3, 60)) + 0.1
    W[:, 0] = 40, 0.1, 0.1
    X = rng.poisson(A @ W)
    X[0] += 1
    texts = [" ".join(np.repeat(WORDS, X[:, n])) for n in range(60)]
    texts[0] = HOSTILE
    labels = {"kind": np.array(["space", "sport", "state"])[W.argmax(axis=0)]}
    # The first component grows from year to year.
    labels["year"] = [str(2000 + place // 20) for place in W[0].argsort().argsort()]
    return A, W, X, texts, labels


def made(server, **changed):
    """A run of two bases of texts, the second with two components of the first mixed; its id."""
    A, W, X, texts, labels = texts_and_counts()
    arguments = {"features_are": "words", "texts": texts} | changed
    data = Dataset.from_array(X, features=WORDS, labels=labels, name="News", **arguments)
    server.store.add_dataset(data)
    mixed = A.copy()
    mixed[:, 1] += 2 * A[:, 2]
    (run_id,) = bring(server.store, data, [Foreign("fit 0", A, W), Foreign("fit 1", mixed, W)])
    server.wait_analysis([run_id], "structure")
    return run_id


@pytest.fixture
def texts(server):
    return made(server)


def first_factors(server, run_id):
    comparison = open_comparison(server.store, [run_id])
    A, W = comparison.aligned_factors([0])
    return comparison.dataset, A[0], W[0]


def test_topics_are_called_by_the_first_words_of_their_lists(texts):
    app = page("components", runs=texts)
    assert not app.exception
    tables = [one.value for one in app.markdown if one.value.startswith("| Component")]
    for table in tables:
        called = re.search(r"Component \d \((.+?)\)", table)[1]
        listed = re.findall(r"^\| :small.*\| (.+) \|$", table, re.MULTILINE)[0]
        assert called == ", ".join(listed.split(" · ")[:2])
    assert len(tables) == 3 and "Names of topics are the first words at 0.6" in words(app)
    choices = next(box for box in app.selectbox if box.label == "Component").options
    assert any("(moon, orbit)" in choice for choice in choices)


def test_a_name_of_the_users_own_wins(server, texts):
    dataset, A, _ = first_factors(server, texts)
    server.store.notes.keep(dataset.hash, "component", A[:, 1], "my topic", "")
    shown = words(page("components", runs=texts))
    assert "2 (my topic)" in shown and "1 (my topic)" not in shown


def charts(app):
    return {
        re.search(r"\$\$ID-\w+-chart_(\w+)", chart.proto.id)[1]: chart.proto
        for chart in app.get("plotly_chart")
    }


def test_the_mean_npmi_is_that_of_the_words_shown(server, texts):
    app = page("components", runs=texts)
    dataset, A, _ = first_factors(server, texts)
    listed = top_words(A, WORDS, 10, RELEVANCE)
    found = [
        coherence(np.array([WORDS.index(word) for word in row if word]), dataset.X)
        for row in listed
    ]
    assert f"the mean NPMI of its topics is {np.mean(found):.2f}, from {min(found):.2f}" in words(
        app
    )
    table = table_with(app, "factorization", "mean")
    assert table["mean"][0] == pytest.approx(np.mean(found), abs=1e-3)


def test_shares_by_class_and_over_time_are_those_of_the_weights(server, texts):
    app = page("samples", runs=texts, label="kind")
    assert not app.exception
    dataset, A, W = first_factors(server, texts)
    shares, kinds = sample_shares(A, W), dataset.labels["kind"]
    best = max(
        (shares[r, kinds == kind].mean() - shares[r, kinds != kind].mean(), r, kind)
        for r in range(3)
        for kind in set(kinds)
    )
    _, r, kind = best
    inside, outside = shares[r, kinds == kind].mean(), shares[r, kinds != kind].mean()
    shown = words(app)
    said = f"is most typical of {kind}: its mean share is {100 * inside:.0f} % in these "
    assert f"{said}{(kinds == kind).sum()} observations" in shown
    assert f"Component {r + 1} (" in shown
    assert f"{100 * outside:.0f} % elsewhere" in shown or outside < 0.1
    years = dataset.labels["year"]
    means = np.array([shares[:, years == year].mean(axis=1) for year in sorted(set(years))])
    q = np.ptp(means, axis=0).argmax()
    low, high = sorted((means[:, q].argmin(), means[:, q].argmax()))
    told = re.search(r"Component (\d) \([^)]*\) changes most, from (\S+) % .*? to (\S+) % ", shown)
    assert int(told[1]) == q + 1
    assert float(told[2]) == pytest.approx(100 * means[low, q], abs=0.5)
    assert float(told[3]) == pytest.approx(100 * means[high, q], abs=0.5)


def test_texts_with_the_largest_shares_have_their_words_marked(texts):
    app = page("samples", runs=texts)
    (shown,) = (one.value for one in app.markdown if ":orange-background[" in one.value)
    blocks = shown.split("\n\n")
    assert len(blocks) == 10 and ":orange-background[moon]" in blocks[0]
    shares = [float(re.match(r"\*\*\D*([\d.]+) %", block)[1]) for block in blocks]
    assert shares == sorted(shares, reverse=True)


def test_nothing_in_a_text_is_markup():
    found = marked([("www", True), (".evil.com [x](", False), ("moon", True), ("{a=b}", False)])
    assert f":orange-background[www]{JOINER}" in found and "\\[x\\](" in found
    assert f"[moon]{JOINER}{{a=b}}" in found and marked([("<b>*x*", False)]) == "\\<b\\>\\*x\\*"


def test_without_texts_words_of_documents_are_marked(server):
    app = page("samples", runs=made(server, texts=None))
    assert "by their most frequent words" in words(app)
    assert any(":orange-background[moon]" in one.value for one in app.markdown)


def test_features_that_are_no_words_have_neither_texts_nor_bars(server):
    run_id = made(server, features_are="genes")
    shown = [fold.label for fold in page("samples", runs=run_id).expander]
    assert "10 texts of one topic" not in shown and "Components by kind" in shown
    shown = [fold.label for fold in page("components", runs=run_id).expander]
    assert "Words of one topic" not in shown and "Coherence of the topics" not in shown


def test_words_are_chosen_anew_on_data(server, texts):
    (dataset_id,) = server.store.datasets()
    app = page("data", data=dataset_id)
    app.text_area(key=f"stop_words_{dataset_id}").set_value("The goal").run()
    app.number_input(key=f"largest_{dataset_id}").set_value(100.0).run()
    expected = {
        word
        for text in texts_and_counts()[3]
        for word in re.findall(r"\b\w\w+\b", text)
        if sum(word in re.findall(r"\w+", other) for other in texts_and_counts()[3]) > 1
    } - {"the", "goal"}
    assert f"{len(expected)} of " in words(app)
    app.button(key="vocabulary_go").click().run()
    assert not app.exception and not app.error
    new, old = server.store.dataset_entries()
    assert old.id == dataset_id and new.D == len(expected)
    # The next choice begins with this one; nothing is cut off by how many there were.
    app.run()
    assert app.text_area(key=f"stop_words_{new.id}").value == "The goal"
    assert app.number_input(key=f"largest_{new.id}").value == 100.0
    assert f"{new.D} of " in words(app) and f"now there are {new.D}." in words(app)
    assert set(server.store.dataset(new.id).features) == expected
