"""NPZ: arrays of NumPy in an archive, or a sparse matrix of SciPy."""

from bnmf_core.data.arrays import read_npz
from bnmf_core.data.formats.format import array_format

FORMAT = array_format(
    "npz", "an NPZ archive", lambda content, _: content.startswith(b"PK\x03\x04"), read_npz
)
