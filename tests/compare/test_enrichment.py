"""Enrichment: beside counted binomials, planted answers, a planted null, and names that differ."""

from math import comb

import numpy as np
import pytest

from bnmf_core.compare.enrichment import (
    LEVEL,
    best_sets,
    describe_enrichment,
    enrichment,
    enrichment_table,
)
from bnmf_core.compare.topics import top_indices
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.gene_sets import GeneSets, match_sets, read_gene_sets
from bnmf_core.figures.enrichment import enrichment_dots, shown_sets

D, R, S, N = 400, 3, 30, 40
GENES = [f"GENE{d}" for d in range(D)]


def naive(top, members, gene_of):
    """p by binomial coefficients, and FDR by its definition, in plain loops."""
    G, p = members.shape[1], np.zeros((*top.shape[:2], len(members)))
    for k, r in np.ndindex(top.shape[:2]):
        genes = {int(gene_of[d]) for d in top[k, r] if d >= 0}
        for s, row in enumerate(members):
            own = {int(g) for g in np.flatnonzero(row)}
            hits, m, n = len(genes & own), len(own), len(genes)
            ways = sum(comb(m, i) * comb(G - m, n - i) for i in range(hits, min(m, n) + 1))
            p[k, r, s] = ways / comb(G, n)
    flat = p.ravel()
    fdr = np.ones(flat.size)
    for i, one in enumerate(flat):
        above = [flat.size * other / (flat <= other).sum() for other in flat if other >= one]
        fdr[i] = min(1.0, *above)
    return p, fdr.reshape(p.shape)


def random_sets(rng, G=D, count=S):
    members = np.zeros((count, G), dtype=bool)
    for row in members:
        row[rng.choice(G, rng.integers(5, 60), replace=False)] = True
    return members


def test_p_and_fdr_are_those_of_counted_draws():
    rng = np.random.default_rng(0)
    A = rng.gamma(0.3, size=(2, D, R)) * (rng.random((2, D, R)) < 0.2)
    top = top_indices(A, 100, 0.6)
    assert (top < 0).any()  # a component that uses fewer features than asked
    gene_of = np.r_[np.arange(D - 20), np.arange(20)]  # twenty genes of two features
    members = random_sets(rng, D - 20)
    found = enrichment(top, members, gene_of)
    p, fdr = naive(top, members, gene_of)
    np.testing.assert_allclose(found.p, p, rtol=1e-9)
    np.testing.assert_allclose(found.fdr, fdr, rtol=1e-9)
    assert found.drawn.max() < 100


def planted(rng):
    """Two modes: component 2 is of set 7 in mode 1 only; component 1 of set 3 in both."""
    members = random_sets(rng)
    A = rng.gamma(1.0, size=(2, D, R))
    A[:, members[3], 0] += 20
    A[0, members[7], 1] += 20
    A[1, :, 1] = A[1, rng.permutation(D), 1]
    return A, members


def test_planted_sets_are_found_and_the_sentence_tells_the_mode():
    A, members = planted(np.random.default_rng(1))
    found = enrichment(top_indices(A, N), members, np.arange(D))
    assert best_sets(found).tolist() == [[3, 7, -1], [3, -1, -1]]
    sets, modes = [f"SET{s}" for s in range(S)], ["mode 1", "mode 2"]
    said = describe_enrichment(found, sets, modes, ["1", "2", "3"])
    assert said == (
        "The best set depends on the mode for 1 of 3 components: component 2: SET7, FDR "
        f"{found.fdr[0, 1, 7]:.2g} in mode 1; no set below 5 % in mode 2. FDR by "
        "Benjamini–Hochberg over all 180 tests: 30 sets, 3 components, 2 modes."
    )
    one = enrichment(top_indices(A[:1], N), members, np.arange(D))
    assert describe_enrichment(one, sets, modes[:1], ["1", "2", "3"]).startswith(
        f"Best sets, by component: 1: SET3 (FDR {one.fdr[0, 0, 3]:.2g}) and 2: SET7 (FDR "
    )
    nothing = enrichment(top_indices(A[:1, :, 2:], N), members, np.arange(D))
    assert describe_enrichment(nothing, sets, modes[:1], ["1"]).startswith(
        "No set is below 5 % FDR in any component."
    )
    table = enrichment_table(found, sets, modes, ["1", "2", "3"])
    assert len(table) == 180 and table["FDR"].is_monotonic_increasing
    first = table[(table["set"] == "SET7") & (table["mode"] == "mode 1")].iloc[0]
    assert (first["component"], first["of set"]) == ("2", members[7].sum())
    # Dots stand where their test is.
    assert shown_sets(found)[:2] == [3, 7]
    figure = enrichment_dots(found, sets, modes)
    filled = figure.data[0]
    assert len(filled.x) == int((found.fdr[:, :, shown_sets(found)] < LEVEL).sum())
    assert {0, 1, 2} <= set(filled.x)  # component 1 in both modes, component 2 in the first


def test_random_sets_are_seldom_told_and_their_p_are_conservative():
    rng, told, small = np.random.default_rng(2), 0, []
    A = rng.gamma(1.0, size=(2, D, R))
    top, rounds = top_indices(A, N), 300
    for _ in range(rounds):
        found = enrichment(top, random_sets(rng), np.arange(D))
        told += bool((found.fdr < LEVEL).any())
        small.append(found.p.ravel())
    p = np.concatenate(small)
    for level in (0.01, 0.05, 0.2, 0.5):
        spread = 4 * np.sqrt(level * (1 - level) / p.size)
        assert (p <= level).mean() <= level + spread, level
    # p of hits of a small set come in few values: conservative, but not by much.
    assert (p <= 0.2).mean() > 0.1
    assert told / rounds <= LEVEL + 3 * np.sqrt(LEVEL * (1 - LEVEL) / rounds)


DATA = Dataset.from_array(
    np.ones((6, 2)),
    features=["TP53", "TP53 (2)", "MYC", "KRAS", "ENSG7", "IL6"],
    descriptions={"id": ["11_at", "12_at", "13_at", "14_at", "15_at", "16_at"]},
    features_are="genes",
)


def sets(**given):
    return GeneSets("some.gmt", {name: tuple(genes.split()) for name, genes in given.items()})


def test_probes_of_one_gene_are_one_gene():
    found = match_sets(sets(one="TP53 MYC", other="KRAS IL6 absent"), DATA, 2)
    assert found.gene_of.tolist() == [0, 0, 1, 2, 3, 4]
    assert found.members.astype(int).tolist() == [[1, 1, 0, 0, 0], [0, 0, 1, 0, 1]]
    assert found.summary == (
        "4 of 5 genes in 'some.gmt' are among the 5 of the data. Not in the data: absent."
    )
    both = enrichment(np.array([[[0, 1, 2]]]), found.members, found.gene_of)
    assert both.drawn.tolist() == [[2]] and both.hits.tolist() == [[[2, 0]]]


@pytest.mark.parametrize(
    ("genes", "said"),
    [
        ("tp53 Myc", "2 of 2 genes in 'some.gmt' are among the 5 of the data, in any case."),
        ("11_at 13_at", "2 of 2 genes in 'some.gmt' are among the 6 of the data, by their 'id'."),
    ],
    ids=["case", "accession numbers"],
)
def test_other_spellings_and_identifiers_match_and_are_told(genes, said):
    assert match_sets(sets(one=genes), DATA, 2).summary == said


def test_ensembl_versions_do_not_matter():
    data = Dataset.from_array(np.ones((2, 2)), features=["ENSG00000141510.5", "ENSG00000136997.2"])
    found = match_sets(sets(one="ENSG00000141510 ENSG00000136997"), data, 2)
    assert found.members.all()


def test_sets_that_do_not_fit_are_told_with_examples():
    with pytest.raises(DataError) as refused:
        match_sets(sets(one="ENSG00000141510 ENSG00000136997"), DATA)
    assert str(refused.value) == (
        "None of the 2 genes of 'some.gmt' is in the data: the file has names such as "
        "'ENSG00000141510' and 'ENSG00000136997', the data names such as 'TP53' and 'TP53 (2)'. "
        "Take sets with the identifiers of the data, or join a file with both names to the data."
    )
    with pytest.raises(DataError, match="No set has 5 genes in the data"):
        match_sets(sets(one="TP53 MYC"), DATA)
    small = match_sets(sets(one="TP53 MYC", two="KRAS"), DATA, 2)
    assert small.names == ("one",)
    assert small.summary.endswith("1 of 2 sets have fewer than 2: two.")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "'c.gmt' cannot be read. The file is empty"),
        (b"gene,a\nTP53,1\n", "Row 1 has 1 cell between tabs"),
        (b"A\t\tTP53\nB\tonly\n", "Row 2 has 2 cells"),
    ],
)
def test_what_is_no_gmt_is_told_in_a_sentence(content, said):
    with pytest.raises(DataError, match=said):
        read_gene_sets(content, "c.gmt")
