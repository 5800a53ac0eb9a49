"""Registry of readable file formats."""

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

# In the order of recognition; a table of text is the fallback.
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
