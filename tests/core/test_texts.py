"""Texts beside their matrix: kept with it, chosen with it, and whole or refused."""

import numpy as np
import pytest

from bnmf_core import Dataset, RunStore
from bnmf_core.core.errors import DamagedError, DataError
from bnmf_core.core.texts import Texts
from bnmf_core.data.formats import texts as format_of_texts
from bnmf_core.data.load import load_file
from bnmf_core.store import datasets, files

THREE = ("The moon.", "Ein größeres Tor 🥅", "")


@pytest.fixture
def counted():
    return Dataset.from_array([[1.0, 0, 2], [0, 3, 1]], features_are="words", texts=THREE)


def test_a_dataset_keeps_its_texts_and_chooses_them_with_its_columns(counted, tmp_path):
    store = RunStore(tmp_path)
    dataset_id = store.add_dataset(counted)
    again = store.dataset(dataset_id)
    assert tuple(again.texts) == THREE and again.hash == counted.hash == dataset_id
    assert list(again.columns(np.array([2, 1])).texts) == [THREE[2], THREE[1]]
    assert again.texts[1:][0] == THREE[1] and len(again.texts) == 3
    assert again.texts.documents() == counted.texts.documents()
    assert again.texts.chosen([0, 0]).documents() == {"the": 2, "moon": 2}


def test_texts_change_what_is_seen_and_so_the_hash(counted):
    without = Dataset.from_array(counted.X, features_are="words")
    other = Dataset.from_array(counted.X, features_are="words", texts=("a", "b", "c"))
    assert len({counted.hash, without.hash, other.hash}) == 3


def test_half_a_surrogate_pair_becomes_a_question_mark():
    assert Texts.of(["a\ud800b"])[0] == "a?b"


def test_there_is_a_text_for_each_observation():
    with pytest.raises(DataError, match="2 texts were given for 3 observations"):
        Dataset.from_array(np.ones((2, 3)), texts=("a", "b"))


def test_texts_that_are_damaged_or_swell_are_refused(counted, tmp_path, monkeypatch):
    store = RunStore(tmp_path)
    folder = tmp_path / "datasets" / store.add_dataset(counted)
    assert datasets.is_stored(folder, counted)
    arrays = files.read_arrays(folder / datasets.TEXTS)
    files.write_arrays(
        folder / datasets.TEXTS, arrays | {"texts_lengths": arrays["texts_lengths"] + 1}
    )
    datasets.read_texts.cache_clear()
    with pytest.raises(DamagedError, match="texts of these data are damaged"):
        store.dataset(folder.name).texts[0]
    assert not datasets.is_stored(folder, counted)
    files.write_arrays(folder / datasets.TEXTS, arrays)
    monkeypatch.setattr(datasets, "MOST_BYTES", 10)
    with pytest.raises(DamagedError):
        datasets.read_texts(folder / datasets.TEXTS)


ROWS = ("red red lamp here", "a green lamp on it", "one blue table here", "my blue red thing")
CONTENT = "\n".join(["kind,post", *(f"{'xy'[n % 2]},{row}" for n, row in enumerate(ROWS))]).encode()


def test_a_file_of_texts_brings_them_where_its_rows_are_the_observations():
    found = load_file(CONTENT)
    assert found.of_words and tuple(found.texts) == ROWS
    assert load_file(CONTENT, observations="columns").texts is None


def test_texts_that_are_too_large_are_counted_and_not_kept(monkeypatch):
    monkeypatch.setattr(format_of_texts, "MOST_BYTES", 20)
    found = format_of_texts.FORMAT.inspect(CONTENT, {}, 10**6)
    assert any("texts themselves are not kept" in doubt for doubt in found.doubts)
    assert "texts" not in format_of_texts.FORMAT.parts(CONTENT, found, 10**6)


def test_a_column_of_dates_is_a_label_however_many_there_are():
    lines = [f"2024-0{n + 1}-01,{row}" for n, row in enumerate(ROWS)]
    found = load_file("\n".join(["day,post", *lines]).encode())
    assert found.labels["day"].tolist() == [line[:10] for line in lines]
    assert found.observations[0] == "observation 1"
