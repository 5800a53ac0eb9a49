"""The study of counts: what is planted, how topics and signatures are measured, what is said."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.io import mmwrite

from bnmf_core.core.errors import SettingsError
from bnmf_core.data.channels import channels
from bnmf_core.evidence.variation import variation
from studies.counts import findings, planted, shapes, signatures, topics
from studies.counts.plan import SHORT, VARIED, CountsPlan, CountsStudy
from studies.counts.planted import GRADES, Planted
from studies.counts.report import REPORT
from studies.counts.topics import CORPORA, Topics
from studies.result import StudyResult, full, values_of

PLANTED = Planted(counts=2000.0, ratio=3.0, around=1, weighed=1, compared=0, seed=0)
FEW = Topics(terms=12, documents=80, restarts=3, words=3, few=10, few_rank=1, seed=0)
OPEN, LEANING, CLEAR = range(3)
UNTIL = {"repetitions": 5, "planted": (3,)}


def test_planted_counts_vary_as_their_noise_says():
    ratios = {}
    for noise in planted.NOISES:
        data = planted.planted(5, noise, PLANTED, 0)
        assert data.X.shape == (20, 15)
        assert data.X.sum() / data.N == pytest.approx(PLANTED.counts, rel=0.4)
        ratios[noise] = variation(data).ratio
        again, other = (planted.planted(5, noise, PLANTED, n) for n in (0, 1))
        assert np.array_equal(again.X, data.X) and not np.array_equal(other.X, data.X)
    assert ratios["poisson"] < 1.5
    assert 2.0 < ratios["negative_binomial"] < 4.5


@pytest.mark.long
def test_a_planted_rank_is_found_and_a_study_goes_on_from_what_is_kept():
    study = CountsStudy(SHORT.plan, ("planted",)).make()
    found = findings.planted(study).set_index("problem")
    assert set(found.index) == set(planted.NOISES)
    assert found.loc["poisson", "chosen"] == found.loc["poisson", "rank"] == 2
    assert found["lead"].notna().all() and (found.loc["poisson", "ahead"] > 0)
    again = CountsStudy(replace(SHORT.plan, repetitions=2), ("planted",))
    kept = again.cells_in(study)
    assert {of[3] for of in kept} == {0} and len(kept) == 2
    assert again.result(kept).values.equals(study.values)
    assert again.result(kept).settings["told"] == study.settings["told"]
    assert CountsStudy(replace(SHORT.plan, ratio=2.0), ("planted",)).cells_in(study) == {}


def made_up(studies) -> StudyResult:
    """Of (noise, rank, chosen, grade, lead of the chosen rank over its neighbours)."""
    rows = []
    for n, (noise, rank, chosen, grade, lead) in enumerate(studies):
        place = ("planted", noise, str(rank), n)
        whole = {"chosen": chosen, "grade": grade, "evidence": chosen, "hidden": chosen}
        whole |= {"variation": 1.0, "seconds": 60.0}
        rows += [(*place, 0, name, value) for name, value in whole.items()]
        rows += [
            (*place, tried, "log_evidence", -lead * abs(tried - chosen))
            for tried in range(max(1, rank - 2), rank + 3)
        ]
    labels = {noise: noise for noise in planted.NOISES}
    return StudyResult(values_of(VARIED, rows), labels=labels, settings={"told": {}} | UNTIL)


def test_the_answer_follows_the_numbers():
    good = [("poisson", 3, 3, CLEAR, 9.0)] * 9
    told = findings.planted_answer(made_up([*good, ("poisson", 4, 4, OPEN, 2.0)]))
    assert "9 of 10 rank studies" in told and "target of 90% is met" in told
    assert "No study names another rank." in told
    assert "in 1 the evidence leads by less than 3 nats" in told
    bad = [("negative_binomial", 4, 3, LEANING, 9.0), ("negative_binomial", 4, 2, OPEN, 9.0)]
    study = made_up([*good, *bad])
    told = findings.planted_answer(study)
    assert "unfinished" not in told
    study.settings["repetitions"] = 10
    assert "missed so far: the study is unfinished, with 11 of 20" in findings.planted_answer(study)
    assert "9 of 11 rank studies" in told and "target of 90% is missed" in told
    assert "2 name another rank; 1 of 2 of them are graded open" in told
    assert "negative_binomial 4 (2 of 2, named 2, 3)" in told
    (table,) = findings.planted_tables(study)
    counts = {row[:2]: row[2:8] for row in table["rows"]}
    assert counts["poisson", 3] == (9, 9, 0, 0, 0, 9)
    assert counts["negative_binomial", 4] == (2, 0, 0, 1, 1, 0)


def only(where) -> np.ndarray:
    """A column that is the same in some channels of the data, and 0 in the others."""
    found = channels(signatures.genomes().features).found
    chosen = np.array([where(one.context, one.substitution) for one in found], dtype=float)
    return chosen / chosen.sum()


def test_published_shapes_are_found_where_they_are_and_only_there():
    A = np.column_stack(
        [
            only(lambda context, kind: kind == "C>T"),
            only(lambda context, kind: context[0] == "T" and kind == "C>G"),
            only(lambda context, kind: True),
            only(lambda context, kind: context[2] == "G" and kind == "C>T"),
            only(lambda context, kind: context[0] == "T" and kind == "C>T"),
        ]
    )
    found = {one.name: one for one in shapes.published(A)}
    assert {name: one.component for name, one in found.items()} == dict(A=3, B=4, C=0, D=2, E=1)
    assert all(one.found for one in found.values())
    of_each = signatures.shapes(A)
    np.testing.assert_allclose(of_each["cpg"], [0.25, 0, 4 / 96, 1, 0.25])
    np.testing.assert_allclose(of_each["even"], [1 / 6, 4 / 96, 1, 4 / 96, 4 / 96])
    flat = shapes.published(np.repeat(A[:, 2:3], 5, axis=1))
    assert [one.name for one in flat if one.found] == ["D"]
    # What has the shapes of B and of E is one of them only.
    mixed = np.column_stack([(A[:, 4] + A[:, 1]) / 2, A[:, 3], *[A[:, 2]] * 3])
    assert len({one.component for one in shapes.published(mixed)}) == 5
    named = {one.name for one in shapes.published(mixed) if one.found}
    assert named in ({"A", "B", "D"}, {"A", "D", "E"})


@pytest.fixture
def folder(tmp_path):
    """A collection of 80 documents of two categories, which share no word."""
    rng = np.random.default_rng(0)
    kind = np.arange(80) % 2
    rates = np.where(np.arange(12)[:, None] % 2 == kind, 3.0, 0.0)
    (tmp_path / "bbc").mkdir()
    mmwrite(tmp_path / "bbc" / "bbc.mtx", sparse.coo_array(rng.poisson(rates)))
    (tmp_path / "bbc" / "bbc.terms").write_text("\n".join(f"word{d}" for d in range(12)))
    lines = ["%%Clustering hard", "%Name NaturalClasses", "%Clusters 2 even,odd", "%Objects"]
    lines += [f"{n} {k}" for n, k in enumerate(kind)]
    (tmp_path / "bbc" / "bbc.classes").write_text("\n".join(lines))
    return tmp_path


def test_topics_of_two_kinds_of_documents_are_their_words(folder):
    cell = topics.measured("bbc", 2, folder, FEW)
    found = pd.DataFrame(cell["rows"], columns=["quantity", "x", "value"])
    means = found.groupby("quantity")["value"].mean()
    for model in topics.LOSSES:
        assert means[f"{model} distinct"] == 1.0
        assert means[f"{model} coherence"] > 0.0
        assert 1 / 40 < means[f"{model} single"] < 1 / 10
        assert means[f"{model} auc"] == 1.0
        assert means[f"{model} shared"] <= FEW.words
        # Six words of a kind are about equally frequent; the background has a part of 1 %.
        assert means[f"{model} nats"] == pytest.approx(np.log(6), abs=0.1)
    assert 0 < means["counts"] < means["squares"] < 0.1


def test_collections_that_are_not_there_are_left_out_with_a_note(folder):
    study = CountsStudy(CountsPlan(), ("topics", "signatures"), folder)
    places = [task.of for batch in study.batches() for task in batch]
    assert {of[1] for of in places if of[0] in ("topics", "evidence")} == {"bbc"}
    notes = study.result({}).notes
    assert len(notes) == 1 and notes[0].startswith(CORPORA["newsgroups"].label)


def test_an_interrupted_study_goes_on_where_it_stopped(goes_on, monkeypatch):
    cell = {"rows": [["chosen", 0, 2.0]], "reason": ""}
    monkeypatch.setattr(planted, "measured", lambda *args: cell)
    goes_on(
        CountsStudy(replace(SHORT.plan, repetitions=2), ("planted",)), planted, "measured", 1, 4
    )


def test_what_makes_no_sense_is_refused():
    with pytest.raises(SettingsError, match="A study needs a repetition"):
        CountsStudy(CountsPlan(ratio=1.0)).make()
    with pytest.raises(SettingsError, match="None of what was asked for can be measured"):
        CountsStudy(CountsPlan(), ("topics",)).make()


def test_what_is_said_of_signatures_follows_the_numbers():
    stored = full("counts")
    more, values = shapes.SIGNATURES["more"], stored.values
    # Of a planted model with more evidence, whether or not its own cell is stored.
    values = values[values["problem"] != shapes.DISPERSED]
    other = values[values.eval("problem == 'poisson' and part == 'signatures'")].copy()
    other.loc[other["quantity"] == "log_evidence", "value"] += 100.0
    other.loc[other["quantity"] == "chosen", "value"] = 4
    values = pd.concat([values, other.assign(problem=shapes.DISPERSED)], ignore_index=True)
    answer = shapes.signatures_answer(replace(stored, values=values))
    assert more in answer and "Gaussian: open, rank 8, the largest tried" in answer
    values.loc[values.eval("problem == 'poisson' and quantity == 'chosen'"), "value"] = 3
    values.loc[values.eval("quantity == 'variation'"), "value"] = 2.4
    answer = shapes.signatures_answer(replace(stored, values=values))
    assert more not in answer and "Poisson: open, rank 3" in answer
    assert "Counts vary 2.4× as much as Poisson noise allows." in answer
    values.loc[values.eval("quantity == 'variation'"), "value"] = 1.2
    assert "about as Poisson noise allows (1.2×)" in shapes.signatures_answer(
        replace(stored, values=values)
    )


def test_the_stored_study_is_whole_and_is_not_measured_again():
    stored = full("counts")
    assert stored is not None
    study = CountsStudy(data=None)
    sections = REPORT.sections(stored, ())
    assert len(sections) == 4
    for table in (table for section in sections for table in section["tables"]):
        assert table["rows"] and all(len(row) == len(table["columns"]) for row in table["rows"])
    kept = study.cells_in(stored)
    there = {tuple(of) for of in stored.values[VARIED[:-1]].itertuples(index=False)}
    assert set(kept) == {of for of in there if of[0] in ("planted", "signatures")}
    assert len({of[2] for of in kept if of[0] == "planted"}) == 7
    assert set(stored.values.query("quantity == 'grade'")["value"]) <= set(range(len(GRADES)))
