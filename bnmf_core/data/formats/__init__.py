"""What kinds of file can be read: one file each, and one line here."""

from bnmf_core.data.formats import gct, market, npy, npz, parquet, table, xlsx
from bnmf_core.data.formats.format import Format

# In the order in which a file's content is looked at; a table of text is what is left.
FORMATS: dict[str, Format] = {
    one.FORMAT.key: one.FORMAT for one in (npy, xlsx, npz, market, parquet, gct, table)
}
