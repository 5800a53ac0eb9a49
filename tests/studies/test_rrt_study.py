"""The comparison of paper 2, at a size that a test can afford."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from bnmf_core import RunSpec, laurberg, low_rank, registry, run
from bnmf_core.compare.distances import distances
from bnmf_core.core import settings
from bnmf_core.core.algorithm import Batch, Shard
from bnmf_core.core.dataset import Dataset
from bnmf_core.core.errors import NotFoundError, SettingsError
from bnmf_core.core.problem import Problem
from bnmf_core.likelihoods import gaussian, uniform
from bnmf_core.likelihoods.reference import reference_factors
from bnmf_core.numerics.deviations import largest_deviations
from bnmf_core.rrt.mixture import best_scale, component_of, variance_alone
from bnmf_core.rrt.online import propose_all
from bnmf_core.solvers import newton
from bnmf_core.solvers.solution import Stopping
from studies.result import StudyResult
from studies.rrt import findings, measure, problems, stream
from studies.rrt.plan import RRTPlan, RRTStudy
from studies.rrt.problems import METHODS, NOISES, PROBLEMS, RRTProblem

FEW = RRTPlan(repetitions=2, seconds=0.2)
BRIEF = {
    "nvi_4": {"iterations": 3},
    "nvi_10": {"iterations": 3},
    "rrt": {"attempts": 50, "starts": 4, "polish": 2},
}


def tiny(data=None, seed=0):
    return low_rank(12, 15, 2, noise=0.1, rng=np.random.default_rng(3))


def with_solution(data=None, seed=0):
    exact = laurberg("two", rng=np.random.default_rng(seed))
    noisy = exact.X + np.random.default_rng(1).uniform(-0.05, 0.05, exact.X.shape)
    return replace(Dataset.from_array(np.maximum(noisy, 0)), truth=exact.truth)


@pytest.fixture(scope="module", autouse=True)
def tiny_problems():
    """Data sets of a few entries, and methods that soon end, in the place of the others."""
    patch = pytest.MonkeyPatch()
    noises = ("gaussian", "uniform")
    patch.setitem(NOISES, "gaussian", replace(NOISES["gaussian"], repetitions=2))
    found = (
        RRTProblem("tiny", "Tiny", 2, tiny, (), (12, 15), noises),
        RRTProblem(
            "known", "Known", 3, with_solution, (), (6, 6), ("demonstration_tight",), known=True
        ),
        RRTProblem("absent", "Absent", 2, tiny, ("nowhere.mat",), (1, 1), noises),
    )
    for problem in found:
        patch.setitem(PROBLEMS, problem.key, problem)
    for key, chosen in BRIEF.items():
        short = replace(METHODS[key], settings=dict(METHODS[key].settings) | chosen)
        patch.setitem(METHODS, key, short)
    for key in ("gibbs", "hmc"):
        patch.setitem(METHODS, key, replace(METHODS[key], particles=8))
    yield
    patch.undo()
    measure.ground.cache_clear()


@pytest.fixture(scope="module")
def study(tiny_problems):
    asked = ["tiny", "known", "absent"]
    return RRTStudy(asked, FEW, methods=["nvi_4", "nvi_10", "gibbs", "hmc", "rrt"]).make()


def prepared(sigma=0.1):
    data = tiny()
    return Problem(data, gaussian.MODEL, gaussian.Settings(sigma=sigma, rate=1.0), 2)


def value(study, row, column, quantity, repetition=0):
    chosen = study.values
    wanted = {"problem": row, "column": column, "quantity": quantity, "repetition": repetition}
    for name, one in wanted.items():
        chosen = chosen[chosen[name] == one]
    assert len(chosen) == 1
    return float(chosen["value"].iloc[0])


@pytest.mark.parametrize(
    ("key", "chosen"),
    [
        ("gibbs", {"chains": 1, "warm_up": 7, "thinning": 2}),
        ("hmc", {"chains": 1, "warm_up": 5, "thinning": 1, "leapfrog_steps": 3}),
        ("rrt", {"starts": 3, "attempts": 100, "polish": 1}),
    ],
)
def test_proposals_are_the_factorizations_of_a_run(key, chosen):
    problem, algorithm = prepared(), registry.algorithm(key)
    spec = RunSpec(key, 2, "gaussian", 9, 5, chosen, {"sigma": 0.1, "rate": 1.0})
    particles = run(problem.dataset, spec)
    built = settings.build(algorithm.Settings, chosen, algorithm.label)
    batches = list(stream.proposals(problem, algorithm, built, Shard(0, 0, 9, 5)))
    made = np.concatenate([batch.A for batch in batches])
    assert np.array_equal(made, particles.A)
    assert np.array_equal(np.concatenate([batch.W for batch in batches]), particles.W)
    reasons = [failed["reason"] for failed in particles.info["failed_chains"]]
    assert [batch.ended for batch in batches if batch.ended] == reasons


def test_a_stream_ends_in_the_mixture_of_all_its_proposals():
    problem, algorithm = prepared(0.5), registry.algorithm("gibbs")
    built = settings.build(algorithm.Settings, {"chains": 1, "warm_up": 0, "thinning": 1}, "")
    batches = list(stream.proposals(problem, algorithm, built, Shard(0, 0, 30, 1)))
    scales = ("best", "found", "prior")
    found = stream.streamed(problem, batches, scales, 1e-4, None, 60.0)
    assert found.proposed == 30 and found.ended == stream.COMPLETE
    pairs = [pair for batch in batches for pair in zip(batch.A, batch.W, strict=True)]
    for mixture, reasons, scale in zip(found.mixtures, found.reasons, scales, strict=True):
        scaled = pairs
        if scale == "prior":
            scaled = [[F[0] for F in gaussian.MODEL.scale(A[None], W[None])] for A, W in pairs]
        components = (component_of(problem, *pair, scale == "best") for pair in scaled)
        whole, decisions = propose_all(components, 1e-4)
        assert mixture.elbo == whole.elbo and np.array_equal(mixture.numbers, whole.numbers)
        assert sum(reasons.values()) == 30
        assert reasons["gain"] == sum(decision.reason == "gain" for decision in decisions)
    largest = max(problem.model.log_joint(problem, A[None], W[None])[0] for A, W in pairs)
    assert found.best >= largest


def test_a_stream_is_stopped_by_the_clock():
    problem, algorithm = prepared(), registry.algorithm("gibbs")
    built = settings.build(algorithm.Settings, {"chains": 1, "warm_up": 0, "thinning": 1}, "")
    batches = stream.proposals(problem, algorithm, built, Shard(0, 0, 100_000, 1))
    found = stream.streamed(problem, batches, ("best",), 1e-4, None, 1e-9)
    assert (found.proposed, found.ended) == (1, stream.CLOCK)


def test_nvi_is_given_the_bound_that_it_reports():
    problem, shard = prepared(), Shard(0, 0, 3, 2)
    algorithm = registry.algorithm("nvi")
    built = settings.build(algorithm.Settings, {"iterations": 20, "per_step": 5}, "NVI")
    (batch,) = [b for b in stream.proposals(problem, algorithm, built, shard) if b.size]
    found = stream.fitted(problem, built, shard, None, 60.0)
    # NVI takes its log joint from expanded squares, which are exact to 1e-15 ‖X‖²/σ².
    rounding = 1e-14 * problem.dataset.squared_norm / 0.1**2
    assert abs(found.mixtures[0].elbo - batch.diagnostics["bound"][0]) < rounding
    np.testing.assert_allclose(found.mixtures[0].weights, 1 / 3)
    fixed = stream.fitted(problem, built, shard, 0.25, 60.0).mixtures[0]
    assert (fixed.variances == 0.25).all()
    stopped = stream.fitted(problem, built, shard, None, 1e-9)
    assert stopped.ended == stream.CLOCK
    assert stopped.mixtures[0].elbo <= found.mixtures[0].elbo


def test_a_factorization_of_nothing_has_collapsed():
    problem = prepared()
    rng = np.random.default_rng(0)
    A, W = rng.random((3, 12, 2)), rng.random((3, 2, 15))
    W[1] *= 1e-9
    assert stream.collapsed(problem, A, W).tolist() == [False, True, False]
    found = stream.streamed(problem, [Batch(A, W)], ("best",), 1e-4, None, 60.0)
    assert found.reasons[0][stream.GONE] == 1
    assert found.proposed == 3 and 1 not in found.mixtures[0].numbers


def test_nvi_that_collapses_is_stopped_and_has_no_elbo():
    # So much noise that the data tell nothing.
    problem = prepared(sigma=100.0)
    built = settings.build(registry.algorithm("nvi").Settings, {"per_step": 5}, "NVI")
    found = stream.fitted(problem, built, Shard(0, 0, 2, 0), None, 60.0)
    assert found.ended == stream.COLLAPSED and found.reasons[0][stream.GONE] >= 1
    numbers, _ = measure._numbers(problem, found, 0, np.random.default_rng(0))
    assert np.isnan(numbers["elbo"])


def test_methods_begin_at_factorizations_that_have_converged(monkeypatch):
    begun = []

    def note(problem, algorithm, built, shard, planted=None):
        state = algorithm.init(problem, built, shard, shard.generator())
        state = state if planted is None else planted(state)
        if algorithm.key == "rrt":
            begun.append((state.starts.A, state.starts.W))
        else:
            truth = problem.dataset.truth[0]
            begun.append((truth.A[None], truth.W[None]))
        return whole(problem, algorithm, built, shard, planted)

    whole = measure.proposals
    monkeypatch.setattr(measure, "proposals", note)
    RRTStudy(["tiny"], RRTPlan(1, 0.1), ["gaussian"], ["gibbs", "hmc", "rrt"]).make()
    assert [len(A) for A, _ in begun] == [1, 1, BRIEF["rrt"]["starts"]]
    for A, W in begun:
        left = newton.measured(prepared(), A, W)
        assert Stopping().converged(*left).all()


def test_a_method_has_the_seconds_of_its_noise_or_fewer(monkeypatch):
    given = []

    def note(*args):
        given.append(args[-1])
        return whole(*args)

    whole = measure.streamed
    monkeypatch.setattr(measure, "streamed", note)
    asked = RRTStudy(["tiny"], RRTPlan(1, 4.0), ["gaussian", "uniform"], ["hmc"])
    asked.make()
    assert given == [4.0, NOISES["uniform"].seconds] and NOISES["gaussian"].seconds > 4.0
    # What the other noise is given does not make a cell another one.
    longer = replace(asked, plan=RRTPlan(1, 5.0))
    names = [[task.place for batch in one.batches() for task in batch] for one in (asked, longer)]
    assert names[0][0] != names[1][0] and names[0][1] == names[1][1]


def test_the_bound_has_no_maximum_where_the_product_is_zero():
    problem = prepared()
    nothing = np.zeros((1, 12, 2)), np.zeros((1, 2, 15))
    bounds = [
        stream.equal_mixture(problem, *nothing, np.array([variance])).elbo
        for variance in (1.0, 1e10, 1e100)
    ]
    # Half a nat for each of d dimensions and each e-fold of σ².
    np.testing.assert_allclose(np.diff(bounds), 27 * np.log([1e10, 1e90]))


def test_points_are_factors_again():
    rng = np.random.default_rng(0)
    A, W = rng.standard_normal((4, 5, 2)), rng.standard_normal((4, 2, 3))
    points = np.concatenate([A.reshape(4, -1), W.reshape(4, -1)], axis=1)
    again = stream.factors_of(points, 5, 2)
    assert np.array_equal(again[0], np.maximum(A, 0)) and np.array_equal(again[1], np.maximum(W, 0))


def test_every_method_is_measured_on_every_data_set(study):
    counts = study.values.groupby(["problem", "column", "repetition"]).size()
    assert counts.nunique() == 1
    assert set(study.values["problem"]) == {
        "tiny/gaussian",
        "tiny/uniform",
        "known/demonstration_tight",
    }
    columns = study.values[study.values["problem"] == "tiny/gaussian"]["column"].unique()
    assert list(columns) == [
        "nvi_4",
        "nvi_10",
        "gibbs",
        "gibbs_found",
        "hmc",
        "hmc_found",
        "rrt",
        "rrt_prior",
    ]
    assert any("Absent is left out" in note for note in study.notes)
    assert study.values["value"].notna().all()
    assert study.settings["sizes"]["tiny"] == [12, 15]


def test_numbers_of_a_mixture_fit_together(study):
    wide = study.values.pivot(
        index=["problem", "column", "repetition"], columns="quantity", values="value"
    )
    np.testing.assert_allclose(wide["elbo"], wide["entropy"] + wide["energy"], rtol=1e-12)
    assert (wide["components"] <= wide["joined"]).all()
    assert (wide["joined"] <= wide["proposals"]).all()
    alone = wide["components"] == 1
    assert (wide[alone]["wad_components_largest"] == 0).all()
    assert (wide["wad_components_mean"] <= wide["wad_components_largest"]).all()
    for (name, column, kind), numbers in study.curves.items():
        assert numbers.shape == (2, len(study.radii[kind]))
        assert (numbers[:, -1] >= 1).all()
        # The largest radius covers everything, the smallest only what is the same.
        largest = wide.loc[(name, column)][f"{kind}_largest"].to_numpy()
        for repetition in range(2):
            beyond = study.radii[kind] >= largest[repetition]
            assert (numbers[repetition][beyond] == 1).all()


def test_all_methods_have_one_variance_under_uniform_noise(study):
    for name in ("tiny/uniform", "known/demonstration_tight"):
        found = study.values[study.values["problem"] == name]
        deviations = found[found["quantity"] == "deviation"]["value"]
        np.testing.assert_allclose(deviations, deviations.iloc[0], rtol=1e-12)


def test_epsilon_is_the_smallest_that_ten_references_keep():
    shared = measure.ground("tiny", None, 0)
    A, W = (np.stack([getattr(t, name) for t in shared.feasible]) for name in "AW")
    found = largest_deviations(shared.dataset.X, A, W)
    assert found.max() == pytest.approx(shared.epsilon) and (np.diff(found) >= 0).all()


def test_the_fixed_variance_is_that_of_one_gaussian():
    shared = measure.ground("tiny", None, 0)
    chosen = measure.model_settings(shared, NOISES["uniform"])
    problem = Problem(shared.dataset, registry.model("uniform"), chosen, 2)
    variance = measure.fixed_variance(problem, shared.feasible[:1])
    A, W = best_scale(shared.feasible[0].A[None], shared.feasible[0].W[None])
    D, N, d = 12, 15, 2 * 27
    curvature = (N * (A**2).sum() + D * (W**2).sum()) / (chosen.epsilon**2 / 3)
    assert variance == pytest.approx(d / curvature)
    assert measure.fixed_variance(prepared(), shared.feasible) is None


def test_noises_are_multiples_of_what_is_found():
    shared = measure.ground("tiny", None, 0)
    for noise in NOISES.values():
        chosen = measure.model_settings(shared, noise)
        if noise.model == "gaussian":
            assert chosen.sigma**2 == pytest.approx(noise.times * shared.sigma**2)
        elif not noise.of_noise:
            assert chosen.epsilon == pytest.approx(noise.times * shared.epsilon)
        assert chosen.rate == noise.rate


def test_where_a_solution_is_known_every_method_begins_there(study):
    pictures = study.settings["pictures"]["known/demonstration_tight"]
    assert set(pictures) == {"nvi_10", "hmc", "rrt"}
    assert len({str(picture["data"]) for picture in pictures.values()}) == 1
    for method in ("nvi_10", "hmc"):
        count = value(study, "known/demonstration_tight", method, "components")
        assert len(pictures[method]["bases"]) == count
    first = with_solution().truth[0]
    chosen = NOISES["demonstration_tight"].of_noise * problems.LAURBERG_NOISE
    shared = measure.ground("known", None, 0)
    assert largest_deviations(shared.dataset.X, first.A[None], first.W[None])[0] <= chosen
    assert shared.feasible[0].A is shared.dataset.truth[0].A


def test_a_cell_is_what_its_stream_gives(study):
    problem = prepared(measure.ground("tiny", None, 0).sigma)
    method, algorithm = METHODS["gibbs"], registry.algorithm("gibbs")
    built = settings.build(algorithm.Settings, method.settings, "Gibbs")
    shard = Shard(0, 0, 8, 1000)
    batches = stream.proposals(problem, algorithm, built, shard)
    mixture = stream.streamed(problem, batches, ("best",), 1e-4, None, 60.0).mixtures[0]
    assert value(study, "tiny/gaussian", "gibbs", "elbo") == pytest.approx(mixture.elbo)
    A, W = stream.factors_of(mixture.centers, 12, 2)
    apart = distances(SimpleNamespace(A=A, W=W), "wad")
    found = value(study, "tiny/gaussian", "gibbs", "wad_components_largest")
    assert found == pytest.approx(apart.max())


def test_deviations_are_from_the_mean_of_the_central_methods(study):
    means = findings.means(study, "uniform", "deviation").loc["tiny"]
    assert means[list(findings.CENTRAL)].mean() == pytest.approx(0, abs=1e-9)
    elbo = findings.means(study, "uniform", "elbo").loc["tiny"]
    assert means["rrt"] - means["hmc"] == pytest.approx(elbo["rrt"] - elbo["hmc"])


def test_the_study_survives_being_stored(study, tmp_path):
    study.save(tmp_path / "study.json")
    again = StudyResult.load(tmp_path / "study.json")
    assert again.values.equals(study.values)
    assert findings.findings(again) == findings.findings(study)
    assert findings.endings(again).equals(findings.endings(study))


def test_an_interrupted_study_goes_on_where_it_stopped(goes_on):
    asked = RRTStudy(["tiny"], RRTPlan(2, 0.1), ["gaussian"], ["gibbs", "hmc"])
    found = goes_on(asked, measure, "measured", 2, 4)
    assert set(found.values["repetition"]) == {0, 1}


def test_a_stored_result_holds_the_cells_that_no_other_clock_would_change(study, tmp_path):
    asked = RRTStudy(["tiny", "known"], FEW, methods=["nvi_4", "gibbs", "hmc", "rrt"])
    kept = replace(study, settings=dict(study.settings))
    found = asked.cells_in(kept)
    assert found.keys() == {task.of for batch in asked.batches() for task in batch}
    again = asked.result(found)
    for name, numbers in again.curves.items():
        np.testing.assert_array_equal(numbers, study.curves[name])
    merged = study.values[study.values["column"].isin(again.values["column"].unique())]
    assert again.values.equals(merged.reset_index(drop=True))
    assert again.settings["ended"] == [e for e in study.settings["ended"] if e[1] != "nvi_10"]
    # What the clock has stopped is measured again where there is another clock, or none.
    stopped = {tuple(e[:3]) for e in kept.settings["ended"] if e[3] == stream.CLOCK}
    kept.settings["ended"][0][3] = stream.CLOCK
    stopped.add(tuple(kept.settings["ended"][0][:3]))
    longer = replace(asked, plan=replace(FEW, seconds=0.4)).cells_in(kept)
    assert {(f"{p}/{n}", m, r) for p, n, m, r in found.keys() - longer.keys()} == {
        one for one in stopped if one[1] != "nvi_10"
    }


def test_the_tree_has_no_clock_and_every_repetition_at_the_threshold_itself():
    whole = NOISES["uniform"]
    plan = RRTPlan()
    assert whole.whole == ("rrt",) and plan.repetitions == 10
    assert (whole.limit("rrt", plan), whole.count("rrt", plan)) == (plan.seconds, 10)
    assert whole.limit("hmc", plan) == whole.seconds < plan.seconds
    real = set(problems.TABLES["noises_of"]["real"])
    assert {"uniform_flat_2", "uniform_flat_8"} < real
    for key, times in (("uniform_flat_2", 2.0), ("uniform_flat_8", 8.0)):
        assert (NOISES[key].times, NOISES[key].rate) == (times, NOISES["uniform_flat"].rate)


def test_a_method_that_refuses_is_left_out_with_its_reason(monkeypatch):
    def refuse(*args):
        raise SettingsError("It will not.")

    monkeypatch.setattr(measure, "fitted", refuse)
    found = RRTStudy(["tiny"], RRTPlan(1, 0.1), ["gaussian"], ["nvi_4", "gibbs"]).make()
    assert "NVI-4 could not begin on Tiny (Gaussian, σ), 1×: It will not." in found.notes
    assert set(found.values["column"]) == {"gibbs", "gibbs_found"}


def test_what_makes_no_sense_is_refused():
    for asked in ({"problems": ["x"]}, {"noises": ["x"]}, {"methods": ["x"]}):
        with pytest.raises(NotFoundError, match="'x'; there are"):
            RRTStudy(**asked).make()
    with pytest.raises(SettingsError, match="None of what was asked for"):
        RRTStudy(["absent"]).make()
    for plan in (RRTPlan(0), RRTPlan(seconds=0), RRTPlan(tolerance=0)):
        with pytest.raises(SettingsError, match="A study of"):
            RRTStudy(["tiny"], plan).make()


@pytest.fixture(scope="module")
def flat():
    """The tiny data under the uniform likelihood, with room around good factorizations."""
    return Problem.prepare(tiny(), uniform.MODEL, uniform.Settings(times=1.5, rate=0.7), 3)


def test_the_variance_of_the_fit_is_that_of_noise_as_large_as_the_residual(flat):
    A, W = reference_factors(flat.dataset, 3, 4)
    residual = np.sqrt(np.square(flat.dataset.X - A @ W).mean(axis=(1, 2)).min())
    noise = gaussian.Settings(sigma=residual, rate=0.7)
    instead = Problem.prepare(flat.dataset, gaussian.MODEL, noise, 3)
    pairs = zip(A, W, strict=True)
    alone = [component_of(instead, a, w, rescale=True).best_variance for a, w in pairs]
    assert measure.variance_of_fit(flat, A, W) == pytest.approx(max(alone))
    # Unlike the other it does not grow with the threshold.
    wide = replace(flat, model_settings=replace(flat.model_settings, epsilon=8.0))
    assert measure.variance_of_fit(wide, A, W) == pytest.approx(max(alone))
    times = (8.0 / flat.model_settings.epsilon) ** 2
    assert variance_alone(wide, A, W) == pytest.approx(times * variance_alone(flat, A, W))


def test_an_exact_factorization_leaves_no_noise_to_find(flat):
    A, W = reference_factors(flat.dataset, 3, 1)
    exact = replace(flat.dataset, X=A[0] @ W[0])
    with pytest.raises(SettingsError, match="A factorization is exact"):
        measure.variance_of_fit(replace(flat, dataset=exact), A, W)
