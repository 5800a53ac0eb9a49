"""Matrices written into files as other programs do, by hand where those would refuse."""

import io
import struct
import zipfile

import numpy as np
import scipy.io
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from bnmf_core.core.limits import Limits
from bnmf_core.data.contents import content_parts, inspect_content
from bnmf_core.data.load import dataset_of

AXES = st.sampled_from(["rows", "columns"])
VALUES = st.just(0.0) | st.floats(1e-6, 1e6)
MATRICES = hnp.arrays(
    np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=VALUES
).filter(lambda matrix: matrix.any())
MOST = Limits().reading_bytes
MATRIX = np.arange(6.0).reshape(2, 3)


def oriented(dataset, observations):
    """X as it stood in the file."""
    X = dataset.dense()
    return X.T if observations == "rows" else X


def read(content, filename="", **chosen):
    """What ``load_file`` reads, without a process for each of thousands of files."""
    reading = inspect_content(content, filename, chosen, MOST)
    return dataset_of(content_parts(content, filename, reading, MOST), filename, reading)


def npy(array, **named):
    file = io.BytesIO()
    np.save(file, array, **named)
    return file.getvalue()


def npz(compressed=True, **named):
    file = io.BytesIO()
    (np.savez_compressed if compressed else np.savez)(file, **named)
    return file.getvalue()


def archive(members, **named):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", **named) as writer:
        for name, content in members.items():
            writer.writestr(name, content)
    return file.getvalue()


def header(text):
    """A .npy file with a header of our own and no body."""
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode("latin-1")


def mtx(matrix, **named):
    file = io.BytesIO()
    scipy.io.mmwrite(file, matrix, precision=17, **named)
    return file.getvalue()
