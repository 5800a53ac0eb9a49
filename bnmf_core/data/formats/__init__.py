"""What kinds of file can be read: one file each, and one line here."""

from bnmf_core.data.formats import market, npy, npz, table
from bnmf_core.data.formats.format import Format

# In the order in which a file's content is looked at; a table of text is what is left.
FORMATS: dict[str, Format] = {
    one.key: one for one in (npy.FORMAT, npz.FORMAT, market.FORMAT, table.FORMAT)
}
