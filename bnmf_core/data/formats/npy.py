"""NPY: one array of NumPy."""

from bnmf_core.data.arrays import read_npy
from bnmf_core.data.formats.format import array_format

FORMAT = array_format(
    "npy", "an NPY array", lambda content, _: content.startswith(b"\x93NUMPY"), read_npy
)
