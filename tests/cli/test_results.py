"""Metrics and exports of runs on the command line."""

import shutil
from contextlib import closing

import numpy as np
import pandas as pd
import pytest

from bnmf_core.analysis import distances, structure
from bnmf_core.compare.coverage import covering_numbers
from bnmf_core.core.particles import Particles
from bnmf_core.core.spec import RunSpec
from bnmf_core.data.synthetic import laurberg
from bnmf_core.runs.runner import JobRunner
from bnmf_core.share.formats import FORMATS
from bnmf_core.store.run_store import RunStore
from tests.same import assert_same

RESTARTS = RunSpec(
    "random_restarts", 3, particles=20, settings={"max_iterations": 5000, "tolerance": 1e-6}
)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory):
    """A store with two complete runs and their analysis; the runs' ids."""
    store = RunStore(tmp_path_factory.mktemp("made"))
    data = laurberg("two", noise=0.001, rng=np.random.default_rng(0))
    with closing(JobRunner(store)) as runner:
        run_ids = runner.start(data, [RESTARTS, RunSpec("gibbs", 3, particles=20)])
        runner.wait_analysis(run_ids, "structure")
    return store.root, run_ids


@pytest.fixture
def home(made_once, tmp_path):
    shutil.copytree(made_once[0], tmp_path / "home")
    return RunStore(tmp_path / "home")


@pytest.fixture
def two_runs(home, made_once):
    return made_once[1]


def test_metrics_are_those_of_the_stored_analysis(ask, command, home, two_runs):
    told = ask("metrics", *two_runs, "--radius", "5", "--radius", "20")
    runner = JobRunner(home)
    try:
        found = runner.wait_analysis(two_runs, "structure")
    finally:
        runner.close()
    matrix = np.asarray(distances.STAGE.of(found).matrix("max_angle"))
    members = found.members
    assert told["mode_count"] == 2 and told["threshold_suggested"]
    assert sum(mode["share"] for mode in told["modes"]) == pytest.approx(1)
    assert told["modes"][0]["nearest"] == pytest.approx(36.87, abs=0.2)
    spread = structure.STAGE.of(found).spread("max_angle")
    for run, record, (_, row) in zip(told["runs"], found.runs, spread.iterrows(), strict=True):
        own = np.flatnonzero(members["run"] == record.id)
        assert run["id"] == record.id
        assert (run["largest_distance"], run["mean_distance"]) == (row["largest"], row["mean"])
        expected = covering_numbers(matrix[np.ix_(own, own)], [5.0, 20.0])
        assert run["covering_numbers"] == expected.tolist()
        assert len(run["covering_curve"]) == len(told["curve_radii"]) == 100
        errors = home.particles(record.id).error
        assert run["error"]["median"] == np.median(errors)
        assert run["error"]["least"] == errors.min() and run["error"]["most"] == errors.max()
    one = ask("metrics", *two_runs, "--threshold", "90", "--distance", "max_angle")
    assert (one["mode_count"], one["threshold"], one["radii"]) == (1, 90.0, [90.0])
    assert one["modes"][0]["nearest"] is None
    code, table, _ = command("metrics", *two_runs)
    assert code == 0 and table.startswith("2 modes under Maximum angle at ")
    assert all(run_id in table for run_id in two_runs)


@pytest.mark.parametrize("ending", ["npz", "nc", "csv"])
def test_an_export_holds_the_run(ask, command, home, two_runs, tmp_path, ending):
    path = tmp_path / f"kept.{ending}"
    told = ask("export", two_runs[0], "--format", ending, "--output", path)
    expected = home.particles(two_runs[0])
    assert told["bytes"] == path.stat().st_size and told["particles"] == 20
    if ending == "npz":
        assert_same(Particles.load(path), expected)
    elif ending == "nc":
        import xarray  # noqa: PLC0415

        with xarray.open_datatree(path, engine="h5netcdf") as read:
            A = read["posterior"]["A"].to_numpy()
            np.testing.assert_array_equal(A.reshape(expected.A.shape), expected.A)
    else:
        read = pd.read_csv(path)
        np.testing.assert_array_equal(read["ids"], expected.ids)
        np.testing.assert_allclose(read["error"], expected.error, rtol=1e-12)
    (tmp_path / "file").write_text("")
    code, _, err = command(
        "export", two_runs[0], "--format", ending, "--output", tmp_path / "file" / "x"
    )
    assert code == 1 and "cannot be written" in err


def test_the_best_factorization_is_exported_in_the_layout_of_sigprofiler(
    command, home, two_runs, tmp_path
):
    found = {}
    for kind in ("signatures.txt", "activities.txt"):
        path = tmp_path / kind
        code, _, err = command("export", two_runs[0], "--format", kind, "--output", path)
        assert (code, err) == (0, "")
        found[kind] = pd.read_csv(path, sep="\t", index_col=0)
    particles = home.particles(two_runs[0])
    best = int(np.argmin(particles.error))
    product = found["signatures.txt"].to_numpy() @ found["activities.txt"].to_numpy().T
    np.testing.assert_allclose(product, particles.A[best] @ particles.W[best], rtol=1e-6)
    np.testing.assert_allclose(found["signatures.txt"].sum(), 1.0, rtol=1e-12)


@pytest.mark.parametrize("kind", [key for key, one in FORMATS.items() if one.of_best])
def test_every_layout_of_the_best_is_written_and_says_that_it_is_one(
    command, two_runs, tmp_path, kind
):
    path = tmp_path / kind
    code, said, err = command("export", two_runs[0], "--format", kind, "--output", path)
    assert (code, err) == (0, "") and path.stat().st_size
    assert said.startswith("1 of 20 factorizations written to")
