"""Damage on the disk breaks no page: a result is computed again, data are refused in a sentence."""

import pytest

from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.store import manifest
from tests.pages.apps import EXPLORE, page, words


def flipped(path):
    """A bit of the file in another state."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 4
    path.write_bytes(content)


@pytest.mark.parametrize("name", ["overview", "components", "scoreboard"])
def test_damaged_results_are_computed_again_and_the_page_says_so(server, finished, name):
    comparison = open_comparison(server.store, finished)
    before = words(page(name))
    assert "was damaged on the disk" not in before
    for stage in STAGES.values():
        for path in stage.folder(comparison).glob("*.json"):
            if path.name != manifest.DONE:
                path.write_text("{")
        for path in stage.folder(comparison).glob("*.np?"):
            flipped(path)
    assert not page(name).exception
    server.wait_analysis(finished)
    app = page(name)
    assert not app.exception and not app.error
    repaired = [
        element.value for element in app.caption if "was damaged on the disk" in element.value
    ]
    assert len(repaired) == sum(bool(stage.repaired(comparison)) for stage in STAGES.values()) > 8
    assert "has been computed again" in repaired[0]
    assert words(app).replace("\n".join(repaired), "").split() == before.split()


@pytest.mark.parametrize("name", [name for name in EXPLORE if name not in ("boolean", "tree")])
def test_every_page_says_which_factorizations_are_left_out(server, finished, name):
    folder = server.store.run_folder(finished[0]) / "particles"
    content = bytearray((folder / "W.npy").read_bytes())
    content[-20] ^= 16
    (folder / "W.npy").write_bytes(content)
    server.wait_analysis(finished)
    app = page(name)
    assert not app.exception and not app.error
    (said,) = [element.value for element in app.sidebar.warning]
    assert "1 of 6 factorizations is damaged on the disk and left out (number 5)" in said


@pytest.mark.parametrize("name", ["data", "rank", "starts", "run"])
def test_damaged_data_are_refused_in_a_sentence(server, finished, name):
    dataset_id = server.store.run(finished[0]).dataset
    flipped(server.store.root / "datasets" / dataset_id / "X.npy")
    app = page(name)
    assert not app.exception
    (said,) = [element.value for element in app.error]
    assert "Labelled" in said and "damaged on the disk" in said and "Import them again" in said


def test_a_damaged_note_is_left_out_and_the_page_says_so(server, finished):
    particles = server.store.particles(finished[0])
    dataset_id = server.store.run(finished[0]).dataset
    for name in ("kept", "lost"):
        note = server.store.notes.keep(dataset_id, "mode", particles.A[0], name)
    (path,) = server.store.root.glob(f"notes/*/{dataset_id}/{note.id}.npz")
    flipped(path)
    app = page("components")
    assert not app.exception and not app.error
    assert "1 name or note is damaged on the disk and left out." in words(app)
    assert [note.name for note in server.store.notes.of(dataset_id)] == ["kept"]
