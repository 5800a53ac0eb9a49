"""Tables in the layout of SigProfiler: read again, they are the factorization."""

import io

import numpy as np
import pandas as pd
import pytest

from bnmf_core.compare.catalogue import cosines
from bnmf_core.data.catalogue import match_catalogue, read_catalogue
from bnmf_core.data.channels import CHANNELS
from bnmf_core.share.profiles import activities_table, profile_names, signatures_table, written

RNG = np.random.default_rng(1)
ORDER = RNG.permutation(96)
FEATURES = [
    f"{CHANNELS[d].substitution},{CHANNELS[d].context[0]}-{CHANNELS[d].context[2]}" for d in ORDER
]
A, W = RNG.gamma(0.5, size=(96, 3)) * 7, RNG.gamma(2.0, size=(3, 21)) * 100
SAMPLES = [f"PD{n}a" for n in range(21)]


def read(table):
    return pd.read_csv(io.BytesIO(written(table)), sep="\t", index_col=0)


def test_signatures_stand_in_the_order_and_spelling_of_cosmic_and_sum_to_1():
    found = read(signatures_table(FEATURES, A))
    assert found.index.name == "Type"
    assert found.index.tolist() == [one.name for one in CHANNELS] == sorted(found.index)
    assert found.columns.tolist() == ["SBS96A", "SBS96B", "SBS96C"]
    np.testing.assert_allclose(found.sum(), 1.0, rtol=1e-12)
    d = int(np.flatnonzero(ORDER == 5)[0])
    np.testing.assert_allclose(found.iloc[5], A[d] / A.sum(axis=0), rtol=1e-12)


def test_both_tables_give_the_product_back():
    signatures = read(signatures_table(FEATURES, A))
    activities = read(activities_table(FEATURES, SAMPLES, A, W))
    assert activities.index.name == "Samples" and activities.index.tolist() == SAMPLES
    assert activities.columns.tolist() == signatures.columns.tolist()
    product = signatures.to_numpy() @ activities.to_numpy().T
    in_cosmic = np.argsort(ORDER)
    np.testing.assert_allclose(product, (A @ W)[in_cosmic], rtol=1e-10)
    # What components make of a sample is all that A W makes of it.
    np.testing.assert_allclose(activities.sum(axis=1), (A @ W).sum(axis=0), rtol=1e-12)


def test_a_written_table_is_a_catalogue_that_its_own_components_match():
    catalogue = read_catalogue(written(signatures_table(FEATURES, A)), "signatures.txt")
    matched = match_catalogue(catalogue, FEATURES)
    np.testing.assert_allclose(np.diag(cosines(A, matched.values)), 1.0, rtol=1e-12)


def test_names_go_on_with_two_letters():
    names = profile_names([one.name for one in CHANNELS], 28)
    assert names[25:] == ["SBS96Z", "SBS96AA", "SBS96AB"]


def test_other_data_keep_their_names_and_an_empty_component_is_zero():
    table = signatures_table(["moon", "=goal"], np.array([[2.0, 0.0], [2.0, 0.0]]))
    assert table.columns.tolist() == ["Type", "component 1", "component 2"]
    assert table["Type"].tolist() == ["moon", "'=goal"]
    assert table["component 1"].tolist() == [0.5, 0.5] and not table["component 2"].any()
    made = activities_table(
        ["moon", "=goal"], ["a"], np.array([[2.0, 0.0], [2.0, 0.0]]), np.ones((2, 1))
    )
    assert made.iloc[0, 1:].tolist() == pytest.approx([4.0, 0.0])
