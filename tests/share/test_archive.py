"""Archives: what goes in comes out; what is damaged, foreign or hostile is left out and said."""

import io
import json
import zipfile

import numpy as np
import pytest

from bnmf_core import load_archive
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.core.errors import StoreError
from bnmf_core.core.particles import ARRAYS
from bnmf_core.share import archive
from bnmf_core.share.opening import open_archive
from bnmf_core.store import folders, integrity
from bnmf_core.store.run_store import RunStore

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(answer, tmp_path_factory):
    path = tmp_path_factory.mktemp("archives") / "some.zip"
    archive.write(path, answer)
    return path


@pytest.fixture
def elsewhere(tmp_path):
    return RunStore(tmp_path / "elsewhere")


def changed(file, tmp_path, change):
    """The same archive with the contents of its members changed: name, bytes → bytes or None."""
    path = tmp_path / "changed.zip"
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(path, "w") as new:
        for info in old.infolist():
            content = change(info.filename, old.read(info))
            if content is not None:
                new.writestr(info.filename, content)
    return path


def test_everything_arrives_on_another_machine(file, answer, elsewhere):
    opened = open_archive(elsewhere, file)
    assert list(opened.run_ids) == answer.comparison.run_ids and opened.said == ()
    there = open_comparison(elsewhere, opened.run_ids)
    assert there.dataset.hash == answer.comparison.dataset.hash
    for ours, theirs in zip(answer.comparison.particles, there.particles, strict=True):
        for name in ARRAYS:
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))
        assert ours.spec == theirs.spec
        assert set(ours.trace) == set(theirs.trace)
    for ours, theirs in zip(answer.comparison.runs, there.runs, strict=True):
        assert (ours.name, ours.status, ours.created) == (
            theirs.name,
            theirs.status,
            theirs.created,
        )
    # Results come with it: nothing has to be computed again.
    assert there.key == answer.comparison.key
    assert all(stage.ready(there) for stage in STAGES.values())


def test_opened_twice_nothing_is_there_twice(file, elsewhere):
    first, second = open_archive(elsewhere, file), open_archive(elsewhere, file)
    assert first.run_ids == second.run_ids
    assert len(elsewhere.runs()) == len(first.run_ids)


def test_another_run_of_that_name_is_left_as_it_is(file, answer, elsewhere, tmp_path):
    open_archive(elsewhere, file)
    run_id = answer.comparison.run_ids[0]
    other = elsewhere.particles(run_id)

    altered = other.subset(np.arange(other.M)[::-1])
    elsewhere._particles.cache_clear()
    folders.write_particles(elsewhere.run_folder(run_id), altered, final=True)
    elsewhere._particles.cache_clear()
    opened = open_archive(elsewhere, file)
    assert run_id not in opened.run_ids and len(opened.run_ids) == 2
    assert elsewhere.particles(run_id).digest == altered.digest


def test_it_can_be_read_without_a_store(file, answer):
    found = load_archive(file)
    assert found.dataset.hash == answer.comparison.dataset.hash
    assert [found.particles[run["id"]].digest for run in found.runs] == [
        particles.digest for particles in answer.comparison.particles
    ]


def test_a_report_and_the_program_are_inside(file):
    with zipfile.ZipFile(file) as inside:
        assert inside.namelist()[0] == archive.MANIFEST
        written = inside.read(archive.REPORT)
        assert b"<h2>Verdicts</h2>" in written and b"<h2>Findings</h2>" in written
        compile(inside.read(archive.PROGRAM), archive.PROGRAM, "exec")


def test_a_flipped_bit_costs_that_run_alone(file, answer, elsewhere, tmp_path):
    run_id = answer.comparison.run_ids[0]

    def flip(name, content):
        if name == f"runs/{run_id}/particles/A.npy":
            return content[:-1] + bytes([content[-1] ^ 1])
        return content

    opened = open_archive(elsewhere, changed(file, tmp_path, flip))
    assert list(opened.run_ids) == answer.comparison.run_ids[1:]
    assert any(f"Run {run_id} is left out" in sentence for sentence in opened.said)
    assert any("1 damaged file is" in sentence for sentence in opened.said)


@pytest.mark.parametrize("part", [0.3, 0.7, 0.999])
def test_a_file_that_is_cut_off_opens_as_far_as_it_goes(file, answer, elsewhere, tmp_path, part):
    content = file.read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(content[: int(part * len(content))])
    try:
        opened = open_archive(elsewhere, cut)
    except StoreError as error:  # cut off within the data
        assert part < 0.5 and "data in this archive" in str(error)
        return
    assert "cut off" in opened.said[0]
    for run_id in opened.run_ids:
        index = answer.comparison.run_ids.index(run_id)
        assert elsewhere.particles(run_id).digest == answer.comparison.particles[index].digest


def test_of_a_newer_version_what_is_known_opens_and_is_said(file, answer, elsewhere, tmp_path):
    def newer(name, content):
        if name != archive.MANIFEST:
            return content
        manifest = json.loads(content)
        manifest |= {"format": 99, "program": "9.9"}
        manifest["runs"][0]["spec"]["something_new"] = 1
        return json.dumps(manifest).encode()

    opened = open_archive(elsewhere, changed(file, tmp_path, newer))
    assert "newer version of this program (9.9)" in opened.said[0]
    assert any("'something_new' is not known" in sentence for sentence in opened.said)
    assert list(opened.run_ids) == answer.comparison.run_ids[1:]


@pytest.mark.parametrize(
    "evil", ["../evil.npy", "/tmp/evil.npy", "runs/../../evil.npy", "dataset/../../evil.json"]
)
def test_no_name_leads_out_of_the_store(file, elsewhere, tmp_path, evil):
    def add(name, content):
        if name != archive.MANIFEST:
            return content
        manifest = json.loads(content)
        manifest["sha256"][evil] = archive._sum(b"evil")
        return json.dumps(manifest).encode()

    path = changed(file, tmp_path, add)
    with zipfile.ZipFile(path, "a") as more:
        more.writestr(evil, b"evil")
    open_archive(elsewhere, path)
    assert not list(tmp_path.rglob("evil*"))


def test_names_of_arrays_lead_nowhere_either(file, answer, elsewhere, tmp_path):
    run_id = answer.comparison.run_ids[0]
    text = {}

    def point(name, content):
        if name == f"runs/{run_id}/particles.json":
            meta = json.loads(content)
            del meta[integrity.SEAL]
            meta["diagnostics"] = ["../../../evil"]
            text[name] = integrity.sealed(meta).encode()
            return text[name]
        return content

    path = changed(file, tmp_path, point)

    def listed(name, content):
        if name != archive.MANIFEST:
            return content
        manifest = json.loads(content)
        manifest["sha256"] |= {key: archive._sum(value) for key, value in text.items()}
        return json.dumps(manifest).encode()

    (tmp_path / "again").mkdir()
    opened = open_archive(elsewhere, changed(path, tmp_path / "again", listed))
    assert run_id not in opened.run_ids
    assert any("an array of it is called '../../../evil'" in s for s in opened.said)


def test_factorizations_that_are_none_are_left_out(file, answer, elsewhere, tmp_path):
    run_id = answer.comparison.run_ids[0]
    A = np.array(answer.comparison.particles[0].A)
    A[0, 0, 0] = -1.0
    buffer = io.BytesIO()
    np.save(buffer, A)
    name_of_A, name_of_rest = (
        f"runs/{run_id}/{part}" for part in ("particles/A.npy", folders.COMPLETE)
    )
    with zipfile.ZipFile(file) as old:
        kept = json.loads(old.read(name_of_rest))
    # Whoever changes factorizations on purpose can change their checksums, too.
    del kept[integrity.SEAL]
    kept["sums"]["A"] = [integrity.checksum(one) for one in A]
    told = {name_of_A: buffer.getvalue(), name_of_rest: integrity.sealed(kept).encode()}

    def negative(name, content):
        if name in told:
            return told[name]
        if name == archive.MANIFEST:
            manifest = json.loads(content)
            manifest["sha256"] |= {one: archive._sum(content) for one, content in told.items()}
            return json.dumps(manifest).encode()
        return content

    opened = open_archive(elsewhere, changed(file, tmp_path, negative))
    assert run_id not in opened.run_ids
    assert any("negative or no numbers" in sentence for sentence in opened.said)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04" + bytes(40)])
def test_other_files_are_one_sentence(elsewhere, tmp_path, content):
    path = tmp_path / "some.zip"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="no archive of runs"):
        open_archive(elsewhere, path)
    assert not elsewhere.runs() and not elsewhere.datasets()


def test_what_swells_too_much_is_refused(file, elsewhere, tmp_path, monkeypatch):
    monkeypatch.setattr("bnmf_core.share.opening.MOST", 10_000)
    with pytest.raises(StoreError, match="more room"):
        open_archive(elsewhere, file)
    assert not elsewhere.runs() and not list(elsewhere.root.glob("tmp*"))
