"""The comparison of paper 3, at a size that a test can afford."""

from dataclasses import asdict, replace

import numpy as np
import pytest

from bnmf_core import RunSpec, kernel_matrix, low_rank, run, stein_weights
from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.data import samples
from bnmf_core.explorers.from_starts import AS_PUBLISHED
from bnmf_core.likelihoods.reference import reference_errors
from bnmf_core.runs.planning import make_plan
from studies.result import StudyResult
from studies.stein import findings, measure, problems, sources
from studies.stein.arrival import as_they_arrive
from studies.stein.findings import Selection
from studies.stein.measure import common_lengths
from studies.stein.plan import SteinPlan, SteinStudy
from studies.stein.problems import SteinProblem

FEW = SteinPlan(repetitions=2, sizes=(3, 6), iterations=(2, 6), seconds=2.0)
CHAIN = {"chains": 1, "warm_up": 5, "thinning": 100}
SOME = ["q_transform", "random_restarts", "gibbs", "svgd"]


def tiny():
    return low_rank(20, 30, 3, noise=0.1, rng=np.random.default_rng(3))


@pytest.fixture(scope="module", autouse=True)
def tiny_problem():
    """A data set of 20×30 in the place of the others."""
    patch = pytest.MonkeyPatch()
    sample = samples.Sample("tiny", "Tiny", "Made up.", tiny, 3)
    patch.setitem(samples.SAMPLES, "tiny", sample)
    problem = SteinProblem("tiny", "Tiny", 3, "as made", sample="tiny")
    absent = SteinProblem("absent", "Absent", 3, "none", file="nowhere.mat", variable="X")
    for found in (problem, absent):
        patch.setitem(problems.PROBLEMS, found.key, found)
    gibbs = replace(problems.COLUMNS["gibbs"], settings=CHAIN)
    patch.setitem(problems.COLUMNS, "gibbs", gibbs)
    yield
    patch.undo()


@pytest.fixture(scope="module")
def study(tiny_problem):
    return SteinStudy(["tiny", "absent"], FEW, SOME).make()


def value(study, **where) -> float:
    chosen = study.values
    for name, wanted in where.items():
        chosen = chosen[chosen[name] == wanted]
    assert len(chosen) == 1
    return float(chosen["value"].iloc[0])


def test_every_algorithm_is_measured_at_every_size(study):
    last = study.values[study.values["last"]]
    counts = last.groupby(["model", "column", "particles", "repetition"]).size()
    assert counts.nunique() == 1
    assert len(counts) == (4 + 3) * 2 * 2
    assert "Left out, because not made for the SILF model: Gibbs." in study.notes
    assert any("Absent is left out" in note for note in study.notes)
    assert last["value"].notna().all()


def test_a_cell_is_what_its_run_gives(study):
    """Restarts of one seed: the numbers of the study from the public engine alone."""
    data, seed = tiny(), 1000
    plan = make_plan(data, RunSpec("random_restarts", 3, holdout=0.1))
    residual = reference_errors(plan.problem.dataset, 3, 1)[0] / plan.problem.dataset.observed
    sigma = asdict(plan.problem.model_settings) | {"sigma": float(np.sqrt(residual))}
    settings = {"block": 3} | AS_PUBLISHED
    spec = RunSpec("random_restarts", 3, "gaussian", 6, seed, settings, sigma, 0.1)
    particles = run(data, spec)
    K = kernel_matrix(particles, data, "paper")
    where = {"model": "gaussian", "column": "random_restarts", "particles": 6, "repetition": 0}
    equal = value(study, quantity="paper_equal", **where)
    assert equal == pytest.approx(K.mean(), rel=1e-4)
    w = stein_weights(K, "CLARABEL")
    assert value(study, quantity="paper_weighted", **where) == pytest.approx(w @ K @ w, rel=1e-4)
    assert value(study, quantity="error", **where) == pytest.approx(particles.error.mean(), 1e-4)
    D, R, N = 20, 3, 27
    constant = 0.5 * (D * R / 1e-4 + R * N / 1e6) / 6
    assert value(study, quantity="paper_constant", **where) == pytest.approx(constant / equal, 1e-4)


def test_stein_weights_never_do_worse_than_equal_ones(study):
    wide = study.values.pivot_table(
        index=["model", "column", "particles", "repetition", "point"],
        columns="quantity",
        values="value",
    )
    for form in findings.FORMS:
        assert (wide[f"{form}_weighted"] <= wide[f"{form}_equal"] * (1 + 1e-6)).all()
        assert (wide[f"{form}_weighted"] > 0).all()


def test_more_particles_of_one_run_never_raise_the_optimum_and_take_longer(study):
    for quantity, sign in (("interior_weighted", -1), ("seconds", 1)):
        chosen = study.values[study.values["quantity"] == quantity]
        chosen = chosen[chosen["column"].isin(["q_transform", "random_restarts"])]
        keys = ["model", "column", "repetition"]
        wide = chosen.pivot(index=keys, columns="particles", values="value")
        assert (sign * (wide[6] - wide[3]) >= -1e-6 * wide[3]).all()


def test_chains_and_descents_are_looked_at_several_times(study):
    chosen = Selection("gaussian", 6)
    found = findings.over_time(study, chosen, "tiny", "interior_weighted")
    chain, descent = (
        found[(found["column"] == column) & (found["repetition"] == 0)]
        for column in ("gibbs", "svgd")
    )
    # A chain is told of in pieces of a third of a second.
    assert len(chain) >= 2 and (np.diff(chain["seconds"]) >= 0).all()
    # A descent for each number of iterations, the last one with all of them.
    assert len(descent) == descent["value"].nunique() == len(FEW.iterations)
    steps = chosen.of(study, "steps")
    assert (steps[steps["column"] == "svgd"]["value"] == max(FEW.iterations)).all()


def test_lengths_are_those_of_all_particles_together(study):
    data = tiny()
    parts = []
    for key in ("q_transform", "random_restarts"):
        spec = RunSpec(key, 3, settings=AS_PUBLISHED, holdout=0.1, model_settings={"sigma": 0.1})
        parts += sources.sources(data, spec, (3, 6), (2,), 1.0)
    lengths = common_lengths(parts)
    assert lengths["paper"] == (1e-2, 1e3)
    logs = [
        np.log(np.maximum(p.A, 1e-12 * p.A.mean(axis=(1, 2), keepdims=True))).reshape(6, -1)
        for p in (source.particles for source in parts)
    ]
    logs = np.concatenate(logs)
    apart = np.linalg.norm(logs[:, None] - logs, axis=2)[np.triu_indices(12, 1)]
    assert lengths["interior"][0] == pytest.approx(np.median(apart), rel=1e-6)


def test_a_chain_is_stopped_by_the_clock_but_not_before_it_has_enough_draws():
    data = tiny()
    spec = RunSpec("gibbs", 3, settings=CHAIN, holdout=0.1, model_settings={"sigma": 0.1})
    (source,) = sources.sources(data, spec, (3, 90), (2,), 1e-6)
    assert 90 <= (source.steps - 5) / 100 < 100
    assert {point.M for point in source.points} == {3, 90}
    for point in source.points:
        assert np.unique(point.index).size == point.M
        assert (np.diff(source.particles.draw[point.index]) > 0).all()
    assert sum(point.last for point in source.points) == 2


def test_the_study_survives_being_stored(study, tmp_path):
    study.save(tmp_path / "study.json")
    again = StudyResult.load(tmp_path / "study.json")
    assert again.values.equals(study.values)
    assert (again.notes, again.labels) == (study.notes, study.labels)
    assert findings.findings(again) == findings.findings(study)


def test_an_interrupted_study_goes_on_where_it_stopped(goes_on):
    asked = SteinStudy(["tiny"], SteinPlan(2, (3,), (2,), 0.3), ["random_restarts", "svgd"])
    found = goes_on(asked, measure, "measured", 2, 4)
    assert len(found.values["repetition"].unique()) == 2


def test_an_algorithm_that_refuses_is_left_out_with_its_reason(monkeypatch):
    def refuse(dataset, spec, *rest):
        if spec.algorithm == "svgd":
            raise SettingsError("It will not.")
        return whole(dataset, spec, *rest)

    whole = measure.sources
    monkeypatch.setattr(measure, "sources", refuse)
    plan = SteinPlan(1, (3,), (2,), 0.3)
    found = SteinStudy(["tiny"], plan, ["random_restarts", "svgd"]).make()
    assert (
        "SVGD is left out on Tiny (Exponential–Gaussian model), Tiny (SILF model): It will not."
        in found.notes
    )
    assert set(found.values["column"]) == {"random_restarts"}


def test_the_ordering_is_that_of_the_numbers(study):
    found = findings.ordering(study, Selection("gaussian", 6), "interior_weighted").iloc[0]
    means = findings.means(study, Selection("gaussian", 6), "interior_weighted").loc["tiny"]
    assert found["lowest"] == means.idxmin()
    assert found["rank"] == 1 + (means < means["q_transform"]).sum()
    assert found["ratio"] == pytest.approx(means["q_transform"] / means.min())
    near = means[means <= 1.05 * means.min()].index
    seconds = findings.means(study, Selection("gaussian", 6), "seconds").loc["tiny", near]
    assert found["fastest"] == seconds.idxmin()
    assert found["holds"] == (found["fastest"] == "q_transform")


def test_a_table_holds_means_and_ranges(study):
    shown = findings.table(study, Selection("silf", 3), "error")
    assert list(shown.columns) == ["data", "Q-Transform", "Random restarts", "SVGD"]
    chosen = Selection("silf", 3).of(study, "error")
    two = chosen[chosen["column"] == "svgd"]["value"].to_numpy()
    expected = f"{two.mean():.3g} ({two.min():.3g}–{two.max():.3g})"
    assert shown["SVGD"].tolist() == [expected]
    with pytest.raises(NotFoundError, match="no 'hidden' of 3 particles"):
        findings.table(study, Selection("silf", 3), "hidden")


def test_particles_arrive_in_the_order_of_their_time():
    rng = np.random.default_rng(0)
    points = rng.standard_normal((8, 20))
    K, seconds = points @ points.T, rng.random(8)
    found = as_they_arrive(K, seconds, (2, 5, 50))
    assert found["M"].tolist() == [2, 5, 8]
    first = np.argsort(seconds)[:5]
    assert found["equal"][1] == pytest.approx(K[np.ix_(first, first)].mean())
    assert found["seconds"][1] == np.sort(seconds)[4]
    assert (np.diff(found["weighted"]) <= 1e-9).all()


def test_what_makes_no_sense_is_refused():
    with pytest.raises(NotFoundError, match="no data set 'nonsense'; there are faces"):
        SteinStudy(["nonsense"]).make()
    with pytest.raises(NotFoundError, match="no algorithm 'nonsense'; there are q_transform"):
        SteinStudy(["tiny"], algorithms=["nonsense"]).make()
    with pytest.raises(SettingsError, match="None of what was asked for"):
        SteinStudy(["absent"]).make()
    for plan in (SteinPlan(0), SteinPlan(sizes=(1,)), SteinPlan(seconds=0), SteinPlan(holdout=0)):
        with pytest.raises(SettingsError, match="A study of"):
            SteinStudy(["tiny"], plan).make()
