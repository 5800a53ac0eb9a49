"""The study of topics: what is measured of factorizations, and what is said of it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from bnmf_core.compare.downstream import downstream_auc
from bnmf_core.compare.topics import top_words
from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.split import holdout_columns
from bnmf_core.runs import engine
from studies.result import StudyResult, full
from studies.topics import findings, measure, plan
from studies.topics.measure import TopicsPlan
from studies.topics.plan import TopicsStudy
from studies.topics.report import REPORT

FEW = TopicsPlan(repetitions=2, particles=3, iterations=2, rank=4, words=5)
TWO = ("q_transform", "random_restarts")


@pytest.fixture(scope="module")
def study():
    return TopicsStudy(FEW, TWO).make()


def test_auc_is_that_of_posts_which_neither_factorization_nor_classifier_saw(study):
    """The second repetition again, by hand."""
    posts = measure.posts()
    train, held_out = holdout_columns(posts.N, 0.1, 1, posts.labels["category"])
    made = engine.run(posts.columns(train), RunSpec("random_restarts", 4, "gaussian", 3, 1))
    expected = downstream_auc(made.A, posts, "category", held_out)
    found = findings.of_quantity(study, "auc").query("column == 'random_restarts'")
    found = found[found["repetition"] == 1].sort_values(["x", "problem"])
    expected = expected.sort_values(["particle", "task"])
    np.testing.assert_allclose(found["value"], expected["auc"], rtol=1e-4)
    errors = findings.of_quantity(study, "error").query("column == 'random_restarts'")
    np.testing.assert_allclose(errors[errors["repetition"] == 1]["value"], made.error, rtol=1e-4)


def test_words_are_those_of_aligned_components_and_terms_are_counted(study):
    posts = measure.posts()
    train, _ = holdout_columns(posts.N, 0.1, 0, posts.labels["category"])
    made = engine.run(posts.columns(train), RunSpec("q_transform", 4, "gaussian", 3, 0))
    first = top_words(made.A[0], posts.features, 5)
    shown = study.settings["side_by_side"]
    assert set(shown) == set(measure.TOPICS)
    share = made.A[0] / made.A[0].sum(axis=0)
    for key, topic in measure.TOPICS.items():
        component = share[list(posts.features).index(topic["word"])].argmax()
        assert shown[key][0] == first[component].tolist() and len(shown[key]) == 3
    counted = findings.of_quantity(study, "topics").query("problem == 'term space'")
    expected = [(top_words(A, posts.features, 5) == "space").any(axis=1).sum() for A in made.A]
    np.testing.assert_array_equal(counted[counted["repetition"] == 0]["value"], expected)


def test_factorizations_farthest_apart_stand_side_by_side():
    columns = np.array([[1.0, 0, 0], [0.9, 0.1, 0], [0, 1, 0], [0.1, 0.8, 0.1], [0, 0.1, 1]])
    assert measure._apart(columns) == [0, 2, 4]
    assert measure._apart(columns[:2]) == [0, 1]


def test_halves_agree_where_factorizations_differ_and_not_where_only_luck_does():
    rng = np.random.default_rng(0)
    members = np.eye(2, dtype=bool)[rng.integers(2, size=2000)]
    noise = rng.standard_normal((12, 2000, 2))
    skill = np.linspace(0, 1.5, 12)[:, None, None]
    assert measure._halves(skill * members + noise, members, 0).min() > 0.8
    assert abs(measure._halves(members + noise, members, 0)).max() < 0.8
    same = np.repeat(noise[:1], 12, axis=0)
    np.testing.assert_array_equal(measure._halves(same, members, 0), 0.0)


def made_up(repetitions=5, iterations=2000, halves=0.9) -> StudyResult:
    """Q-Transform's AUC is wide, HMC's narrow, SVGD's low and Q-SVGD's nearly as high."""
    levels = {
        "q_transform": (0.9, 0.04),
        "random_restarts": (0.9, 0.04),
        "nndsvdar": (0.9, 0.01),
        "gibbs": (0.9, 0.05),
        "hmc": (0.9, 0.01),
        "svgd": (0.6, 0.1),
        "q_svgd": (0.85, 0.1),
    }
    rows = []
    for column, (level, wide) in levels.items():
        for repetition in range(repetitions):
            for k, task in enumerate(("comp", "rec")):
                for m in range(4):
                    place = (task, column, repetition, m)
                    rows.append((*place, "auc", level + wide * (((m + k) % 4) / 3 - 0.5)))
                rows.append((task, column, repetition, 0, "halves", halves))
            rows += [("all", column, repetition, m, "error", 0.8 + 0.001 * m) for m in range(4)]
            rows.append(("all", column, repetition, 0, "seconds", 1.0))
    for key, changed in (("topics", 3.0), ("computers", 4.0), ("space", 0.5)):
        rows += [(key, "q_transform", n, 1, "changed", changed) for n in range(repetitions)]
    values = pd.DataFrame(rows, columns=[*plan.VARIED, "quantity", "value"])
    labels = {key: str(column["label"]) for key, column in measure.COLUMNS.items()}
    settings = {"iterations": iterations, "words": 15, "side_by_side": {}}
    return StudyResult(values, labels=labels, settings=settings)


def test_the_verdicts_follow_the_numbers():
    told = {claim.claim: claim for claim in findings.claims(made_up())}
    verdicts = [claim.verdict for claim in told.values()]
    # NNDSVDar alone is four times narrower; one of two topics changes by a word or more.
    assert verdicts == ["holds", "holds", "holds", "holds", "holds in part", "holds in part"]
    numbers = [claim.numbers for claim in told.values()]
    assert "AUC ranges: comp 0.040, rec 0.040" in numbers[0] and "0.90" in numbers[0]
    assert "in none of 5 repetitions" in numbers[1]
    assert "SVGD 0.600, Q-SVGD 0.850, Q-Transform 0.900" in numbers[2]
    assert "NNDSVDar 0.25, Gibbs 1.25, Random restarts 1.00" in numbers[4]


def test_nothing_is_said_of_descents_that_are_cut_short_nor_of_an_order_by_luck():
    verdicts = [claim.verdict for claim in findings.claims(made_up(5, 1000, 0.0))]
    assert verdicts[0] == "not shown"
    assert verdicts[2] == "unfinished: 1,000 of 2,000 iterations"


def test_fewer_than_five_repetitions_give_no_verdict():
    verdicts = {claim.verdict for claim in findings.claims(made_up(4))}
    assert verdicts == {"unfinished: 4 of at least 5 repetitions"}


def test_tables_and_figures_are_whole(study):
    (section,) = REPORT.sections(study, ())
    for table in section["tables"]:
        assert table["rows"] and all(len(row) == len(table["columns"]) for row in table["rows"])
    assert list(REPORT.figures(study)) == [
        "figure_28_comp.svg",
        "figure_28_rec.svg",
        "figure_28_sci.svg",
        "figure_28_talk.svg",
        "figure_6.svg",
    ]


def test_an_interrupted_study_goes_on_where_it_stopped(goes_on):
    goes_on(TopicsStudy(FEW, TWO), measure, "measured", 1, 4)


def test_a_stored_result_holds_its_cells(study):
    more = TopicsStudy(replace(FEW, repetitions=3), TWO)
    found = more.cells_in(study)
    assert set(found) == {(column, n) for column in TWO for n in range(2)}
    again = more.result(found)
    order = [*plan.VARIED, "quantity"]
    pd.testing.assert_frame_equal(
        *(one.values.sort_values(order, ignore_index=True) for one in (again, study))
    )
    assert again.settings["side_by_side"] == study.settings["side_by_side"]
    assert TopicsStudy(replace(FEW, particles=4), TWO).cells_in(study) == {}


def test_what_makes_no_sense_is_refused():
    with pytest.raises(NotFoundError, match="no algorithm 'magic'; there are q_transform"):
        TopicsStudy(FEW, ("magic",)).make()
    with pytest.raises(SettingsError, match="A study needs a repetition"):
        TopicsStudy(replace(FEW, particles=1)).make()


def test_the_stored_study_is_whole():
    stored = full("topics")
    assert stored is not None
    assert stored.values["repetition"].nunique() == stored.settings["repetitions"] == 5
    assert set(stored.values["column"]) == set(measure.COLUMNS)
    assert len(findings.claims(stored)) == 6
