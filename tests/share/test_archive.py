"""Archives: what goes in comes out; what is damaged, foreign or hostile is left out and said."""

import io
import json
import shutil
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from bnmf_core import Dataset, find_modes, load_archive
from bnmf_core.analysis.comparison import open_comparison
from bnmf_core.analysis.stages import STAGES
from bnmf_core.cli.main import main
from bnmf_core.core.errors import StoreError
from bnmf_core.core.particles import ARRAYS
from bnmf_core.data.foreign import Foreign
from bnmf_core.findings.answer import Answer
from bnmf_core.runs.foreign import bring
from bnmf_core.share import archive
from bnmf_core.share.contents import AGAIN
from bnmf_core.share.opening import open_archive
from bnmf_core.store import arrivals, datasets, folders, integrity
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


def test_texts_travel_and_no_more_of_them_than_may_be_kept(tmp_path, elsewhere, monkeypatch):
    store, texts = RunStore(tmp_path / "here"), [f"red lamp {n}" for n in range(4)]
    data = Dataset.from_array(np.ones((2, 4)) + np.eye(2, 4), features_are="words", texts=texts)
    (run_id,) = bring(store, data, [Foreign("fit", np.ones((2, 1)), np.ones((1, 4)))])
    comparison = open_comparison(store, [run_id])
    written = Answer(comparison, "max_angle", find_modes(np.zeros((1, 1)), 15.0))
    archive.write(tmp_path / "texts.zip", written, readable=False)
    opened = open_archive(elsewhere, tmp_path / "texts.zip")
    there = open_comparison(elsewhere, opened.run_ids).dataset
    assert list(there.texts) == texts and there.texts.documents() == {"red": 4, "lamp": 4}
    monkeypatch.setattr(datasets, "MOST_BYTES", 10)
    datasets.read_texts.cache_clear()
    with pytest.raises(StoreError, match="texts of these data are damaged"):
        open_archive(RunStore(tmp_path / "third"), tmp_path / "texts.zip")


def test_everything_arrives_on_another_machine(file, answer, elsewhere):
    opened = open_archive(elsewhere, file)
    assert list(opened.run_ids) == answer.comparison.run_ids
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
    # Results do not, because nobody there can know whether they are right; and it is said.
    assert there.key == answer.comparison.key and not there.folder.exists()
    assert opened.notices == (AGAIN,)


def test_results_come_back_into_the_store_that_has_signed_them(answer, file, store, tmp_path):
    again = shutil.copytree(store.root, tmp_path / "again")
    shutil.rmtree(again / "analyses")
    (again / "index.sqlite").unlink()
    shutil.rmtree(again / "runs")
    signed = RunStore(again)
    opened = open_archive(signed, file)
    there = open_comparison(signed, opened.run_ids)
    assert not opened.notices and all(stage.ready(there) for stage in STAGES.values())


@pytest.mark.parametrize("name", [archive.SIGNATURE, archive.MANIFEST])
def test_a_signature_holds_for_its_list_of_contents_alone(file, store, tmp_path, name):
    again = RunStore(tmp_path / "again")
    shutil.copy(store.root / archive.KEY, again.root)
    altered = {
        archive.SIGNATURE: lambda text: (b"1" if text[:1] == b"0" else b"0") + text[1:],
        archive.MANIFEST: lambda t: t + b" ",
    }
    path = changed(file, tmp_path, lambda one, text: altered[name](text) if one == name else text)
    assert open_archive(again, path).notices == (AGAIN,)
    assert not (again.root / archive.ANALYSES).exists()
    assert not open_archive(again, file).notices  # and the archive itself is taken


def test_opened_twice_nothing_is_there_twice(file, elsewhere):
    first, second = open_archive(elsewhere, file), open_archive(elsewhere, file)
    assert first.run_ids == second.run_ids
    assert len(elsewhere.runs()) == len(first.run_ids)


def test_opened_by_several_at_once_nothing_is_there_twice(file, elsewhere):
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: open_archive(RunStore(elsewhere.root), file), range(4)))
    assert {opened.run_ids for opened in found} == {found[0].run_ids}
    assert len(elsewhere.runs()) == len(found[0].run_ids)


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


def test_results_of_a_run_that_is_gone_are_not_those_of_another_of_its_name(
    file, answer, store, tmp_path
):
    again = shutil.copytree(store.root, tmp_path / "again")
    (again / archive.KEY).unlink()
    here = RunStore(again)
    for run_id in answer.comparison.run_ids:
        here.delete_run(run_id)
    opened = open_archive(here, file)
    assert not set(opened.run_ids) & set(answer.comparison.run_ids)
    assert not open_comparison(here, opened.run_ids).folder.exists()


def test_what_another_has_put_in_a_place_stays(file, answer, elsewhere, monkeypatch):
    place = elsewhere.root / "datasets" / answer.comparison.dataset.hash
    enter = arrivals.enter

    def late(*arguments):
        place.mkdir(parents=True)
        (place / "of another").touch()
        enter(*arguments)

    monkeypatch.setattr(arrivals, "enter", late)
    with pytest.raises(StoreError, match="not empty"):
        open_archive(elsewhere, file)
    assert (place / "of another").exists() and not elsewhere.runs()


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


def damaged(file, tmp_path, run_id):
    """The archive with one bit of a run's factorizations flipped."""
    name_of_A = f"runs/{run_id}/particles/A.npy"
    return changed(
        file,
        tmp_path,
        lambda name, content: content[:-1] + bytes([content[-1] ^ (name == name_of_A)]),
    )


def refused(store, path, why):
    """The archive is refused for this reason, and nothing of it stays."""
    before = there(store)
    with pytest.raises(StoreError, match=why):
        open_archive(store, path)
    assert there(store) == before


def there(store):
    """The files of a store beside its index, and its runs."""
    names = {
        path.relative_to(store.root).as_posix()
        for path in store.root.rglob("*")
        if not path.name.startswith(("index.", arrivals.LOCK, archive.KEY))
    }
    return names, [run.id for run in store.runs()], store.datasets()


def test_a_flipped_bit_refuses_all_of_it(file, answer, elsewhere, tmp_path):
    run_id = answer.comparison.run_ids[0]
    path = damaged(file, tmp_path, run_id)
    refused(elsewhere, path, f"damaged or missing: 'runs/{run_id}/particles/A.npy'.*--salvage")


def test_salvaged_it_costs_that_run_alone(file, answer, elsewhere, tmp_path):
    first, second = answer.comparison.run_ids
    path = damaged(file, tmp_path, first)
    opened = open_archive(elsewhere, path, salvage=True)
    assert opened.run_ids == (second,)
    assert any("Run 1 of this archive is left out" in sentence for sentence in opened.notices)
    assert [run["id"] for run in load_archive(path, salvage=True).runs] == [second]


def test_on_the_command_line_salvaging_is_asked_for(file, answer, tmp_path, capsys):
    first, second = answer.comparison.run_ids
    told = ["open", str(damaged(file, tmp_path, first)), "--store", str(tmp_path / "store")]
    assert main(told) == 1 and "--salvage" in capsys.readouterr().err
    assert main([*told, "--salvage", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert [run["id"] for run in document["runs"]] == [second] and document["said"]


@pytest.mark.parametrize("part", [0.3, 0.7, 0.999])
def test_a_file_that_is_cut_off_is_salvaged_as_far_as_it_goes(
    file, answer, elsewhere, tmp_path, part
):
    content = file.read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(content[: int(part * len(content))])
    refused(elsewhere, cut, "cut off or damaged")
    try:
        opened = open_archive(elsewhere, cut, salvage=True)
    except StoreError as error:  # cut off within the data
        assert part < 0.5 and "data of this archive" in str(error)
        return
    assert "cut off" in opened.notices[0]
    for run_id in opened.run_ids:
        index = answer.comparison.run_ids.index(run_id)
        assert elsewhere.particles(run_id).digest == answer.comparison.particles[index].digest


def test_of_a_newer_version_what_is_known_is_salvaged(file, answer, elsewhere, tmp_path):
    def newer(name, content):
        if name != archive.MANIFEST:
            return content
        manifest = json.loads(content)
        manifest |= {"format": 99, "program": "9.9"}
        manifest["runs"][0]["spec"]["something_new"] = 1
        return json.dumps(manifest).encode()

    path = changed(file, tmp_path, newer)
    refused(elsewhere, path, r"newer version of this program \(9.9\)")
    opened = open_archive(elsewhere, path, salvage=True)
    assert any("something_new" in sentence for sentence in opened.notices)
    assert list(opened.run_ids) == answer.comparison.run_ids[1:]


def relisted(file, tmp_path, told):
    """The archive with members that are ``told`` otherwise, and a list of contents that fits."""

    def change(name, content):
        if name == archive.MANIFEST:
            manifest = json.loads(content)
            manifest["sha256"] |= {one: archive._sum(text) for one, text in told.items()}
            return json.dumps(manifest).encode()
        return told.get(name, content)

    path = changed(file, tmp_path, change)
    with zipfile.ZipFile(path, "a") as more:
        for name in told.keys() - set(more.namelist()):
            more.writestr(name, told[name])
    return path


@pytest.mark.parametrize(
    "evil", ["../evil.npy", "/tmp/evil.npy", "runs/../../evil.npy", "dataset/../../evil.json"]
)
def test_no_name_leads_out_of_the_store(file, elsewhere, tmp_path, evil):
    path = relisted(file, tmp_path, {evil: b"evil"})
    refused(elsewhere, path, "list of contents of this archive is not what it must be")
    assert not list(tmp_path.rglob("evil*"))


def test_names_of_arrays_lead_nowhere_either(file, answer, elsewhere, tmp_path):
    name = f"runs/{answer.comparison.run_ids[0]}/particles.json"
    with zipfile.ZipFile(file) as old:
        meta = integrity.unsealed(old.read(name).decode())
    meta["diagnostics"] = ["../../../evil"]
    path = relisted(file, tmp_path, {name: integrity.sealed(meta).encode()})
    refused(elsewhere, path, r"Run 1 .* particles.json is not what it must be")


def test_factorizations_that_are_none_are_refused(file, answer, elsewhere, tmp_path):
    run_id = answer.comparison.run_ids[0]
    A = np.array(answer.comparison.particles[0].A)
    A[0, 0, 0] = -1.0
    buffer = io.BytesIO()
    np.save(buffer, A)
    name_of_A, name_of_rest = (
        f"runs/{run_id}/{part}" for part in ("particles/A.npy", folders.COMPLETE)
    )
    with zipfile.ZipFile(file) as old:
        kept = integrity.unsealed(old.read(name_of_rest).decode())
    # Whoever changes factorizations on purpose can change their checksums, too.
    kept["sums"]["A"] = [integrity.checksum(one) for one in A]
    told = {name_of_A: buffer.getvalue(), name_of_rest: integrity.sealed(kept).encode()}
    refused(elsewhere, relisted(file, tmp_path, told), "negative or no numbers")


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04" + bytes(40)])
@pytest.mark.parametrize("salvage", [False, True])
def test_other_files_are_one_sentence(elsewhere, tmp_path, content, salvage):
    path = tmp_path / "some.zip"
    path.write_bytes(content)
    with pytest.raises(StoreError, match="no archive of runs|cut off or damaged"):
        open_archive(elsewhere, path, salvage)
    assert not elsewhere.runs() and not elsewhere.datasets()


def test_what_swells_too_much_is_refused(file, elsewhere, monkeypatch):
    monkeypatch.setattr("bnmf_core.share.unpacking.MOST", 10_000)
    refused(elsewhere, file, "there is room for 0 MB")


def test_whoever_salvages_is_not_told_to_salvage(file, elsewhere, tmp_path):
    cut = tmp_path / "cut.zip"
    cut.write_bytes(file.read_bytes()[:300])
    for salvage, told in ((False, True), (True, False)):
        with pytest.raises(StoreError) as refused:
            open_archive(elsewhere, cut, salvage)
        assert ("--salvage" in str(refused.value)) == told
