"""A catalogue of spectra whose places are not those of the data."""

import numpy as np
import pytest

from bnmf_core.core.errors import DataError
from bnmf_core.data.catalogue import Catalogue, match_catalogue, read_catalogue


def spectra_of(places, unit=""):
    values = np.column_stack([np.sin(places / 50) + 1, places / places.max()])
    return Catalogue("lib.csv", tuple(f"{x:g}{unit}" for x in places), ("soil", "tree"), values)


def test_spectra_are_interpolated_between_their_own_places():
    library = spectra_of(np.arange(700.0, 390.0, -1.0))
    wanted = np.linspace(400.25, 690.25, 12).round(2)
    found = match_catalogue(library, [f"{x:g} nm" for x in wanted])
    for d, x in enumerate(wanted):  # a straight line between both neighbours
        low = library.values[list(library.features).index(f"{np.floor(x):g}")]
        high = library.values[list(library.features).index(f"{np.floor(x) + 1:g}")]
        np.testing.assert_allclose(found.values[d], low + (x - np.floor(x)) * (high - low))
    assert "interpolated at the 12 places of the data, from 310 of their own" in found.summary


def test_spectra_in_other_units_or_short_of_the_data_are_refused():
    features = [f"{x:g} nm" for x in range(400, 500, 10)]
    with pytest.raises(DataError, match=r"along nm, the catalogue 'lib.csv' along um"):
        match_catalogue(spectra_of(np.arange(0.3, 0.8, 0.01), " um"), features)
    with pytest.raises(DataError, match="covers 405 to 600, the data 400 to 490"):
        match_catalogue(spectra_of(np.arange(405.0, 601.0, 15.0)), features)
    with pytest.raises(DataError, match="covers 700 to 890, the data 400 to 490; they share none."):
        match_catalogue(spectra_of(np.arange(700.0, 900.0, 10.0)), features)


def test_a_first_column_of_wavelengths_names_the_rows_with_the_unit_of_its_heading():
    rows = [f"{x:g},{x / 1000:g},{1 + d % 2}" for d, x in enumerate(np.arange(400, 425, 2.5))]
    for heading, unit in (("wavelength", ""), ("wavelength (nm)", " nm"), ("[ nm ]", " nm")):
        text = "\n".join([f"{heading},soil,tree", *rows])
        found = read_catalogue(text.encode(), "lib.csv")
        assert found.entries == ("soil", "tree") and found.values.shape == (10, 2)
        assert found.features[1] == f"402.5{unit}"
    # Rows that go up and down are entries like others.
    shuffled = "\n".join(["a,b,c", *rows[::2], *rows[1::2]])
    assert read_catalogue(shuffled.encode(), "lib.csv").entries == ("a", "b", "c")


@pytest.mark.parametrize("unit", [" nm", ""])
def test_spectra_in_rows_of_a_file_are_turned_whether_places_are_the_same_or_others(unit):
    places = np.arange(300.0, 620.0, 4.0)
    values = spectra_of(places).values
    head = ",".join(["name", *(f"{x:g}{unit}" for x in places)])
    rows = [
        ",".join([name, *map(repr, column.tolist())])
        for name, column in zip(("soil", "tree"), values.T, strict=True)
    ]
    library = read_catalogue("\n".join([head, *rows]).encode(), "lib.csv")
    same = match_catalogue(library, [f"{x:g}{unit}" for x in places])
    assert same.entries == ("soil", "tree") and same.summary.endswith("in rows, so it was turned.")
    np.testing.assert_allclose(same.values, values)
    between = match_catalogue(library, [f"{x:g}{unit}" for x in places[:-1] + 2])
    np.testing.assert_allclose(between.values, (values[:-1] + values[1:]) / 2)
    assert "interpolated at the 79 places" in between.summary and "turned" in between.summary
