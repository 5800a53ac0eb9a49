"""Matrix Market: a sparse or dense matrix as text."""

from bnmf_core.data.formats.format import array_format
from bnmf_core.data.market import read_mtx

FORMAT = array_format(
    "mtx",
    "a Matrix Market file",
    lambda content, _: content[:14].lower() == b"%%matrixmarket",
    read_mtx,
)
