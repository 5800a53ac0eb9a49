"""Results of other programs come in as runs, whatever way round their matrices lie."""

import io

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import NMF

from bnmf_core import Particles, RunSpec, run
from bnmf_core.data.foreign import NamedMatrix, matrices_of, pair
from bnmf_core.data.load import LIMIT_BYTES, foreign_matrices
from bnmf_core.nouns.dataset import Dataset
from bnmf_core.nouns.errors import DataError
from bnmf_core.runs.foreign import ALGORITHM, bring
from tests.data.formatted import archive
from tests.data.layout import saved

D, N, R = 7, 11, 3
RNG = np.random.default_rng(0)
A, W = RNG.random((D, R)), RNG.random((R, N))
GENES, CELLS = [f"gene {d}" for d in range(D)], [f"cell {n}" for n in range(N)]
DATA = Dataset.from_array(A @ W, features=GENES, observations=CELLS, name="Foreign")


def table(values, rows, columns, **options):
    return pd.DataFrame(values, rows, columns).to_csv(sep="\t", **options).encode()


def same(found, *expected):
    assert len(found) == len(expected)
    for one, (basis, weights) in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.A, basis, rtol=1e-12)
        np.testing.assert_allclose(one.W, weights, rtol=1e-12)


def brought(content, filename="results.zip"):
    return pair(matrices_of(content, filename, LIMIT_BYTES), DATA)


def test_scikit_learn_in_one_archive_of_arrays():
    model = NMF(R, init="random", random_state=0, max_iter=2000, tol=1e-8)
    weights = model.fit_transform(DATA.X.T)
    (one,) = brought(saved(np.savez, W=weights, H=model.components_), "nmf.npz")
    np.testing.assert_allclose(one.A @ one.W, (weights @ model.components_).T, rtol=2e-2)


def test_a_folder_of_pairs_is_one_factorization_a_pair(tmp_path):
    expected = []
    for k in range(3):
        order = np.roll(np.arange(R), k)
        np.save(tmp_path / f"W_{k}.npy", W[order].T)
        np.save(tmp_path / f"H_{k}.npy", A[:, order].T)
        expected.append((A[:, order], W[order]))
    (tmp_path / "notes.txt").write_text("nothing of use")
    same(pair(foreign_matrices(tmp_path), DATA), *expected)


def test_cnmf_spectra_and_usages():
    shuffled = RNG.permutation(D)
    spectra = table(A[shuffled].T, range(1, R + 1), [GENES[d] for d in shuffled])
    usages = table(W.T, CELLS, range(1, R + 1))
    other = table(RNG.random((R, D)), range(1, R + 1), GENES)
    content = archive(
        {
            "run/run.spectra.k_3.dt_0_5.consensus.txt": spectra,
            "run/run.usages.k_3.dt_0_5.consensus.txt": usages,
            "run/run.gene_spectra_score.k_3.dt_0_5.txt": other,
        }
    )
    same(brought(content), (A, W))


def test_sigprofilerextractor_brings_every_rank(store):
    files = {}
    for rank in (2, 3):
        names = [f"SBS96{letter}" for letter in "ABC"[:rank]]
        folder = f"SBS96/All_Solutions/SBS96_{rank}_Signatures"
        scale = A.sum(axis=0)[:rank]
        files[f"{folder}/Signatures/SBS96_S{rank}_Signatures.txt"] = table(
            A[:, :rank] / scale, GENES, names, index_label="MutationType"
        )
        files[f"{folder}/Activities/SBS96_S{rank}_NMF_Activities.txt"] = table(
            (W[:rank] * scale[:, None]).T, CELLS, names, index_label="Samples"
        )
    found = brought(archive(files))
    assert [one.A.shape[1] for one in found] == [2, 3]
    run_ids = bring(store, DATA, found, "SigProfiler")
    records = [store.run(run_id) for run_id in run_ids]
    assert [record.spec.rank for record in records] == [2, 3]
    assert {record.status for record in records} == {"complete"}
    particles = store.particles(run_ids[1])
    assert particles.error[0] < 1e-12 and particles.spec.algorithm == ALGORITHM
    assert np.isfinite(particles.log_joint).all()
    assert "was multiplied by" in store.run(run_ids[0]).message


def test_what_this_program_exports_comes_back(tmp_path):
    made = run(DATA, RunSpec("random_restarts", R, particles=4, settings={"max_iterations": 50}))
    made.to_netcdf(tmp_path / "run.nc")
    same(pair(foreign_matrices(tmp_path / "run.nc"), DATA), *zip(made.A, made.W, strict=True))


def test_a_square_matrix_is_told_by_the_smaller_error():
    X = RNG.random((D, R)) @ RNG.random((R, D))
    square = Dataset.from_array(X)
    model = NMF(R, init="random", random_state=0, max_iter=2000)
    weights = model.fit_transform(X.T)
    found = pair([NamedMatrix("one", weights), NamedMatrix("two", model.components_)], square)
    assert len(found) == 1
    assert np.linalg.norm(X - found[0].A @ found[0].W) < 0.05 * np.linalg.norm(X)


@pytest.mark.parametrize(
    "matrices, words",
    [
        ([], "found: no matrix"),
        ([NamedMatrix("A", A)], "No two matrices make"),
        ([NamedMatrix("A", A), NamedMatrix("W", W[:, :5])], r"'W' \(3×5\)"),
        ([NamedMatrix("A", A), NamedMatrix("W", W[:2])], "the same number of components"),
        ([NamedMatrix("A", -A), NamedMatrix("W", W)], "A of .* holds -"),
        ([NamedMatrix("A", A), NamedMatrix("W", W * np.nan)], "W of .* holds nan"),
        ([NamedMatrix("A", A), NamedMatrix("W", 0 * W)], "nothing in common"),
    ],
)
def test_what_makes_no_factorization_is_one_sentence(matrices, words):
    with pytest.raises(DataError, match=words):
        pair(matrices, DATA)


def test_brought_runs_are_read_like_all_others(store):
    run_ids = bring(store, DATA, pair([NamedMatrix("A", A), NamedMatrix("W", W)], DATA))
    particles = store.particles(run_ids[0])
    copy = io.BytesIO()
    particles.save(copy)
    assert isinstance(particles, Particles) and particles.M == 1
    assert particles.info["algorithm_label"] == "Brought from elsewhere"
