"""AnnData and cNMF, out and in: the specification's attributes, and the same factorization."""

import io
import json

import h5py
import numpy as np
import pytest
from scipy import sparse

from bnmf_core import inspect_file, load_file
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.foreign import matrices_of, pair
from bnmf_core.share import formats
from bnmf_core.share.anndata_file import facts_of, write_anndata
from bnmf_core.share.formats import cnmf_table
from tests.data.formatted import archive
from tests.data.written import MOST

D, N, R = 7, 9, 3
RNG = np.random.default_rng(0)
A, W = RNG.random((D, R)), RNG.random((R, N))
GENES, CELLS = [f"gene {d}" for d in range(D)], [f"cell {n}" for n in range(N)]
LABELS = {"kind": ["B", "T", ""] * 3, "of/which": [f"word {n}" for n in range(N)]}
TOLD = {"id": [f"{d}_at" for d in range(D)]}


def data(X, mask=None):
    return Dataset.from_array(
        X, features=GENES, observations=CELLS, labels=LABELS, descriptions=TOLD, mask=mask
    )


MASK = RNG.random((D, N)) < 0.9
SOME = {
    "dense": data(A @ W),
    "gaps": data(A @ W, MASK),
    "sparse": data(sparse.csc_array(A @ W * (RNG.random((D, N)) < 0.4))),
}
# Of every kind, by the on-disk specification of AnnData.
VERSIONS = {
    "anndata": "0.1.0",
    "dict": "0.1.0",
    "csr_matrix": "0.1.0",
    "array": "0.2.0",
    "dataframe": "0.2.0",
    "categorical": "0.2.0",
    "string-array": "0.2.0",
    "string": "0.2.0",
    "numeric-scalar": "0.2.0",
}
FACTS = {"rank": R, "program": "bnmf", "modes": {"mode 1": {"spectra": A}}, "a/b": "told"}


def written(dataset, facts=FACTS):
    file = io.BytesIO()
    write_anndata(file, dataset, A, W, facts, ["", "late", ""])
    return file.getvalue()


@pytest.mark.parametrize("dataset", SOME.values(), ids=SOME)
def test_every_group_and_array_says_what_it_is(dataset):
    with h5py.File(io.BytesIO(written(dataset)), "r") as file:
        found = {"": dict(file.attrs)}
        file.visititems(lambda name, one: found.update({name: dict(one.attrs)}))
        order = {name: file[name].attrs["column-order"].tolist() for name in ("obs", "var")}
        kind = "csr_matrix" if dataset.is_sparse else "array"
        assert found["X"]["encoding-type"] == kind and found["obsm/X_nmf"]
        assert file["obs/nmf_group/categories"].asstr()[:].tolist() == [
            name for r, name in enumerate(["1", "2 (late)", "3"]) if r in groups()
        ]
        assert file["uns/nmf/rank"][()] == R
    assert order == {"obs": ["kind", "of∕which", "nmf_group"], "var": ["id"]}
    for name, attrs in found.items():
        if name.startswith("X/"):  # what a sparse matrix consists of needs no word
            continue
        assert VERSIONS[attrs["encoding-type"]] == attrs["encoding-version"], name
    groups_there = {"X", "obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns"}
    assert {name for name in found if name and "/" not in name} == groups_there


def groups():
    return {int((A.sum(axis=0) * W[:, n]).argmax()) for n in range(N)}


@pytest.mark.parametrize("dataset", SOME.values(), ids=SOME)
def test_our_own_reader_gives_the_data_back(dataset):
    content = written(dataset)
    found = load_file(content, filename="cells.h5ad")
    said = " ".join(inspect_file(content, filename="cells.h5ad").doubts)
    assert "The labels are 'kind'" in said and "Features are described by 'id'." in said
    np.testing.assert_array_equal(found.dense(), dataset.dense())
    assert (found.features, found.observations) == (dataset.features, dataset.observations)
    assert found.missing == dataset.missing and found.is_sparse == dataset.is_sparse
    assert found.labels["kind"].tolist() == LABELS["kind"]
    assert found.descriptions["id"].tolist() == TOLD["id"]


def test_the_factorization_comes_back_bit_for_bit():
    dataset = SOME["dense"]
    (one,) = pair(matrices_of(written(dataset), "cells.h5ad", MOST), dataset)
    np.testing.assert_array_equal(one.A, A)
    np.testing.assert_array_equal(one.W, W)


def test_an_embedding_with_negative_entries_is_no_factor():
    content = io.BytesIO(written(SOME["dense"]))
    with h5py.File(content, "a") as file:
        file["obsm/X_pca"], file["varm/PCs"] = W.T - 1, A - 1
    (one,) = pair(matrices_of(content.getvalue(), "cells.h5ad", MOST), SOME["dense"])
    np.testing.assert_array_equal(one.A, A)


def test_a_comparison_tells_its_runs_and_modes(answer):
    comparison, modes = answer.comparison, answer.modes
    A, W = comparison.aligned_factors(modes.representative)
    facts = facts_of(comparison, A, W, answer.mode_names)
    assert json.loads(facts["runs"])[0]["algorithm"] == "random_restarts"
    assert facts["modes"].keys() == set(answer.mode_names) and facts["rank"] == 3
    np.testing.assert_array_equal(facts["modes"][answer.mode_names[0]]["spectra"], A[0])
    np.testing.assert_array_equal(facts["modes"][answer.mode_names[-1]]["usages"], W[-1].T)


def cnmf(genes=GENES, basis=A, kind="spectra", consensus=".consensus"):
    return {
        f"r/r.{kind}.k_3.dt_0_5{consensus}.txt": cnmf_table(basis.T, range(1, R + 1), genes),
        "r/r.usages.k_3.dt_0_5.consensus.txt": cnmf_table(W.T, CELLS, range(1, R + 1)),
    }


def test_spectra_and_usages_in_the_layout_of_cnmf_come_back():
    order = RNG.permutation(D)
    for files in (
        cnmf(),
        cnmf([GENES[d] for d in order], A[order]),
        cnmf(TOLD["id"]),  # by a description
        cnmf(kind="gene_spectra_tpm", consensus=""),
        # Spectra of variable genes only stand beside those of all.
        cnmf(GENES[:4], A[:4]) | cnmf(kind="gene_spectra_tpm", consensus=""),
    ):
        (one,) = pair(matrices_of(archive(files), "cnmf.zip", MOST), SOME["dense"])
        np.testing.assert_allclose(one.A @ one.W, A @ W, rtol=1e-12)


def test_spectra_of_some_genes_say_which_are_missing():
    content = archive(cnmf(GENES[:4], A[:4]))
    with pytest.raises(DataError, match=r"names 4 of them; it lacks gene 4, gene 5 and gene 6\."):
        pair(matrices_of(content, "cnmf.zip", MOST), SOME["dense"])
    # As many other names, some of which are the data's, are not taken by place.
    content = archive(cnmf([*GENES[:4], "x", "y", "z"]))
    with pytest.raises(DataError, match="names 4 of them"):
        pair(matrices_of(content, "cnmf.zip", MOST), SOME["dense"])


@pytest.mark.parametrize("ending", ["h5ad", "cnmf"])
def test_the_best_of_a_run_is_exported_and_comes_back(answer, store, ending):
    run, particles = answer.comparison.runs[0], answer.comparison.particles[0]
    files = {}
    for one in ("spectra.txt", "usages.txt") if ending == "cnmf" else ("h5ad",):
        file = io.BytesIO()
        formats.write(store, run.id, one, file)
        files[f"run.{one}"] = file.getvalue()
    content = archive(files) if ending == "cnmf" else files["run.h5ad"]
    (found,) = pair(matrices_of(content, "a", MOST), answer.comparison.dataset)
    best = int(np.argmin(particles.error))
    np.testing.assert_allclose(found.A, particles.A[best], rtol=1e-12)
    np.testing.assert_allclose(found.W, particles.W[best], rtol=1e-12)
