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


def test_damaged_results_are_computed_again_and_pages_say_so(server, finished):
    comparison = open_comparison(server.store, finished)
    before = {name: words(page(name)) for name in ("overview", "components", "scoreboard")}
    assert "was damaged on the disk" not in " ".join(before.values())
    for stage in STAGES.values():
        for path in stage.folder(comparison).glob("*.json"):
            if path.name != manifest.DONE:
                path.write_text("{")
        for path in stage.folder(comparison).glob("*.np?"):
            flipped(path)
    for name in before:
        assert not page(name).exception, name
    server.wait_analysis(finished)
    again = sum(bool(stage.repaired(comparison)) for stage in STAGES.values())
    for name, said in before.items():
        app = page(name)
        assert not app.exception and not app.error, name
        repaired = [
            element.value for element in app.caption if "was damaged on the disk" in element.value
        ]
        assert len(repaired) == again > 8, name
        assert "has been computed again" in repaired[0]
        assert words(app).replace("\n".join(repaired), "").split() == said.split(), name


def test_every_page_says_which_factorizations_are_left_out(server, finished):
    folder = server.store.run_folder(finished[0]) / "particles"
    content = bytearray((folder / "W.npy").read_bytes())
    content[-20] ^= 16
    (folder / "W.npy").write_bytes(content)
    server.wait_analysis(finished)
    for name in EXPLORE:
        if name in ("boolean", "tree"):
            continue
        app = page(name)
        assert not app.exception and not app.error, name
        (said,) = [element.value for element in app.sidebar.warning]
        assert "1 of 6 factorizations is damaged on the disk and left out (number 5)" in said, name


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
