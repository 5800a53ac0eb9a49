"""Names given to components and modes: kept with the thing, found again under other numbers."""

import json
from contextlib import closing
from io import BytesIO

import numpy as np
import pandas as pd
import pytest
import xarray

from bnmf_core import Dataset, RunSpec, laurberg
from bnmf_core.analysis import structure
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.named import LIMIT, Named
from bnmf_core.analysis.stages import compute
from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.findings.answer import Answer
from bnmf_core.findings.components import component_names
from bnmf_core.findings.facts import say
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share import archive, formats
from bnmf_core.share.opening import open_archive
from bnmf_core.share.report import report
from bnmf_core.store.notes import COMPONENT, MODE
from bnmf_core.store.run_store import RunStore

RNG = np.random.default_rng(0)


def turned(column: np.ndarray, degrees: float) -> np.ndarray:
    """A column so many degrees away, of another length; all entries stay positive."""
    unit = column / np.linalg.norm(column)
    side = RNG.standard_normal(column.size)
    side -= (side @ unit) * unit
    side /= np.linalg.norm(side)
    angle = np.radians(degrees)
    return 3.0 * (np.cos(angle) * unit + np.sin(angle) * side)


@pytest.fixture
def book(tmp_path):
    return RunStore(tmp_path).notes


def test_topics_that_nobody_has_named_are_called_by_their_words(book):
    A = np.array([[9.0, 0, 1], [5, 0, 1], [1, 8, 1], [0, 7, 6]])
    words = ("moon", "orbit", "goal", "team")
    data = Dataset.from_array(A, features=words, features_are="words")
    book.keep("data", COMPONENT, A[:, 1], "sport", "")
    named = Named.on(data, book.of("data"))
    assert named.components(A) == ["moon, orbit", "sport", "team, orbit"]
    # In sentences they are called the same, and so they are where nothing is handed over.
    said = component_names(data, A, named.components(A))
    assert said == ["component 1 (moon, orbit)", "component 2 (sport)", "component 3 (team, orbit)"]
    assert component_names(data, A)[0] == said[0]
    genes = Dataset.from_array(A, features=words, features_are="genes")
    assert Named.on(genes, book.of("data")).components(A) == ["", "sport", ""]


def test_exports_say_beside_each_factorization_what_was_noted_on_it(tmp_path):
    store = RunStore(tmp_path)
    with closing(JobRunner(store)) as runner:
        specs = [RunSpec("gibbs", 3, particles=12, settings={"chains": 2, "warm_up": 5})]
        (run_id,) = runner.start(laurberg("two", noise=0.001, rng=RNG), specs)
        runner.wait([run_id])
    plain = BytesIO()
    formats.write(store, run_id, "csv", plain)
    particles, data_id = store.particles(run_id), store.run(run_id).dataset
    A = np.asarray(particles.A)
    store.notes.keep(data_id, COMPONENT, A[0, :, 2], "=late", "Seen\nin spring.")
    store.notes.keep(data_id, MODE, A[0], "old", "")
    kept = BytesIO()
    formats.write(store, run_id, "csv", kept)
    table = pd.read_csv(BytesIO(kept.getvalue()), keep_default_na=False)
    # One that is not like the noted one by a component at least has none of it.
    for m, row in table.iterrows():
        angles = np.array([angle(A[m, :, r], A[0, :, 2]) for r in range(3)])
        noted = [f"component_{r + 1}_note" for r in range(3)]
        said = [row.get(column, "") for column in noted]
        expected = ["'=late: Seen in spring." if r == angles.argmin() else "" for r in range(3)]
        assert said == (expected if angles.min() <= LIMIT else [""] * 3)
    assert table["mode_note"][0] == "old"
    assert list(pd.read_csv(BytesIO(plain.getvalue()))) == [
        column for column in table if not column.endswith("_note")
    ]
    formats.write(store, run_id, "nc", file := BytesIO())
    with xarray.open_datatree(file, engine="h5netcdf") as read:
        told = json.loads(read.attrs["notes"])
        assert told[0] == {"kind": COMPONENT, "name": "=late", "text": "Seen\nin spring."}
        of_component = read["posterior"]["component_note"].to_numpy().reshape(12, 3)
        order = read["posterior"]["A"].to_numpy().reshape(A.shape)
        assert of_component[(order == A[0]).all(axis=(1, 2))][0, 2] == "=late: Seen in spring."
        assert read["posterior"]["mode_note"].dims == ("chain", "draw")


def angle(one: np.ndarray, other: np.ndarray) -> float:
    cosine = one @ other / np.linalg.norm(one) / np.linalg.norm(other)
    return float(np.degrees(np.arccos(min(cosine, 1.0))))


def test_a_name_is_found_at_another_number_and_scale(book):
    A = RNG.random((30, 4)) + 0.5 * np.eye(30, 4) * 20
    book.keep("data", COMPONENT, A[:, 2], "nerves", "see table 3")
    book.keep("data", COMPONENT, turned(A[:, 0], LIMIT - 1), "near", "")
    book.keep("data", COMPONENT, turned(A[:, 3], LIMIT + 1), "too far", "")
    named = Named(tuple(book.of("data")))
    order = np.array([3, 2, 1, 0])
    assert named.components(A[:, order] * [1, 5, 2, 0.1]) == ["", "nerves", "", "near"]
    assert [note and note.text for note in named.of_components(A)] == [
        "",
        None,
        "see table 3",
        None,
    ]
    assert Named().components(A) == [""] * 4


def test_no_two_components_have_one_name(book):
    A = np.eye(6)[:, :3] + 1e-3
    book.keep("data", COMPONENT, A[:, 0], "only one")
    alike = np.column_stack([A[:, 0], A[:, 0] + 1e-4, A[:, 1]])
    assert sum(name == "only one" for name in Named(tuple(book.of("data"))).components(alike)) == 1


def test_notes_are_kept_replaced_removed_and_never_anothers(book, tmp_path):
    note = book.keep("data", COMPONENT, np.ones(3), "  one \n", "text")
    assert (note.name, note.text) == ("one", "text")
    book.keep("data", COMPONENT, np.ones(3), "two", id=note.id)
    assert [found.name for found in book.of("data")] == ["two"]
    assert book.of("other data") == []
    assert RunStore(tmp_path, "somebody else").notes.of("data") == []
    book.remove("data", note.id)
    assert book.of("data") == []
    with pytest.raises(SettingsError, match="needs a name"):
        book.keep("data", COMPONENT, np.ones(3), " ", "")
    with pytest.raises(NotFoundError):
        book.remove("data", "../../x")


def test_a_torn_note_hides_no_other(book, tmp_path):
    book.keep("data", COMPONENT, np.ones(3), "whole")
    torn = book.keep("data", COMPONENT, np.ones(3), "torn")
    next(tmp_path.rglob(f"{torn.id}.npz")).write_bytes(b"torn")
    assert [note.name for note in book.of("data")] == ["whole"]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    """A store with two launches of the same data, whose modes come in different orders."""
    store = RunStore(tmp_path_factory.mktemp("named"))
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    found = []
    with closing(JobRunner(store)) as runner:
        for seed in (0, 7):
            ids = runner.start(data, [RunSpec("random_restarts", 3, particles=24, seed=seed)])
            runner.wait(ids)
            found.append(ids)
    return store, found


def answer_of(store, run_ids):
    comparison = open_comparison(store, run_ids)
    compute(comparison, lambda part, stage: None, lambda: False, ["structure", "islands"])
    named = Named(tuple(store.notes.of(comparison.runs[0].dataset)))
    modes = structure.modes_at(comparison, "max_angle", 15.0)
    return Answer(comparison, "max_angle", modes, named=named)


@pytest.mark.slow
def test_a_modes_name_survives_new_runs_and_stands_in_report_and_archive(two, tmp_path):
    store, (first, second) = two
    before = answer_of(store, first)
    assert before.modes.count == 2
    basis, _ = before.comparison.factors([before.modes.representative[1]])
    dataset_id = before.comparison.runs[0].dataset
    store.notes.keep(dataset_id, MODE, basis[0], "turned", "The other triangle.")
    truth = store.dataset(dataset_id).truth
    for run_ids in (first, second):
        answer = answer_of(store, run_ids)
        named = [k for k, name in enumerate(answer.mode_names) if "turned" in name]
        assert len(named) == 1
        A, _ = answer.comparison.factors([answer.modes.representative[named[0]]])
        # The named mode is the one of the same known solution, whatever its number.
        assert nearest(truth, A[0]) == nearest(truth, basis[0])
        said = " ".join(say(facts, answer.mode_names) for facts in answer.facts.values())
        number = named[0] + 1
        assert f"ode {number}" not in said or f"ode {number} (turned)" in said
        page = report(answer).decode()
        assert f"mode {number} (turned)" in page and "The other triangle." in page
    archive.write(tmp_path / "some.zip", answer_of(store, second))
    there = RunStore(tmp_path / "there")
    opened = open_archive(there, tmp_path / "some.zip")
    assert [note.name for note in there.notes.of(dataset_id)] == ["turned"]
    assert "turned" in " ".join(answer_of(there, opened.run_ids).mode_names)


def nearest(truth, A: np.ndarray) -> int:
    """Which known solution a basis is nearest to, by the sum of its best column cosines."""
    unit = A / np.linalg.norm(A, axis=0)
    scores = [((one.A / np.linalg.norm(one.A, axis=0)).T @ unit).max(axis=1).sum() for one in truth]
    return int(np.argmax(scores))
