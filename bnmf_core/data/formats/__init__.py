"""What kinds of file can be read: a file for each or a few that are alike, and one line here."""

from bnmf_core.data.formats import (
    arrays,
    gct,
    hdf5,
    images,
    market,
    mat,
    spreadsheets,
    table,
    tenx,
    texts,
    transactions,
)
from bnmf_core.data.formats.format import Format

# In the order in which a file's content is looked at; a table of text is what is left.
FORMATS: dict[str, Format] = {
    one.key: one
    for one in (
        arrays.NPY,
        spreadsheets.XLSX,
        tenx.FORMAT,
        images.FORMAT,
        texts.FORMAT,
        arrays.NPZ,
        market.FORMAT,
        spreadsheets.PARQUET,
        gct.FORMAT,
        transactions.FORMAT,
        mat.FORMAT,
        hdf5.H5AD,
        table.FORMAT,
    )
}
