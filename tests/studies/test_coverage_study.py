"""The comparison of paper 1, at a size that a test can afford."""

import json
from dataclasses import replace

import numpy as np
import pytest

from bnmf_core.compare.distances import distances
from bnmf_core.compare.mixing import autocorrelation_time
from bnmf_core.core.errors import NotFoundError, RunError, SettingsError, StoreError
from bnmf_core.runs.engine import run
from studies.coverage import measure
from studies.coverage.measure import RADII
from studies.coverage.plan import CoverageStudy, StudyPlan, registry
from studies.coverage.problems import COLUMNS, PROBLEMS
from studies.result import StudyResult
from tests.autoregressive import autoregressive

FEW = StudyPlan(repetitions=2, samples=60)
SOME = ["single_mode", "all_modes", "random_restarts", "filtered_restarts", "gibbs"]


@pytest.fixture(scope="module")
def study():
    return CoverageStudy(["unique_small", "two_small"], FEW, SOME).make()


def test_every_cell_is_there(study):
    assert set(study.values["problem"]) == {"unique_small", "two_small"}
    assert list(study.values["column"].unique()) == SOME
    per_cell = study.values.groupby(["problem", "column", "repetition"]).size()
    assert len(per_cell) == 2 * 5 * 2 and set(per_cell) == {10, 14}
    for (problem, _, metric), numbers in study.curves.items():
        assert problem in PROBLEMS and numbers.shape == (2, RADII[metric].size)


def test_coverage_tells_one_mode_from_two(study):
    angles = study.table("max_angle_largest").xs("mean", axis=1, level=1)
    # Table 3: 0.185, 0.152 and 36.97; fewer samples do not reach as far apart.
    assert 0.1 < angles.loc["unique_small", "single_mode"] < 0.25
    assert 0.1 < angles.loc["two_small", "single_mode"] < 0.25
    assert angles.loc["two_small", "all_modes"] == pytest.approx(36.97, abs=0.2)
    assert angles.loc["two_small", "gibbs"] < 0.5
    curve = study.curve("two_small", "all_modes", "max_angle").set_index("radius")["mean"]
    assert (curve[(curve.index > 1) & (curve.index < 36)] == 2).all()


def test_filtered_restarts_are_some_of_the_restarts(study):
    kept = study.table("kept").xs("mean", axis=1, level=1)
    assert (kept["filtered_restarts"] <= kept["random_restarts"]).all()
    fit = study.table("log_likelihood").xs("mean", axis=1, level=1)
    assert (fit["filtered_restarts"] >= fit["random_restarts"]).all()
    assert (fit["single_mode"] > -60).all()


def test_a_cell_is_what_its_run_gives(study):
    problem, column = PROBLEMS["two_small"], COLUMNS["gibbs"]
    data = problem.dataset(FEW.sigma, FEW.seed, 1)
    particles = run(data, CoverageStudy((), FEW).spec(problem, column, 1))
    chosen = study.values.query("problem == 'two_small' and column == 'gibbs' and repetition == 1")
    found = chosen.set_index("quantity")["value"]
    matrix = distances(particles, "l1_max")
    assert found["l1_max_largest"] == matrix.max() and found["l1_max_average"] == matrix.mean()
    residual = data.X - particles.A @ particles.W
    expected = -(residual**2).sum(axis=(1, 2)) / (2 * FEW.sigma**2)
    assert found["log_likelihood"] == pytest.approx(expected.mean(), rel=1e-9)


def test_a_table_holds_means_and_quartiles_over_the_repetitions(study):
    values = study.values.query(
        "problem == 'two_small' and column == 'gibbs' and quantity == 'iat'"
    )["value"].to_numpy()
    row = study.table("iat").loc["two_small", "gibbs"]
    np.testing.assert_allclose(row, [values.mean(), *np.quantile(values, [0.25, 0.5, 0.75])])
    with pytest.raises(NotFoundError, match="no 'nonsense'"):
        study.table("nonsense")


def test_a_study_survives_being_stored(study, tmp_path):
    study.save(tmp_path / "study.json")
    again = StudyResult.load(tmp_path / "study.json")
    assert again.values.equals(study.values)
    assert (again.notes, again.settings) == (study.notes, study.settings)
    for key, numbers in study.curves.items():
        np.testing.assert_array_equal(again.curves[key], numbers)
    (tmp_path / "torn.json").write_text("{")
    for name in ("torn.json", "absent.json"):
        with pytest.raises(StoreError, match=name):
            StudyResult.load(tmp_path / name)


def test_an_interrupted_study_goes_on_where_it_stopped(study, tmp_path, goes_on):
    asked = CoverageStudy(["unique_small", "two_small"], FEW, SOME)
    again = goes_on(asked, measure, "numbers", 7, 20)
    both = [result.values[result.values["quantity"] != "seconds"] for result in (study, again)]
    assert both[0].equals(both[1])
    # Another plan does not take its cells from there.
    names = {path.name for path in tmp_path.rglob("*.json")}
    CoverageStudy(["unique_small"], StudyPlan(1, 30), ["single_mode"]).make(tmp_path)
    assert len({path.name for path in tmp_path.rglob("*.json")}) == len(names) + 1


def test_no_sample_within_the_filter_leaves_gaps_not_errors(monkeypatch):
    monkeypatch.setattr(measure, "FACTOR", 1e-9)
    study = CoverageStudy(["two_small"], StudyPlan(1, 40), SOME).make()
    assert study.table("kept").loc["two_small", ("filtered_restarts", "mean")] == 0
    assert np.isnan(study.table("iat").loc["two_small", ("filtered_restarts", "mean")])
    assert (study.curves["two_small", "filtered_restarts", "max_angle"] == 0).all()
    assert "NaN" not in json.dumps(study.table("kept").to_numpy().tolist())


def test_columns_that_cannot_be_measured_are_left_out_with_a_note(monkeypatch):
    def of(*columns):
        return CoverageStudy(["two_small"], StudyPlan(1, 20), columns).make()

    study = of("single_mode", "filtered_restarts")
    assert list(study.values["column"].unique()) == ["single_mode"]
    assert any("filtered by the errors of Gibbs" in note for note in study.notes)
    with pytest.raises(RunError, match="None of the columns"):
        of("filtered_restarts")
    monkeypatch.delitem(registry.ALGORITHMS, "hmc")
    study = of("single_mode", "hmc")
    assert study.notes == ("HMC is left out: there is no algorithm 'hmc'.",)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(NotFoundError, match="no problem 'nonsense'; there are unique_small"):
        CoverageStudy(["nonsense"]).make()
    with pytest.raises(NotFoundError, match="no column 'nonsense'; there are single_mode"):
        CoverageStudy(columns=["nonsense"]).make()
    for plan in (StudyPlan(repetitions=0), StudyPlan(samples=1), StudyPlan(sigma=0.0)):
        with pytest.raises(SettingsError, match="A study of"):
            CoverageStudy(plan=plan).make()


def test_slow_columns_are_capped_and_the_notes_say_so():
    plan, uncapped = StudyPlan(), CoverageStudy(plan=StudyPlan(capped=False))
    for column in COLUMNS.values():
        for problem in PROBLEMS.values():
            assert 1000 <= CoverageStudy().samples(problem, column) <= plan.samples
            assert 0 <= CoverageStudy().repetitions(problem, column) <= plan.repetitions
            assert uncapped.samples(problem, column) == plan.samples
            assert uncapped.repetitions(problem, column) == plan.repetitions
    assert CoverageStudy().samples(PROBLEMS["two_small"], COLUMNS["hmc"]) == plan.samples
    notes = CoverageStudy().reductions()
    assert "Random restarts: 1,000 instead of 10,000 samples of each 500×50 problem." in notes
    assert "HMC: 3 instead of 10 repetitions of each small problem." in notes
    assert uncapped.reductions() == []


def test_a_column_of_fewer_repetitions_has_fewer_cells(monkeypatch):
    monkeypatch.setitem(COLUMNS, "gibbs", replace(COLUMNS["gibbs"], repetitions=(1, 1)))
    asked = CoverageStudy(["two_small"], FEW, ["single_mode", "gibbs"])
    study = asked.make()
    counts = study.values.groupby("column", sort=False)["repetition"].nunique()
    assert counts.to_dict() == {"single_mode": 2, "gibbs": 1}
    assert study.curves["two_small", "gibbs", "max_angle"].shape[0] == 1
    # More repetitions later go on from those that are there.
    more = replace(COLUMNS["gibbs"], repetitions=(2, 1))
    before = [task.place for batch in asked.batches() for task in batch]
    monkeypatch.setitem(COLUMNS, "gibbs", more)
    assert set(before) < {task.place for batch in asked.batches() for task in batch}


def test_a_whole_chain_is_looked_at_beside_its_beginning(study):
    quantities = study.values.groupby("column")["quantity"].unique()
    for column in SOME:
        assert ("l1_max_whole_average" in quantities[column]) == (column == "gibbs")


@pytest.mark.parametrize("rho", [0.5, 0.9])
def test_the_published_form_leaves_out_the_factor_two(rho):
    chains = autoregressive(rho, (8, 200_000))
    found = np.mean([measure.published_autocorrelation_time(chain) for chain in chains])
    assert found == pytest.approx(1 / (1 - rho), rel=0.08)


def test_independent_draws_give_what_paper_1_prints_for_them():
    # Tables 2 and 6: 1.004 to 1.014, each a mean over the entries of A.
    draws = np.random.default_rng(1).standard_normal((200, 10_000))
    found = np.mean([measure.published_autocorrelation_time(chain) for chain in draws])
    assert 1.004 <= found <= 1.014
    assert np.mean([autocorrelation_time(chain) for chain in draws]) == pytest.approx(1, abs=0.03)


def test_neither_do_scale_and_shift_matter_to_it():
    chain = autoregressive(0.8, (1, 3000))[0]
    expected = pytest.approx(measure.published_autocorrelation_time(chain), rel=1e-6)
    assert measure.published_autocorrelation_time(1e-17 * chain) == expected
    assert measure.published_autocorrelation_time(5.0 - 1e12 * chain) == expected
