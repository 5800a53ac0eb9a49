"""The command line: what there is, and sentences on what is wrong."""

import dataclasses

import pytest

from bnmf_core import registry
from bnmf_core.cli.inputs import typed
from bnmf_core.core.settings import declarations
from bnmf_core.data.samples import SAMPLES
from bnmf_core.data.synthetic import GENERATORS
from bnmf_core.likelihoods import MODELS
from tests.cli.conftest import SMALL_RUN


def test_every_sample_algorithm_and_setting_is_listed(ask, command):
    listed = ask("samples")
    for kind, entries in (
        ("samples", SAMPLES),
        ("generators", GENERATORS),
        ("algorithms", registry.ALGORITHMS),
        ("models", MODELS),
    ):
        assert [entry["key"] for entry in listed[kind]] == list(entries)
    code, table, _ = command("samples")
    assert code == 0
    for entry in (*GENERATORS.values(), *registry.ALGORITHMS.values(), *MODELS.values()):
        assert entry.summary in table
        kind = next(k for k in listed if any(e["label"] == entry.label for e in listed[k]))
        told = next(e for e in listed[kind] if e["key"] == entry.key)["settings"]
        known = declarations(entry.Settings)
        assert {s["key"]: s["default"] for s in told} == {
            key: field.default for key, (field, _) in known.items()
        }
        assert all(key in table for key in known)


def test_an_algorithm_added_to_the_registry_needs_no_edit(ask, command, monkeypatch, home):
    twin = dataclasses.replace(registry.algorithm("gibbs"), key="twin", label="Twin")
    monkeypatch.setitem(registry.ALGORITHMS, "twin", twin)
    assert "twin" in [entry["key"] for entry in ask("samples")["algorithms"]]
    (run,) = ask(*SMALL_RUN, "--algorithm", "twin", "--set", "twin.thinning=2")["runs"]
    assert run["spec"]["settings"] == {"thinning": 2}
    assert "twin" in command("run", "--help")[1]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("run nothing --rank 3", "no file and no sample called 'nothing'"),
        ("run laurberg_two", "give it as --rank R"),
        ("run laurberg_two --rank 99", "between 1 and 6"),
        ("run laurberg_two --rank three", "invalid int value: 'three'"),
        ("run laurberg_two --rank 3 --algorithm magic", "no algorithm 'magic'; there are q_tra"),
        ("run laurberg_two --rank 3 --model magic", "no model 'magic'; there are gaussian"),
        ("run laurberg_two --rank 3 --set magic=1", "No chosen algorithm has a setting called"),
        ("run laurberg_two --rank 3 --set gibbs.chains=2", "gibbs is not among --algorithm"),
        ("run laurberg_two --rank 3 --set block", "write it as --set key=value"),
        ("run laurberg_two --rank 3 --set block=x", "was 'x'; a whole number is needed"),
        ("run laurberg_two --rank 3 --set block=0", "was 0; 1 to 1000 is allowed"),
        ("run laurberg_two --rank 3 --set block=2 --set block=3", "'block' twice"),
        ("run laurberg_two --rank 3 --model-set rate=-1", "0 or more is allowed"),
        ("run laurberg_two --rank 3 --data-set a=7", "0.5 to 1 is allowed"),
        ("run laurberg_two --rank 3 --data-seed -1", "data seed was -1"),
        ("run signatures --data-set a=7", "is not a generator"),
        ("run signatures --observations rows", "there is no file 'signatures'"),
        ("run signatures --holdout 0.9", "held-out fraction"),
        ("run signatures --particles 0", "from 1 to 1,000,000 is allowed"),
        ("resume nothing", "no run 'nothing'"),
        ("metrics nothing", "no run 'nothing'"),
        ("metrics nothing --distance magic", "no distance called 'magic'"),
        ("export nothing --format npz --output x", "no run 'nothing'"),
        ("export nothing --format exe --output x", "invalid choice: 'exe'"),
        ("magic", "invalid choice: 'magic'"),
        ("", "arguments are required: COMMAND"),
    ],
)
def test_what_is_wrong_is_one_sentence_on_stderr(command, words, sentence, home):
    code, out, err = command(*words.split())
    assert (code, out) == (1, "")
    assert sentence in err and err.count("\n") == 1 and "Traceback" not in err
    assert home.runs() == []


def test_settings_are_read_as_what_they_are():
    given = {"chains": "4", "thinning": "1e2", "start": "prior"}
    read = {"chains": 4, "thinning": 100, "start": "prior"}
    assert typed(registry.ALGORITHMS["gibbs"].Settings, given, "Gibbs") == read
    for text, value in (("0.5", 0.5), ("none", None)):
        assert typed(MODELS["gaussian"].Settings, {"sigma": text}, "") == {"sigma": value}
    for text, value in (("1234567890123456", "1234567890123456"), ("none", None)):
        assert typed(registry.ALGORITHMS["q_transform"].Settings, {"library": text}, "") == {
            "library": value
        }


def test_a_library_of_transforms_is_learned_brought_in_and_run(command, ask, tmp_path):
    file = tmp_path / "library.npz"
    learned = ask("transforms", "--output", file, "--process", "dirichlet", "--rank", "2")
    assert (learned["pairs"], learned["rank"]) == (100, 2)
    assert ask("transforms", "--add", file)["key"] == learned["key"]
    chosen = f"library={learned['key']}"
    (record,) = ask(*SMALL_RUN, "--algorithm", "q_transform", "--set", chosen)["runs"]
    assert record["spec"]["settings"]["library"] == learned["key"]
    of_data = ("transforms", "--output", file, "--process", "sub_sample", "--rank", "2")
    assert ask(*of_data, "--target", "laurberg_two")["key"] != learned["key"]
    code, out, err = command(*of_data)
    assert (code, out) == (1, "") and "needs a target" in err
    file.write_bytes(b"nothing")
    assert "library.npz is not a library of transforms" in command("transforms", "--add", file)[2]
    missing = command(*SMALL_RUN, "--set", "library=feedbeeffeedbeef")
    assert missing[0] == 1 and "no library of transforms 'feedbeeffeedbeef' here" in missing[2]
