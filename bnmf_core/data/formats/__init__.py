"""What kinds of file can be read: one file each, and one line here."""

from bnmf_core.data.formats import (
    gct,
    h5ad,
    images,
    market,
    mat,
    npy,
    npz,
    parquet,
    table,
    tenx,
    texts,
    xlsx,
)
from bnmf_core.data.formats.format import Format

# In the order in which a file's content is looked at; a table of text is what is left.
_MODULES = (npy, xlsx, tenx, images, texts, npz, market, parquet, gct, mat, h5ad, table)
FORMATS: dict[str, Format] = {one.FORMAT.key: one.FORMAT for one in _MODULES}
