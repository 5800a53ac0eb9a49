"""Common practice: starts of scikit-learn, and numbers of components that programs propose."""

import numpy as np
import pytest
from sklearn.decomposition import NMF

from benchmarks import peers
from benchmarks.harness import Unavailable
from bnmf_core import Dataset, load_sample
from bnmf_core.compare.alignment import component_angles, matching
from studies.practice import findings, measure
from studies.practice.plan import SHORT, TABLES, PracticePlan, PracticeStudy

PLAN = PracticePlan(**TABLES["plan"] | {"starts": 4})


def test_starts_are_compared_as_by_hand():
    """Largest matched angles between all pairs, and to the start of the smallest error."""
    told = measure.measured("breast_genomes", "scikit_learn", 4, PLAN, None)
    X = load_sample("signatures").X
    made = [NMF(4, init="random", random_state=seed, max_iter=200) for seed in range(4)] + [NMF(4)]
    with pytest.warns(match="Maximum number of iterations"):
        A = np.stack([nmf.fit_transform(X) for nmf in made])
    apart = np.array([component_angles(A, one, matching(A, one)).max(axis=1) for one in A])
    errors = np.array([nmf.reconstruction_err_ for nmf in made])
    best = errors.argmin()
    pairs = apart[:4, :4][np.triu_indices(4, 1)] > 15
    assert told["pairs"] == pairs.mean() > 0
    assert np.isclose(told["default"], apart[best, 4])
    assert np.isclose(told["default_error"], errors[4] / np.linalg.norm(X))
    assert told["default_iterations"] == made[4].n_iter_
    assert np.isclose(told["best_error"], errors.min() / np.linalg.norm(X))
    others = [at for at in range(4) if at != best]
    assert told["elsewhere"] == (apart[best, others] > 15).mean()
    assert told["unconverged"] == sum(nmf.n_iter_ == 200 for nmf in made[:4])


def test_data_that_a_program_cannot_take_are_left_out(monkeypatch):
    X = np.ones((4, 5))
    X[0, 0] = np.nan
    nimfa = measure.PRACTICES["nimfa"]
    assert not nimfa.can_take(Dataset.from_array(X))
    assert nimfa.can_take(Dataset.from_array(np.ones((4, 2000))))
    assert not nimfa.can_take(Dataset.from_array(np.ones((4, 2001))))
    assert measure.measured("newsgroups", "nimfa", 4, PLAN, None) == {"left_out": "unsuited"}


def test_a_program_is_asked_of_the_data_that_it_is_made_for():
    asked = {}
    for [task] in PracticeStudy(PLAN).batches():
        asked.setdefault(task.of[1], set()).add(task.of[0])
    assert asked["sigprofiler"] <= {"breast_genomes"} and "wine" in asked["nimfa"]
    assert {"leukemia", "newsgroups"} == asked["cnmf"]


class Answers:
    """A peer with prepared answers."""

    ready = {"version": "1.2"}  # noqa: RUF012

    def __init__(self, *answers):
        self.answers = list(answers)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None

    def ask(self, **options):
        assert options["ranks"] == list(range(2, 9))
        return self.answers.pop(0)


def test_proposals_are_told_with_their_number_and_how_far_components_are_apart(monkeypatch):
    turned = np.cos(np.radians(20)), np.sin(np.radians(20))
    first = {"rank": 2, "A": [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]}
    other = {"rank": 2, "A": [[0.0, turned[0]], [1.0, 0.0], [0.0, turned[1]]]}
    cells = {}
    for key, answers in {
        "leukemia": (first, other),
        "breast_genomes": ({"rank": 4}, {"rank": 5}),
    }.items():
        monkeypatch.setattr(peers, "opened", lambda *_, answers=answers: Answers(*answers))
        cells[key, "nimfa", 3] = measure.measured(key, "nimfa", 3, PLAN, None)
    assert np.isclose(cells["leukemia", "nimfa", 3]["turned"][0], 20)
    assert cells["breast_genomes", "nimfa", 3]["turned"] == [None]

    def absent(*_):
        raise Unavailable("it is not there")

    monkeypatch.setattr(peers, "opened", absent)
    cells["digits", "nimfa", 10] = measure.measured("digits", "nimfa", 10, PLAN, None)
    study = PracticeStudy(PLAN)
    monkeypatch.setattr(
        "studies.practice.plan.ranks", lambda: {key: rank for key, _, rank in cells}
    )
    found = study.result(cells)
    said = findings.sentences(found)
    assert said[0].startswith(
        "nimfa proposes another number the second time on 1 of 2 data sets. Its number is the "
        "published one on 1 of 2. Where it proposes the same number again, its components are "
        "others on 1 of 1."
    )
    assert said[1] == "nimfa could not be run on Handwritten digits: it is not there"
    proposals = findings.tables(found)[-2]["rows"]
    assert [row[-1] for row in proposals] == ["2, then 2 (up to 20° apart)", "4, then 5"]


def test_what_was_measured_is_taken_from_the_result(tmp_path):
    study = PracticeStudy(PLAN, ("wine",), ("scikit_learn",))
    kept = study.make(tmp_path / "first")
    assert study.cells_in(kept) == {
        ("wine", "scikit_learn", 3): kept.settings["cells"][next(iter(kept.settings["cells"]))]
    }
    assert PracticeStudy(SHORT.plan, ("wine",), ("scikit_learn",)).cells_in(kept) == {}


def test_a_program_that_could_not_be_run_is_asked_again(tmp_path, monkeypatch):
    asked = []

    def absent(*_):
        asked.append(1)
        raise Unavailable("it is not there")

    monkeypatch.setattr(peers, "opened", absent)
    study = PracticeStudy(PLAN, ("wine",), ("nimfa",))
    for _ in range(2):
        found = study.make(tmp_path)
        assert findings.sentences(found) == ["nimfa could not be run on Wines: it is not there"]
    assert len(asked) == 2 and study.cells_in(found) == {}
