"""Observations that are the pixels of one image: kept, told apart, and gone with a pixel."""

import numpy as np
import pytest

from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.store.datasets import read_dataset, write_dataset

X = np.arange(1.0, 19.0).reshape(3, 6)
MAPPED = Dataset.from_array(X, map_shape=(2, 3))


def test_a_map_is_another_dataset_and_survives_the_disk(tmp_path):
    assert MAPPED.hash != Dataset.from_array(X).hash
    assert MAPPED.hash != Dataset.from_array(X, map_shape=(3, 2)).hash
    (tmp_path / "data").mkdir()
    write_dataset(tmp_path / "data", MAPPED)
    back = read_dataset(tmp_path / "data")
    assert back.map_shape == (2, 3) and back.hash == MAPPED.hash


def test_without_all_pixels_there_is_no_map():
    assert MAPPED.columns(np.arange(6)).map_shape == (2, 3)
    assert MAPPED.columns(np.arange(5)).map_shape is None
    assert MAPPED.columns(np.array([1, 0, 2, 3, 4, 5])).map_shape is None


def test_a_map_has_a_pixel_for_every_observation():
    with pytest.raises(DataError, match="2×2 has 4 pixels, but the matrix has 6 observations"):
        Dataset.from_array(X, map_shape=(2, 2))
