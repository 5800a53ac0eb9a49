"""Particles: parts of a collection, and files that give back what was written."""

import io
import json

import arviz_base
import arviz_stats
import numpy as np
import pytest
import xarray
from scipy import stats

from bnmf_core import laurberg, run
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import StoreError
from bnmf_core.core.particles import ARRAYS, Particles
from bnmf_core.core.spec import RunSpec


@pytest.fixture
def particles() -> Particles:
    rng = np.random.default_rng(0)
    M, D, R, N = 6, 4, 2, 5
    A = rng.random((M, D, R))
    A[2, :, 1] = 0.0
    return Particles(
        A=A,
        W=rng.random((M, R, N)),
        ids=np.arange(M) + 10,
        chain=np.repeat([0, 1], 3),
        draw=np.tile(np.arange(3), 2),
        weights=np.arange(1.0, M + 1) / 21,
        log_joint=rng.standard_normal(M),
        error=rng.random(M),
        seconds=np.linspace(0.1, 1, M),
        spec=RunSpec("gibbs", R, particles=M, settings={"thinning": 2}),
        diagnostics={"iterations": np.arange(M), "converged": np.arange(M) % 2 == 0},
        info={"dataset": "Bücher ≥ 0 · 書", "settings": {"sigma": None}, "stop_reason": "complete"},
    )


def assert_same(one: Particles, other: Particles):
    for name in ARRAYS:
        ours, theirs = getattr(one, name), getattr(other, name)
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)
    assert set(one.diagnostics) == set(other.diagnostics)
    for key, values in one.diagnostics.items():
        assert values.dtype == other.diagnostics[key].dtype
        np.testing.assert_array_equal(values, other.diagnostics[key])
    assert (one.spec, dict(one.info)) == (other.spec, dict(other.info))


def test_a_saved_file_gives_everything_back(particles, tmp_path):
    particles.save(tmp_path / "some.npz")
    assert_same(Particles.load(tmp_path / "some.npz"), particles)
    held = io.BytesIO()
    particles.save(held)
    (tmp_path / "other.npz").write_bytes(held.getvalue())
    assert_same(Particles.load(tmp_path / "other.npz"), particles)


def test_a_saved_file_needs_no_pickle(particles, tmp_path):
    particles.save(tmp_path / "some.npz")
    with np.load(tmp_path / "some.npz", allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["A"], particles.A)
        assert json.loads(str(stored["meta"]))["spec"]["algorithm"] == "gibbs"


def test_a_file_that_was_cut_or_altered_is_refused(particles, tmp_path):
    path = tmp_path / "some.npz"
    particles.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(1)
    for _ in range(60):
        path.write_bytes(content[: rng.integers(len(content))])
        with pytest.raises(StoreError, match=r"some\.npz is not a complete set"):
            Particles.load(path)
    # Every array carries a checksum: a changed byte of its content is noticed.
    first = content.index(particles.A.tobytes())
    for place in rng.integers(first, first + particles.A.nbytes, 20):
        changed = bytearray(content)
        changed[place] ^= 0x41
        path.write_bytes(changed)
        with pytest.raises(StoreError, match=r"some\.npz is not a complete set"):
            Particles.load(path)


def test_arrays_that_do_not_fit_together_are_refused(particles, tmp_path):
    path = tmp_path / "some.npz"
    particles.save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    for change in (
        {"W": arrays["W"][1:]},
        {"W": arrays["W"][:, :1]},
        {"A": arrays["A"][0]},
        {"weights": arrays["weights"][:2]},
        {"diagnostic_iterations": np.zeros((6, 2))},
        {"meta": np.array(json.dumps({"spec": {"algorithm": "gibbs", "rank": 2}}))},
        {"meta": np.array(json.dumps({"spec": {"colour": "red"}, "info": {}}))},
        {"meta": np.array("[1, 2")},
        {"A": np.array([{"a": 1}], dtype=object)},
    ):
        np.savez(path, **(arrays | change))
        with pytest.raises(StoreError, match="not a complete set"):
            Particles.load(path)


def test_a_file_that_is_not_there_or_not_ours_is_named(tmp_path):
    with pytest.raises(StoreError, match=r"There is no file called none\.npz"):
        Particles.load(tmp_path / "none.npz")
    (tmp_path / "notes.txt").write_text("hello")
    with pytest.raises(StoreError, match=r"notes\.txt is not"):
        Particles.load(tmp_path / "notes.txt")
    np.save(tmp_path / "one.npy", np.ones(3))
    with pytest.raises(StoreError, match=r"one\.npy is not"):
        Particles.load(tmp_path / "one.npy")


@pytest.mark.parametrize("index", [np.array([4, 1, 1]), np.array([True, False] * 3)])
def test_a_subset_keeps_rows_together_and_weights_a_distribution(particles, index):
    part = particles.subset(index)
    for name in set(ARRAYS) - {"weights"}:
        np.testing.assert_array_equal(getattr(part, name), getattr(particles, name)[index])
    for key, values in part.diagnostics.items():
        np.testing.assert_array_equal(values, particles.diagnostics[key][index])
    chosen = particles.weights[index]
    np.testing.assert_allclose(part.weights, chosen / chosen.sum(), rtol=1e-15)
    assert len(part) == part.M == chosen.size


def test_a_component_without_direction_makes_a_particle_degenerate(particles):
    np.testing.assert_array_equal(particles.degenerate, [False, False, True, False, False, False])


def test_netcdf_gives_back_names_values_and_words(particles, tmp_path):
    path = tmp_path / "some.nc"
    D, N = particles.A.shape[1], particles.W.shape[2]
    data = Dataset.from_array(np.ones((D, N)), features=list("abcd"))
    particles.to_netcdf(path, data)
    with xarray.open_datatree(path, engine="h5netcdf") as stored:
        posterior, known = stored["posterior"], stored["sample_stats"]
        assert posterior["A"].dims == ("chain", "draw", "feature", "component")
        assert posterior["W"].dims == ("chain", "draw", "component", "observation")
        # No chains: an explorer's particles stand as one.
        np.testing.assert_array_equal(posterior["A"][0], particles.A)
        np.testing.assert_array_equal(posterior["W"][0], particles.W)
        np.testing.assert_array_equal(posterior["particle"][0], particles.ids)
        assert posterior["feature"].to_numpy().tolist() == list("abcd")
        assert posterior["observation"].to_numpy().tolist() == list(data.observations)
        for name in ("weights", "error", "seconds"):
            np.testing.assert_array_equal(known[name][0], getattr(particles, name))
        np.testing.assert_array_equal(known["lp"][0], particles.log_joint)
        np.testing.assert_array_equal(known["made_by_chain"][0], particles.chain)
        for key, values in particles.diagnostics.items():
            np.testing.assert_array_equal(known[f"diagnostic_{key}"][0], values)
        assert stored.attrs["algorithm"] == posterior.attrs["algorithm"] == "gibbs"
        assert stored.attrs["dataset"] == "Bücher ≥ 0 · 書"
    held = io.BytesIO()
    particles.to_netcdf(held)
    assert held.getvalue()[:4] == b"\x89HDF"


def test_arviz_reads_chains_and_finds_the_same_r_hat(tmp_path):
    settings = {"chains": 3, "warm_up": 10, "thinning": 1}
    made = run(laurberg("two"), RunSpec("gibbs", 3, particles=30, settings=settings))
    made.to_netcdf(tmp_path / "run.nc", laurberg("two"))
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as stored:
        summary = arviz_stats.summary(stored, group="sample_stats", var_names=["lp"], round_to=6)
        drawn = arviz_base.extract(stored, var_names="A", combined=False)
        assert dict(drawn.sizes) == {"chain": 3, "draw": 10, "feature": 6, "component": 3}
    chains = np.array([made.log_joint[made.chain == chain] for chain in range(3)])
    assert float(summary["r_hat"].iloc[0]) == pytest.approx(rank_r_hat(chains), abs=2e-6)


def rank_r_hat(chains: np.ndarray) -> float:
    """Rank-normalised split R̂ of chains (c, n), the larger of bulk and folded (Vehtari 2021)."""
    half = chains.shape[1] // 2
    split = np.concatenate([chains[:, :half], chains[:, -half:]])

    def of(values):
        ranks = stats.rankdata(values).reshape(values.shape)
        z = stats.norm.ppf((ranks - 0.375) / (values.size + 0.25))
        within = z.var(axis=1, ddof=1).mean()
        between = z.shape[1] * z.mean(axis=1).var(ddof=1)
        n = z.shape[1]
        return np.sqrt(((n - 1) / n * within + between / n) / within)

    return max(of(split), of(np.abs(split - np.median(split))))
