"""Results of other programs come in as runs, whatever way round their matrices lie."""

import io

import numpy as np
import pandas as pd
import pytest
import xarray
from sklearn.decomposition import NMF

from bnmf_core import Particles, RunSpec, run
from bnmf_core.compare.mixing import mixing_of
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import DataError
from bnmf_core.data.foreign import NamedMatrix, example, matrices_of, pair
from bnmf_core.data.load import foreign_matrices
from bnmf_core.runs.foreign import ALGORITHM, bring
from bnmf_core.runs.launch import run_label
from tests.data.formatted import archive
from tests.data.layout import saved
from tests.data.written import MOST

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
    return pair(matrices_of(content, filename, MOST), DATA)


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
    assert particles.info["algorithm_label"] == "Imported"


def draws(chains, length, rng):
    """Draws around the factorization, of another scale each: A (chains, length, D, R), W."""
    scale = rng.uniform(0.8, 1.25, (chains, length, 1, 1))
    return A * scale * rng.uniform(0.9, 1.1, (chains, length, D, R)), W * rng.uniform(
        0.9, 1.1, (chains, length, R, N)
    )


def keeps(store, run_id, drawn, weights):
    """The run has the draws, bit for bit, chain for chain, and knows them as chains."""
    particles = store.particles(run_id)
    chains, length = drawn.shape[:2]
    np.testing.assert_array_equal(particles.A, drawn.reshape(-1, D, R))
    np.testing.assert_array_equal(particles.W, weights.reshape(-1, R, N))
    np.testing.assert_array_equal(particles.chain, np.repeat(np.arange(chains), length))
    np.testing.assert_array_equal(particles.draw, np.tile(np.arange(length), chains))
    found = mixing_of(particles)
    assert (found.chains, found.draws) == (chains, length)
    assert particles.info["notes"] == [] and store.run(run_id).message == ""


@pytest.mark.parametrize("first, second", [("A", "W"), ("H", "X")])
def test_stacked_draws_in_npz_keep_values_and_chains(store, first, second):
    drawn, weights = draws(4, 15, np.random.default_rng(1))
    content = saved(np.savez, **{first: drawn, second: weights})
    (run_id,) = bring(store, DATA, brought(content, "draws.npz"))
    keeps(store, run_id, drawn, weights)
    assert run_label(store.run(run_id)) == "draws.npz"


@pytest.mark.parametrize("layout", ["arviz", "flat", "transposed", "one chain", "extracted"])
def test_draws_in_netcdf_keep_values_and_chains(store, tmp_path, layout):
    chains = 1 if layout in ("one chain", "extracted") else 3
    drawn, weights = draws(chains, 12, np.random.default_rng(2))
    found = xarray.Dataset(
        {
            "basis": (("chain", "draw", "gene", "part"), drawn),
            "loading": (("chain", "draw", "part", "cell"), weights),
            # What else a sampler leaves: scalars and vectors of each draw.
            "sigma": (("chain", "draw"), np.ones((chains, 12))),
            "rate": (("chain", "draw", "gene"), np.ones((chains, 12, D))),
        },
        attrs={"inference_library": "numpyro"},
    )
    if layout == "transposed":
        found = found.transpose("gene", "cell", "part", "draw", "chain")
    if layout == "one chain":
        found = found.isel(chain=0)
    if layout == "extracted":
        found = found.isel(chain=0).rename(draw="sample")
        found = found.transpose("gene", "part", "cell", "sample")
    if layout == "flat":
        found.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    else:
        tree = xarray.DataTree.from_dict({"posterior": found, "prior": found * 2})
        tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    matrices = foreign_matrices(tmp_path / "fit.nc")
    (run_id,) = bring(store, DATA, pair(matrices, DATA))
    keeps(store, run_id, drawn, weights)
    assert run_label(store.run(run_id)) == "numpyro, fit.nc"


def test_names_in_netcdf_put_features_and_observations_in_the_order_of_the_data(store, tmp_path):
    drawn, weights = draws(2, 9, np.random.default_rng(3))
    rows, columns = RNG.permutation(D), RNG.permutation(N)
    found = xarray.Dataset(
        {
            "A": (("chain", "draw", "gene", "part"), drawn[:, :, rows]),
            "W": (("chain", "draw", "part", "cell"), weights[..., columns]),
        },
        coords={"gene": [GENES[d] for d in rows], "cell": [CELLS[n] for n in columns]},
    )
    tree = xarray.DataTree.from_dict({"posterior": found})
    tree.to_netcdf(tmp_path / "fit.nc", engine="h5netcdf")
    (run_id,) = bring(store, DATA, pair(foreign_matrices(tmp_path / "fit.nc"), DATA))
    keeps(store, run_id, drawn, weights)


def test_a_gibbs_run_that_is_exported_and_imported_is_the_same(store, tmp_path):
    spec = RunSpec("gibbs", R, particles=24, settings={"chains": 3, "warm_up": 6, "thinning": 2})
    made = run(DATA, spec)
    made.to_netcdf(tmp_path / "run.nc", DATA)
    (run_id,) = bring(store, DATA, pair(foreign_matrices(tmp_path / "run.nc"), DATA))
    particles = store.particles(run_id)
    for name in ("A", "W", "chain", "draw"):
        np.testing.assert_array_equal(getattr(particles, name), getattr(made, name), name)
    assert len(set(made.chain)) == 3
    assert run_label(store.run(run_id)).endswith(", run.nc")
    assert made.info["algorithm_label"] in run_label(store.run(run_id))


def test_restarts_that_are_exported_are_no_chain_when_they_come_back(store, tmp_path):
    made = run(DATA, RunSpec("random_restarts", R, particles=5, settings={"max_iterations": 10}))
    made.to_netcdf(tmp_path / "run.nc", DATA)
    (run_id,) = bring(store, DATA, pair(foreign_matrices(tmp_path / "run.nc"), DATA))
    particles = store.particles(run_id)
    np.testing.assert_array_equal(particles.A, made.A)
    np.testing.assert_array_equal(particles.W, made.W)
    assert particles.trace == {} and len(set(particles.chain)) == 5


def test_a_chain_that_stays_keeps_every_draw(store):
    drawn = np.broadcast_to(A, (2, 10, D, R))
    weights = np.broadcast_to(W, (2, 10, R, N))
    content = saved(np.savez, A=drawn, W=weights)
    (run_id,) = bring(store, DATA, brought(content, "still.npz"))
    assert store.particles(run_id).M == 20


def test_draws_of_two_files_are_two_runs(store):
    made = [draws(2, 10, np.random.default_rng(seed)) for seed in (5, 6)]
    files = {f"fit{i}.npz": saved(np.savez, A=a, W=w) for i, (a, w) in enumerate(made)}
    run_ids = bring(store, DATA, brought(archive(files)))
    assert len(run_ids) == 2
    for run_id, (drawn, weights) in zip(run_ids, made, strict=True):
        keeps(store, run_id, drawn, weights)


def test_the_sample_file_is_read(store):
    found = brought(example(DATA), "draws.npz")
    (run_id,) = bring(store, DATA, found)
    particles = store.particles(run_id)
    assert particles.M == 16 and set(particles.chain) == {0, 1} and particles.R == 2
